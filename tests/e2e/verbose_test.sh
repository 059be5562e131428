#!/bin/bash
# What -v tells, on stderr alone: backend, addresses tried, each channel proved, the control link, what is forwarded.
. "$(dirname "$0")/lib.sh"
e2e_start
has() { grep -q -- "$1" "$dir/log"; }
afresh() { step "$@"; : >"$dir/log"; } # nobody takes the last run's words for the next one's

step "a session of eight channels"
mkfifo "$dir/stdin"
exec 8<>"$dir/stdin"
shim -v -c 8 far 'head -n 1' <"$dir/stdin" >"$dir/got" 2>"$dir/log" 8>&- &
until_true has "^mcdtp-shim: channel 256: the control link is a direct TCP connection"
for channel in {0..7}; do until_true has "^mcdtp-shim: channel $channel: proved, UDP to 127.0.0.1:6[01][0-9][0-9][0-9]$"; done
grep -qE "^mcdtp-shim: backend: (ssh|libssh2)$" "$dir/log" || fail "no backend"
has "^mcdtp-shim: trying UDP and TCP at 127.0.0.1$" || fail "no address"
has "^mcdtp-shim: channel 8:" && fail "a ninth channel"
echo word >&8
wait $!
same "status" 0 $?
same "stdout" word "$(cat "$dir/got")"

step "without -v nothing"
status 0 shim -c 8 far 'echo word' </dev/null
out_is word && err_is ""

afresh "--port-range"
shim -v -c 1 --port-range 61500-61510 far 'head -n 1' <"$dir/stdin" >"$dir/got" 2>"$dir/log" 8>&- &
until_true has "^mcdtp-shim: channel 0: proved, UDP to 127.0.0.1:615[01][0-9]$"
echo word >&8
wait $! || fail "status $?"

afresh "forwarded ports"
near=$(free_port) there=$(free_port) socks=$(free_port) nobody=$(free_port)
shim -v -L "$near:localhost:$there" -D "$socks" -R "$there:localhost:$nobody" far 'head -n 1' <"$dir/stdin" >"$dir/got" 2>"$dir/log" 8>&- &
until_true has "^mcdtp-shim: the far side forwards port $there to localhost port $nobody$"
has "^mcdtp-shim: forwarding port $near to localhost port $there$" || fail "-L"
has "^mcdtp-shim: forwarding port $socks to where SOCKS says$" || fail "-D"
{ exec 7<>"/dev/tcp/127.0.0.1/$near"; } 2>/dev/null || fail "nothing listens"
until_true has "^mcdtp-shim: a connection from port $near to localhost port $there$"
until_true has "^mcdtp-shim: a connection from the far side's port $there to localhost port $nobody$"
exec 7<&-
echo word >&8
wait $! || fail "status $?"

afresh "fewer ports than channels"
shim -v -c 8 --port-range 61520-61521 far 'head -n 1' <"$dir/stdin" >"$dir/got" 2>"$dir/log" 8>&- &
until_true has "^mcdtp-shim: channel 1: proved"
echo word >&8
wait $! || fail "status $?"
has "^mcdtp-shim: channel 2: proved" && fail "a third channel on two ports"
nothing_left
passed
