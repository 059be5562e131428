#!/bin/bash
# The link of tests/wan does what its options say. Judged by its own counters and by what the far host's kernel
# counted, never by how long something took (a delay has a lower bound, which load cannot break).
here=$(cd "$(dirname "$0")" && pwd)
. "$here/../wan/netns.sh"
. "$here/../wan/sshd.sh"
wan_enter "$@"
wan_check || exit
dir=$(mktemp -d)
trap 'sshd_stop "$dir"; wan_down; rm -rf "$dir"' EXIT

case=
fail() { echo "FAILED: $case: $*"; [ -z "$WAN_STATS" ] || wan_stats; exit 1; }
link() { case="wan-link $*"; echo "$case"; wan_down; wan_up "$@" || fail "does not start"; }
# A bare word in EXPRESSION is a counter of the link that has ended.
expect() {
  local expression=$1 word
  for word in $(grep -o '[a-z][a-z_0-9]*' <<<"$1" | sort -u -r); do
    [ -n "$(wan_stat "$word")" ] || fail "no counter $word"
    expression=${expression//$word/$(wan_stat "$word")}
  done
  ((expression)) || fail "$1 ($expression)"
}
wait_until() { local i; for i in {1..5000}; do "$@" && return 0; sleep 0.01; done; fail "never true: $*"; }
send_udp() { "${3:-wan_near}" bash -c 'for ((i = 0; i < $0; ++i)); do printf "%*s" $1 >/dev/udp/$2/9; done' \
  "$1" "$2" "${4:-10.77.0.2}" 2>/dev/null; }
ping_far() { wan_near ping -n -W 10 "$@" 10.77.0.2; }
ping_in_vain() { ping_far -W 1 "$@" >/dev/null; }
far_udp_errors() { wan_far awk '/^Udp:/ { value = $4 } END { print value }' /proc/net/snmp; }
far_received() { wan_far awk '/wan0:/ { print $3 }' /proc/net/dev; }
has_received() { [ "$(far_received)" -ge "$1" ]; }
has_udp_errors() { [ "$(far_udp_errors)" -ge "$1" ]; }
replies_out_of_order() { sed -n 's/.*icmp_seq=\([0-9]*\).*/\1/p' <<<"$1" | awk '$1 < last { ++n } { last = $1 } END { print n + 0 }'; }
round_trip_at_least() { awk -F'[=/ ]+' -v least="$2" '/^rtt/ { exit !($6 >= least) }' <<<"$1"; }

link --delay 20,30
round_trip_at_least "$(ping_far -c 3 -i 0.05)" 50 || fail "round trip below the sum of the delays"
wan_near ping -n -c 1 -W 10 fd77::2 >/dev/null || fail "no IPv6"
wan_down
expect 'up_in == 4 && down_in == 4 && down_delivered == 4 && up_overruns == 0'

lost_with_seed() { link --loss 0.2,0 --seed "$1"; send_udp 2000 10; wan_down; }
lost_with_seed 7
expect 'up_in == 2000 && up_passed + up_lost == 2000 && down_lost == 0'
expect '310 < up_lost && up_lost < 490' # five standard deviations
first=$(wan_stat up_lost)
lost_with_seed 7
expect "up_lost == $first"
lost_with_seed 8
expect "up_lost != $first"

link --loss 0.2 --loss-burst 5
send_udp 2000 10
wan_down
expect '150 < up_lost && up_lost < 650' # bursts of five: three times the deviation of single losses

link --cut 0-60000,70000-80000
ping_in_vain -c 3 -i 0.05 && fail "a reply through a cut link"
wan_down
expect 'up_in == 3 && up_cut == 3 && down_in == 0'

link --delay 1
ping_far -c 1 >/dev/null || fail "no reply"
wan_cut
ping_in_vain -c 1 && fail "a reply through a link cut by hand"
wan_cut
ping_far -c 5 -i 0.2 >/dev/null || fail "no reply through a link joined again"
wan_down
expect 'up_cut == 1'

link --block-udp=up --delay 1
SSHD_NETNS=$WAN_FAR sshd_start "$dir" 10.77.0.2 || fail "no sshd"
port=$(sed -n 's/^ *Port //p' "$dir/ssh_config")
wan_near bash -c 'read -r -t 10 line <"/dev/tcp/10.77.0.2/$0" && [[ $line == SSH-* ]]' "$port" || fail "TCP is blocked too"
send_udp 10 100
send_udp 10 100 wan_far 10.77.0.1
wan_near ping -n -c 1 -W 10 fd77::2 >/dev/null || fail "ICMP is blocked too"
send_udp 10 100 wan_near fd77::2
sshd_stop "$dir"
wan_down
expect 'up_udp_blocked == 20 && down_udp_blocked == 0'

link --corrupt 1,0
send_udp 100 100
wait_until has_udp_errors 100
wan_down
expect 'up_corrupted == 100 && up_delivered == 100 && down_corrupted == 0'

# The far kernel counts packets joined into one as one.
link --duplicate 1,0 --no-offload
send_udp 50 100
wait_until has_received 100
wan_down
expect 'up_duplicated == 50 && up_delivered == 100'

link --mtu 1000
ping_in_vain -c 1 -s 1400 && fail "a packet larger than the MTU came through"
ping_far -c 1 -s 900 >/dev/null || fail "a small packet did not come through"
wan_down
expect 'up_in == 2 && up_too_big == 1'

link --delay 1 --reorder 0.3,0 --reorder-delay 40
[ "$(replies_out_of_order "$(ping_far -c 60 -i 0.005)")" -gt 0 ] || fail "all in order"
wan_down
expect '0 < up_reordered && up_reordered < 60 && up_delivered == 60'

link --jitter 20
[ "$(replies_out_of_order "$(ping_far -c 60 -i 0.005)")" -eq 0 ] || fail "jitter changed the order"

link --wander 40
replies=$(ping_far -c 60 -i 0.005)
[ "$(replies_out_of_order "$replies")" -eq 0 ] || fail "a delay that wanders changed the order"
awk -F'[=/ ]+' '/^rtt/ { wanders = $8 - $6 >= 5 } END { exit !wanders }' <<<"$replies" || fail "the delay does not wander: $(tail -n 1 <<<"$replies")"

link --rate 1M --queue 10000
send_udp 100 1000
wait_until has_received 9
wan_down
expect 'up_in == 100 && up_queue_full > 0 && up_passed >= 9 && up_passed + up_queue_full == 100'
expect 'up_delivered * 1028 == up_delivered_bytes'
awk -v bytes="$(wan_stat up_delivered_bytes)" -v seconds="$(wan_stat seconds)" \
  'BEGIN { exit !(bytes * 8 <= 1e6 * seconds) }' || fail "more bytes than the rate allows"

link --police 1M:5000
send_udp 100 1000
wan_down
expect 'up_policed > 0 && up_passed >= 4 && up_passed + up_policed == 100'

case="bad options"
for bad in "--loss 2" "--rate fast" "--cut 5" "--block-udp=sideways" "--near /nowhere"; do
  out=$("$WAN_LINK" --near /proc/self/ns/net --far /proc/self/ns/net --seconds 0 $bad 2>&1 </dev/null) &&
    fail "$bad is accepted"
  [ "$(wc -l <<<"$out")" -le 2 ] || fail "$bad: $out"
done

case="clean-up"
link --delay 1
held=("$WAN_NEAR_PID" "$WAN_FAR_PID" "$WAN_LINK_PID")
wan_down
for pid in "${held[@]}"; do kill -0 "$pid" 2>/dev/null && fail "process $pid outlives wan_down"; done
echo passed
