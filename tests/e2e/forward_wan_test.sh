#!/bin/bash
# Forwarded ports across a link that loses one packet in twenty each way: both ways at once, beside a command.
. "$(dirname "$0")/lib.sh"
e2e_start_far --rate 50M --delay 10 --jitter 2 --loss 0.05 --reorder 0.02 --duplicate 0.01 --seed 4
peer=$(realpath "$(dirname "$0")/forward_peer.py")
pattern 2000000 >"$dir/bytes"
near_listens() { wan_near bash -c "exec 3<>/dev/tcp/127.0.0.1/$near" 2>/dev/null; }

step "-L to an echo there, and a command that sorts meanwhile"
wan_far python3 "$peer" echo >"$dir/port" &
service=$!
trap 'kill $service 2>/dev/null; e2e_clean' EXIT
until_true test -s "$dir/port"
near=$(free_port)
mkfifo "$dir/stdin"
shim -L "$near:127.0.0.1:$(cat "$dir/port")" far 'sort -n; exit 6' <"$dir/stdin" >"$dir/out" 2>"$dir/err" &
run=$!
exec 8>"$dir/stdin"
until_true near_listens
printf '3\n1\n' >&8
bounded python3 "$peer" send 127.0.0.1 "$near" <"$dir/bytes" >"$dir/got" || fail "the connection"
same_file "through an echo" "$dir/bytes" "$dir/got"
bounded python3 "$peer" many 127.0.0.1 "$near" 100 || fail "a hundred at once"
printf '2\n' >&8
exec 8>&-
wait "$run"
same "the command's status" 6 $?
out_is $'1\n2\n3' && err_is ""

step "-R from there, used by the command"
wan_near python3 "$peer" echo >"$dir/near_port" &
service="$service $!"
until_true test -s "$dir/near_port"
far=$(free_port)
status 0 shim -R "$far:127.0.0.1:$(cat "$dir/near_port")" far "python3 $peer send 127.0.0.1 $far" <"$dir/bytes"
same_file "through -R" "$dir/bytes" "$dir/out"
nothing_left
passed
