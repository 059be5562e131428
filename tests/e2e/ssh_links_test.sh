#!/bin/bash
# --transport ssh with -c: further SSH connections carry the data as well. They ask nobody anything, are made only where there
# is much to move, and any of them may fail.
. "$(dirname "$0")/lib.sh"
e2e_start
. "$e2e_here/both_ways.sh"
another="^mcdtp-shim: channel [0-9]*: \(the control link is \)\?another SSH connection$"
links_are() { [ "$(grep -c "$another" "$dir/log")" -eq "$1" ]; }
gave_up="^mcdtp-shim: no further SSH connection: "
links_of_ssh() { local pid; for pid in $(near_processes); do grep -qzx -- -W "/proc/$pid/cmdline" && echo "$pid"; done; }
# A million bytes there and back; then the command; then as many again.
meanwhile() { # COMMAND... with the client's OPTIONs in "${options[@]}"
  : >"$dir/got" && : >"$dir/log"
  cat "$dir/bytes" "$dir/bytes" >"$dir/sent"
  shim_in_background -v "${options[@]}" far 'cat; echo end >&2; exit 7' <"$dir/stdin" >"$dir/got" 2>"$dir/log" &
  local shim=$!
  exec 8>"$dir/stdin"
  cat "$dir/bytes" >&8
  until_true size_is "$dir/got" 1000000
  "$@"
  cat "$dir/bytes" >&8
  exec 8>&-
  wait "$shim"
  same "status" 7 $?
  cmp "$dir/sent" "$dir/got" || fail "the bytes differ"
  has '^end$' || fail "stderr did not arrive"
}

step "as many as -c says, the first among them"
options=(--transport ssh -c 4)
meanwhile until_true links_are 3
same "log-ins" 4 "$(logins)"
until_true no_processes

step "each carries data"
options+=(--log-full "$dir/full.csv")
mv "$dir/bytes" "$dir/one"
cat "$dir/one" "$dir/one" "$dir/one" "$dir/one" >"$dir/bytes"
meanwhile until_true links_are 3
python3 - "$dir/full.csv" <<'END' || fail "one carries nothing: $(tail -n 5 "$dir/full.csv")"
import csv, sys
last = {row["channel"]: int(row["sent_bytes"]) for row in csv.DictReader(open(sys.argv[1]))}
sys.exit(len(last) != 4 or min(last.values()) < 16384)
END
mv "$dir/one" "$dir/bytes"

step "one log-in where there is little to move, or -c says nothing"
before=$(logins)
status 3 shim --transport ssh -c 4 far 'cat; exit 3' <<<little
out_is little
status 3 shim --transport ssh far 'cat; exit 3' <"$dir/bytes"
same_file "through cat" "$dir/bytes" "$dir/out"
same "log-ins" $((before + 2)) "$(logins)"

step "one that is killed in mid-transfer is made again as long as there is more to move"
options=(--transport ssh -c 3)
cp "$dir/bytes" "$dir/one"
more() { cat "$dir/one" >&8; cat "$dir/one" >>"$dir/more"; links_are 3; }
kill_one() {
  until_true links_are 2
  kill -KILL "$(links_of_ssh | head -n 1)"
  : >"$dir/more"
  until_true more
  cat "$dir/one" "$dir/more" "$dir/one" >"$dir/sent"
}
meanwhile kill_one

step "also where libssh2 does not log in"
options=(--transport ssh -c 2 --bootstrap ssh)
meanwhile until_true links_are 1
has "backend: ssh" || fail "libssh2 has logged in"

step "what asks for a passphrase asks once"
ssh-keygen -q -p -f "$dir/sshd/user_key" -N secret >/dev/null
printf '#!/bin/sh\necho asked >>"%s"\necho secret\n' "$dir/asked" >"$dir/askpass"
chmod +x "$dir/askpass"
sed -i 's/BatchMode yes/BatchMode no/' "$e2e_config"
options=(--transport ssh -c 4)
export SSH_ASKPASS=$dir/askpass SSH_ASKPASS_REQUIRE=force DISPLAY=none
meanwhile until_true has "$gave_up"
same "questions" asked "$(cat "$dir/asked")"
unset SSH_ASKPASS SSH_ASKPASS_REQUIRE DISPLAY
ssh-keygen -q -p -f "$dir/sshd/user_key" -P secret -N '' >/dev/null

step "a master's connection is not what they share"
start_master "$dir/master"
for master in -oControlPath="$dir/master" -S"$dir/master"; do
  before=$(logins)
  options=(--transport ssh -c 2 "$master")
  meanwhile until_true links_are 1
  same "log-ins" $((before + 1)) "$(logins)"
done
real_ssh -O exit -oControlPath="$dir/master" far 2>/dev/null

step "an sshd that forwards nothing: the first alone, without a word"
sshd_stop "$dir/sshd"
e2e_start "AllowTcpForwarding no"
options=(--transport ssh -c 4)
meanwhile until_true has "$gave_up"
same "log-ins" 2 "$(logins)"
status 7 shim --transport ssh -c 4 -E "$dir/messages" far 'cat; exit 7' <"$dir/bytes"
same_file "through cat" "$dir/bytes" "$dir/out"
err_is ""
same "messages" "" "$(cat "$dir/messages")"

step "whoever is killed leaves nothing"
: >"$dir/log"
shim_in_background -v --transport ssh -c 4 far yes </dev/null >/dev/null 2>"$dir/log" &
pid=$!
until_true has "channel 255: \|the SSH channel carries packets"
kill -KILL "$pid"
wait "$pid" 2>/dev/null
nothing_left
passed
