#!/bin/bash
# A path that lets no UDP through, or only one way, or no more: the bytes arrive, the status is right, -v says why, and the
# next run knows.
. "$(dirname "$0")/lib.sh"
e2e_start_far --delay 5
. "$e2e_here/both_ways.sh"

# The line is said once, at a moment of its own: it names the way that there was by then.
names_the_way() { # LINE up to the way
  local way="the SSH connection"
  sed "/$1/q" "$dir/log" | grep -q "$direct_tcp" && way="direct TCP connections"
  has "$1 $way$" || fail "the way should be: $way"
}

# What one step finds out is nothing to the next.
export XDG_CACHE_HOME=/dev/null/none

step "all UDP blocked"
no_answer="^mcdtp-shim: no answer by UDP: the stream goes over"
wan_relink --delay 5 --block-udp
both_ways "$no_answer" "$direct_tcp" "$another_tcp" "channel 259: "
names_the_way "$no_answer"
has "channel 260: " && fail "a fifth TCP connection"
has "channel 0: proved" && fail "UDP was proved"

step "UDP blocked upwards"
wan_relink --delay 5 --block-udp=up
both_ways "$no_answer" "$direct_tcp"
names_the_way "$no_answer"
has "channel 0: proved" && fail "UDP was proved"

step "UDP blocked downwards: up it is used, as the control link reports"
wan_relink --delay 5 --block-udp=down
# Said once too, and of channels that were proved in time and held: else there is another try.
nothing_comes="^mcdtp-shim: nothing comes by UDP: what the server sends goes over"
for try in 1 2 3 4 5; do
  both_ways "$nothing_comes\|$no_answer\|nothing comes back" "$direct_tcp" "channel 3: proved" "$another_tcp"
  ! has "$nothing_comes" || break
done
names_the_way "$nothing_comes"

step "what was found blocked is said once, remembered, and forgotten when UDP comes"
export XDG_CACHE_HOME=$dir/cache
wan_relink --delay 5 --block-udp
carry="^mcdtp-shim: no UDP comes through from far: direct TCP connections carry the data (not said again)$"
remembered() { cat "$XDG_CACHE_HOME"/mcdtp/no-udp/* 2>/dev/null; }
for try in 1 2 3 4 5; do
  status 0 shim -q far 'sleep 3' </dev/null
  err_is ""
  [ -z "$(remembered)" ] || break
done
[ -n "$(remembered)" ] || fail "it is not remembered"
file=$(ls "$XDG_CACHE_HOME"/mcdtp/no-udp/*)
both_ways "no UDP came through of late, says $file: not waited for$" "$direct_tcp" "$another_tcp" "$no_answer"
has "$carry" || fail "it is not said"
both_ways "not waited for$" "$no_answer"
has "$carry" && fail "it is said again"
printf x | status 0 shim far cat
out_is x
err_is ""
# A run that ends before it knows leaves the date as it is. One that a slow machine held up did know: there is another try.
until=$(($(date +%s) + 3600))
for try in 1 2 3 4 5; do
  sed -i "1s/^[0-9]*/$until/" "$file"
  shim -v -n far true 2>"$dir/log" || fail "status $?"
  has "not waited for$" || fail "it is forgotten"
  has "$no_answer" || break
done
[ "$(remembered | head -n 1 | cut -d' ' -f1)" = "$until" ] || fail "renewed: $(remembered)"
wan_relink --delay 5
both_ways "not waited for$" "channel 0: proved"
[ -z "$(remembered)" ] || fail "it is still remembered"
both_ways "channel 0: proved"
has "not waited for$" && fail "it is not forgotten"
export XDG_CACHE_HOME=/dev/null/none

step "blocked in mid-transfer, and let through again"
wan_relink --delay 5
: >"$dir/got" && : >"$dir/log"
shim -v -c 4 far 'cat; exit 7' <"$dir/stdin" >"$dir/got" 2>"$dir/log" &
shim=$!
exec 8>"$dir/stdin"
cat "$dir/bytes" >&8
for channel in 0 3; do until_true has "channel $channel: proved"; done
until_true size_is "$dir/got" 1000000
wan_block_udp
cat "$dir/bytes" >&8
until_true size_is "$dir/got" 2000000
until_true has "channel 0: nothing comes back"
wan_block_udp
cat "$dir/bytes" >&8
exec 8>&-
wait "$shim"
same "status" 7 $?
cat "$dir/bytes" "$dir/bytes" "$dir/bytes" | cmp - "$dir/got" || fail "the bytes differ"

step "throttled, while TCP is not: the TCP connection helps, up and down"
wan_relink --rate 50M --delay 20 --police-udp 5M:30000
pattern 12000000 >"$dir/more"
no_far_process() { [ -z "$(far_processes)" ]; }
carries_most() { # FILE of --log-full
  python3 - "$1" <<'END'
import csv, sys
last = {row["channel"]: int(row["sent_bytes"]) for row in csv.DictReader(open(sys.argv[1]))}
sys.exit(max(last, key=last.get) != "256")
END
}
# The word comes of a trial alone; where a burst has lost more than a fifth it helps without.
is_said_to_help() {
  carries_most "$1" && grep -q "^mcdtp-shim: channel 256: more comes through by TCP, which carries data as well$" "$dir/err"
}
# On a machine that is slow to answer a trial may see a queue that is none: there is another try.
helped() { # a check of the FILE of --log-full, that, a command
  local try
  for try in 1 2 3 4 5; do
    rm -f "$2"
    status 0 "${@:3}"
    until_true no_far_process
    "$1" "$2" && return
  done
  fail "the TCP connection does not help: $(tail -n 6 "$2")"
}
through_tcp() {
  helped is_said_to_help "$dir/up.csv" upload
  helped carries_most "$dir/down.csv" shim --far-log-full "$dir/down.csv" far "cat '$dir/more'" </dev/null
  same_file "stdout" "$dir/more" "$dir/out"
  err_is ""
}
upload() { shim -v --log-full "$dir/up.csv" far "cmp - '$dir/more'" <"$dir/more"; }
# BBR sends what is tried so slowly that it looks like a queue.
if wan_cc cubic; then through_tcp; else echo "skipped: this user may not choose CUBIC"; fi

step "--transport"
options=(--transport tcp -c 1)
both_ways "$direct_tcp"
options=(--transport tcp)
both_ways "$direct_tcp" "$another_tcp" "channel 259: "
has "UDP" && fail "UDP is spoken of"
options=(--transport ssh -c 1)
both_ways "^mcdtp-shim: the SSH channel carries packets$"
has "trying\|another TCP\|the control link" && fail "another way than SSH"
options=()

step "no direct TCP either: the SSH connection alone is left"
# The server listens on the port of channel 0, which somebody else has.
nsenter --net="$WAN_FAR" -- python3 -c 'import socket, time
s = [socket.create_server(("10.77.0.2", port)) for port in (61700, 61701, 61702)]
print("ready", flush=True); time.sleep(300)' >"$dir/squatter" &
squatter=$!
until_true test -s "$dir/squatter"
options=(--port-range 61700-61700)
both_ways "channel 0: proved"
has "channel 256: " && fail "a direct TCP connection"
until_true no_far_process # that server has the one port that there is, and the old link the words that end it
wan_relink --delay 5 --block-udp
rm -rf "$dir/cache"
export XDG_CACHE_HOME=$dir/cache
both_ways "$no_answer the SSH connection"
export XDG_CACHE_HOME=/dev/null/none
has "^mcdtp-shim: no UDP comes through from far: the SSH connection carries the data (not said again; see --transport ssh)$" ||
  fail "it is not said"
has "channel 256: " && fail "a direct TCP connection"

step "channel 0 is one whose port is free for TCP"
options=(--port-range 61700-61703)
both_ways "$direct_tcp"
kill "$squatter"
nothing_left
passed
