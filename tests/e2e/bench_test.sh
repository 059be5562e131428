#!/bin/bash
# scripts/bench leaves a line for each measurement, with the link's own counts, and scripts/plot makes figures of them.
# What the figures are is not judged, but for what no link can bring.
here=$(cd "$(dirname "$0")" && pwd)
. "$here/../wan/netns.sh"
wan_enter "$@"
wan_check || exit
command -v iperf3 >/dev/null || { echo "skipped: no iperf3"; exit 77; }
root=$here/../..
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT

fail() { echo "FAILED: $*"; cat "$dir"/*.csv "$dir/out" 2>/dev/null; exit 1; }
bench() { MCDTP_BIN=$(dirname "$WAN_LINK") "$root/scripts/bench" --no-build "$@" >"$dir/out" 2>&1; }
plot() { "$root/scripts/plot" --void --to "$dir/plots" "$@" >"$dir/out" 2>&1; }
# Lines of FILE for which the awk CONDITION holds; the columns have their names from the first line.
lines() { # FILE CONDITION
  awk -F, 'NR == 1 { for (i = 1; i <= NF; i++) print "-v\n" $i "=" i; exit }' "$1" >"$dir/names"
  local names
  mapfile -t names <"$dir/names"
  awk -F, "${names[@]}" "NR > 1 && ($2) { n++ } END { print n + 0 }" "$1"
}

bench --link clean --tool shim/auto --tool tcp/cubic --channels 1,2 --seconds 2 --csv "$dir/bench.csv" --flows "$dir/flows" ||
  fail "scripts/bench ends with $?"
[ "$(lines "$dir/bench.csv" 'NF == 24 && $link == "clean" && $seconds == 2 && $limit_mbit == 9.6')" = 4 ] || fail "not four lines"
[ "$(lines "$dir/bench.csv" '$tool == "shim" && $cc == "auto" && $wire_bytes_per_byte > 1')" = 2 ] || fail "not two lines of the shim"
[ "$(lines "$dir/bench.csv" '$mbit > 0 && $share < 1.1')" = 4 ] || fail "impossible rates"
# Beside them, perhaps, what wan_up notes of GRO.
[ "$(grep -vc '^wan: note: ' "$dir/out")" -eq 7 ] || fail "the table has not four lines between heading and end"
[ "$(lines "$dir/flows/clean-shim-auto-2-0.csv" '$direction == "up" && $protocol == "udp" && $bytes > 0')" -gt 0 ] ||
  fail "no flows of UDP"

bench --link clean --tool shim/fixed --channels 2 --sweep pacing=even,burst --seconds 2 --csv "$dir/bench.csv" ||
  fail "the sweep of pacing ends with $?"
[ "$(lines "$dir/bench.csv" '$cc == "fixed" && $pacing == "burst" && $told_percent == 100 && $mtu == 0')" = 1 ] || fail "no burst"
bench --link clean --tool shim/fixed --channels 2 --sweep told=50,100 --seconds 2 --csv "$dir/bench.csv" ||
  fail "the sweep of the rate told ends with $?"
[ "$(lines "$dir/bench.csv" '$told_percent == 50 && $share < 0.6 && $mbit > 0')" = 1 ] || fail "not half of the rate"
echo "link,mbit" >"$dir/old.csv"
bench --link clean --tool none --csv "$dir/old.csv" && fail "a file of other columns is taken"

bench --fairness --k 1 --rate 10 --tool tcp/cubic --seconds 2 --csv "$dir/fairness.csv" || fail "the fairness bench ends with $?"
[ "$(lines "$dir/fairness.csv" 'NF == 21 && $k == 1 && $mbit > 0 && $both_jain >= 0.5 && $both_jain <= 1 && $ping_avg_ms >= 50')" = 2 ] ||
  fail "not two lines of fairness"

for bad in "--link nowhere" "--channels 0" "--channels 65" "--fairness --channels 1,2" "--tool shim/x" "--tool tcp/x" "--sweep colour=1" "--seconds 0" "--tool rsh --link clean --csv $dir/bad" "--link"; do
  bench $bad && fail "$bad is accepted"
  [ "$(grep -c . "$dir/out")" -eq 1 ] || fail "$bad: $(cat "$dir/out")"
done

/usr/bin/python3 -c 'import matplotlib' 2>/dev/null || { echo "skipped: scripts/plot, for there is no matplotlib"; exit 77; }
plot "$dir/bench.csv" "$dir/fairness.csv" "$dir"/flows/clean-shim-auto-2-0.csv || fail "scripts/plot ends with $?"
for figure in links clean-by-channels clean-by-told fairness-10 clean-shim-auto-2-0; do
  [ "$(head -c 4 "$dir/plots/$figure.png" | tail -c 3)" = PNG ] || fail "no $figure.png"
done
grep -q '^shim/auto' "$dir/plots/clean-channels.txt" || fail "no table of channels"
plot "$dir/nowhere.csv" && fail "a file that is not there is accepted"
[ "$(wc -l <"$dir/out")" -eq 1 ] || fail "more than one line for a file that is not there"
echo passed
