# Bash library of scripts/bench --fairness: k sessions of ours and k TCP connections share one link (a dumbbell: the
# link is its bar) with a queue of one bandwidth-delay product. Who got what is read from the link's own log of flows,
# in the IP bytes that it delivered, so one measure serves both; the first seconds, with log-in and slow start, do not
# count. REQUIRES: tests/bench/measure.sh, and of scripts/bench $seconds, $seed, $csv, $k_list, $rate_list, $only_tools,
# $channels, $runs.
readonly fair_delay=25 fair_warm_up=5 fair_ports=61000 # ports of session i: 100 from fair_ports + 100 i on

# They run until the measurement is over, and end with it.
start_sessions() { # K SECONDS
  local i low
  for ((i = 0; i < $1; i++)); do
    low=$((fair_ports + 100 * i))
    dd if=/dev/zero bs=64k 2>/dev/null | wan_near timeout -k 2 $(($2 + 30)) bash -c 'shim "$@"' - -c "$fair_channels" --cc "$fair_cc" \
      --port-range "$low-$((low + 99))" far "timeout -s INT $2 cat >/dev/null" 2>>"$work/err" &
    fair_pids+=($!)
  done
}
start_connections() { # K SECONDS
  start_iperf_server $(($2 + 20))
  wan_near timeout -k 2 $(($2 + 10)) iperf3 -c 10.77.0.2 -t "$2" -P "$1" >/dev/null 2>>"$work/err" &
  fair_pids+=($!)
}

# From the log of flows: `GROUP RATE` in Mbit/s for each session and each connection, over so many seconds after the
# warm-up, which begins with the first packet of any.
rates_of_members() { # SECONDS
  awk -F, -v seconds="$1" -v warm_up="$fair_warm_up" -v low="$fair_ports" '
    $2 != "up" { next }
    $3 == "udp" && $5 >= low { member = "ours " int(($5 - low) / 100) }
    $3 == "tcp" && $5 == 5201 { member = "tcp " $4 }
    member == "" { next }
    from == "" { from = $1 + warm_up }
    $1 > from && $1 <= from + seconds { bytes[member] += $7 }
    { member = "" }
    END { for (member in bytes) { split(member, part, " "); print part[1], bytes[member] * 8 / 1e6 / seconds } }' \
    "$work/flows"
}
# Of numbers on stdin: sum and Jain index; members that got nothing count, $1 is how many there are.
sum_and_jain() { awk -v n="$1" '{ sum += $1; squares += $1 * $1 } END { printf "%.3f %.3f\n", sum, (squares > 0 ? sum * sum / n / squares : 0) }'; }

# iperf3 has a control connection of its own, which carries next to nothing: the k largest are the data's.
members() { grep "^$1 " "$work/members" | cut -d' ' -f2 | sort -gr | head -n "$k"; }

ping_in_parallel() { # SECONDS
  wan_near ping -n -q -i 0.2 -w "$1" 10.77.0.2 >"$work/ping" 2>&1 &
  fair_pids+=($!)
}
ping_figure() { sed -n 's/^rtt [^=]*= \([0-9.]*\)\/\([0-9.]*\)\/\([0-9.]*\).*/\1 \2 \3/p' "$work/ping" | cut -d' ' -f"$1"; }
ping_loss() { sed -n 's/.* \([0-9.]*\)% packet loss.*/\1/p' "$work/ping"; }

measure_fairness() { # RATE K PEER RUN; PEER is cubic, bbr or none (ours alone)
  local rate=$1 k=$2 peer=$3 groups=2 fair_seed=$((seed + $4)) queue pid fair_pids=() all=$((seconds + fair_warm_up + 2)) tcp_cc=$3
  queue=$(awk "BEGIN { q = $rate * 1e6 / 8 * 2 * $fair_delay / 1e3; print int(q > 65536 ? q : 65536) }")
  [ "$peer" != none ] || { tcp_cc=cubic groups=1; }
  link_up "$tcp_cc" --rate "${rate}M" --delay "$fair_delay" --queue "$queue" --seed "$fair_seed" --flows "$work/flows"
  : >"$work/err"
  start_sessions "$k" "$all"
  [ "$peer" = none ] || start_connections "$k" "$all"
  sleep "$fair_warm_up"
  ping_in_parallel "$seconds"
  for pid in "${fair_pids[@]}"; do wait "$pid"; done
  link_down
  rates_of_members "$seconds" >"$work/members"
  fair_lines
}

fair_lines() {
  local group sum jain both both_jain loss
  read -r both both_jain < <({ members ours; [ "$peer" = none ] || members tcp; } | sum_and_jain $((groups * k)))
  loss=$(awk "BEGIN { printf \"%.4f\", ($(wan_stat up_queue_full) + $(wan_stat up_lost)) / ($(wan_stat up_in) + 0.001) }")
  for group in ours tcp; do
    [ "$group$peer" != tcpnone ] || continue
    read -r sum jain < <(members "$group" | sum_and_jain "$k")
    fair_line
  done
}
fair_line() {
  local share
  share=$(awk "BEGIN { printf \"%.4f\", $sum / ($both + 0.000001) }")
  echo "$rate,$fair_delay,$queue,$fair_cc,$peer,$k,$group,$sum,$share,$jain,$both,$both_jain,$(ping_figure 1),$(ping_figure 2),$(ping_figure 3),$(ping_loss),$loss,$seconds,$fair_seed,$(wan_stat late_p99_ms),$(void_reason "$sum")" >>"$csv"
  [ "$sum" != 0.000 ] || nothing_came "$rate Mbit/s, $k of $group"
  printf '%5s %-12s %3s %-5s %8.1f %6.0f %% %6.2f %9.2f %9s ms %6s %% %s\n' "$rate" "$fair_cc/$peer" "$k" "$group" "$sum" \
    "$(awk "BEGIN { print 100 * $share }")" "$jain" "$both_jain" "$(ping_figure 2)" "$(awk "BEGIN { print 100 * $loss }")" \
    "$(void_reason "$sum" | sed 's/^/VOID: /')"
}

# --tool names those beside us (tcp/cubic, tcp/bbr, none) and our own controllers (shim/auto).
run_fairness() {
  local rate k peer peers= own= name fair_cc fair_channels=${channels:-4} run
  [[ $fair_channels != *,* ]] || die "--channels $fair_channels: one number with --fairness"
  csv=${csv:-fairness.csv}
  seconds=${seconds:-20}
  for name in $only_tools; do
    case $name in
      tcp) peers+=" cubic bbr" ;;
      tcp/*) peers+=" ${name#*/}" ;;
      shim/*) own+=" ${name#*/}" ;;
      none) peers+=" none" ;;
      *) die "--tool $name: beside us there are tcp/cubic, tcp/bbr and none; ours are shim/auto and so on" ;;
    esac
  done
  begin_csv
  [ -s "$csv" ] || echo "rate_mbit,delay_ms,queue_bytes,cc,peer,k,group,mbit,share,jain,both_mbit,both_jain,ping_min_ms,ping_avg_ms,ping_max_ms,ping_loss_percent,loss,seconds,seed,late_p99_ms,void" >"$csv" || exit 1
  echo "$(nproc) CPUs, Linux $(uname -r), $fair_delay ms each way, queue of one product, $seconds s after $fair_warm_up s, seed $seed"
  printf '%5s %-12s %3s %-5s %8s %8s %6s %9s %12s %8s\n' rate "ours/theirs" k group "Mbit/s" share Jain "Jain all" "ping avg" loss
  for rate in $(tr , ' ' <<<"$rate_list"); do
    for peer in ${peers:-cubic bbr}; do
      for fair_cc in ${own:-auto}; do
        for k in $(tr , ' ' <<<"$k_list"); do
          for ((run = 0; run < runs; run++)); do measure_fairness "$rate" "$k" "$peer" "$run"; done
        done
      done
    done
  done
  echo "figures are in $csv"
}
