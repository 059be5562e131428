#!/bin/bash
# A thousand connections at once, thousands one after another, and no descriptor, stream or process left of them.
. "$(dirname "$0")/lib.sh"
e2e_start
peer=$(dirname "$0")/forward_peer.py
ulimit -n "$(ulimit -Hn)"
[ "$(ulimit -n)" = unlimited ] || [ "$(ulimit -n)" -ge 4096 ] || skip "this user may have $(ulimit -n) descriptors"
python3 "$peer" echo >"$dir/port" 2>"$dir/service.err" &
service=$!
trap 'kill $service 2>/dev/null; e2e_clean' EXIT
until_true test -s "$dir/port"
near=$(free_port)
listens() { (exec 3<>"/dev/tcp/127.0.0.1/$near") 2>/dev/null; }

# The limit of the log-in is low, so that it has to be raised, and the command has it as it was.
step "the command's limit of descriptors is the log-in's"
(ulimit -Sn 300; status 0 shim -L "$near:127.0.0.1:$(cat "$dir/port")" far 'ulimit -Sn' </dev/null) || exit 1
wanted=$(real_ssh far 'ulimit -Sn' </dev/null)
out_is "$wanted"

(ulimit -Sn 300; shim_in_background -N -L "$near:127.0.0.1:$(cat "$dir/port")" far) \
  </dev/null >"$dir/out" 2>"$dir/err" &
run=$!
until_true listens
descriptors() { echo "$(ls "/proc/$run/fd" | wc -l) $(ls "/proc/$(server_pid)/fd" | wc -l)"; }
bounded python3 "$peer" many 127.0.0.1 "$near" 10 || fail "ten at once"
# No more than after the first ten, whose last may still be on its way out when they are counted.
settled() {
  local now
  now=($(descriptors))
  ((0 < now[0] && now[0] <= before[0] && 0 < now[1] && now[1] <= before[1]))
}
for _ in {1..10}; do before=($(descriptors)); sleep 0.1; [ "${before[*]}" != "$(descriptors)" ] || break; done
echo "  descriptors of client and server: ${before[*]}"

step "a thousand at once"
bounded python3 "$peer" many 127.0.0.1 "$near" 1000 || fail "a thousand at once"
until_true settled

step "two thousand one after another"
bounded python3 "$peer" rows 127.0.0.1 "$near" 2000 || fail "two thousand in a row"
until_true settled

step "more at once than there can be streams: those that find no room wait"
bounded python3 "$peer" many 127.0.0.1 "$near" 2100 || fail "2100 at once"
until_true settled
err_is ""
kill "$run"
wait "$run"
nothing_left

# No UDP then. Once that is found out there are to be more TCP connections, which must leave some to the ports.
step "as few descriptors as ssh needs, where more TCP connections are of use"
near=$(free_port)
(ulimit -n 20; shim_in_background -v -N -L "$near:127.0.0.1:$(cat "$dir/port")" far) </dev/null >"$dir/out" 2>"$dir/err" &
run=$!
until_true grep -q "no answer by UDP" "$dir/err"
until_true grep -q "the control link is a direct TCP connection" "$dir/err"
bounded python3 "$peer" rows 127.0.0.1 "$near" 20 || fail "twenty in a row"
grep -q "another TCP connection" "$dir/err" && fail "a connection too many"
kill "$run"
wait "$run"
nothing_left
passed
