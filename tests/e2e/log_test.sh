#!/bin/bash
# The small and the full log of transfers: what they say is what was done.
. "$(dirname "$0")/lib.sh"
e2e_start
value() { sed -n "$1p" "$dir/log" | tr ' ' '\n' | sed -n "s/^$2=//p"; } # LINE NAME

step "two transfers, a line each"
pattern 300000 >"$dir/bytes"
# The command stays until three samples have channel 0 with a round trip of its own.
sampled="awk -F, '\$3 == \"0\" && \$9 != \"\" { ++n } END { exit n < 3 }' '$dir/full'"
status 7 shim --log "$dir/log" --log-full "$dir/full" far "cat; until $sampled; do sleep 0.05; done; exit 7" <"$dir/bytes"
same_file "stdout" "$dir/bytes" "$dir/out"
err_is ""
status 0 shim --log="$dir/log" --log-full="$dir/full" far 'echo word' </dev/null
same "lines" 2 "$(wc -l <"$dir/log")"
same "status" 7 "$(value 1 status)"
same "bytes sent" 300000 "$(value 1 sent_bytes)"
same "bytes received" 300000 "$(value 1 received_bytes)"
same "status" 0 "$(value 2 status)"
same "bytes sent" 0 "$(value 2 sent_bytes)"
same "bytes received" 5 "$(value 2 received_bytes)"
same "host" far "$(value 2 host)"
[ "$(value 1 udp_channels)" -ge 1 ] || fail "no UDP channel"

step "the course of both, one head"
same "heads" 1 "$(grep -c '^start,seconds,channel,' "$dir/full")"
python3 - "$dir/full" "$(value 1 start)" "$(value 2 start)" <<'END' || fail "the full log"
import csv, sys
rows = list(csv.DictReader(open(sys.argv[1])))
assert {row["start"] for row in rows} == set(sys.argv[2:]), "another transfer"
first = [row for row in rows if row["start"] == sys.argv[2]]
for row in rows:
    assert None not in row and None not in row.values(), row
assert {"0", "255"} <= {row["channel"] for row in first}, "a channel is missing"
last = {row["channel"]: row for row in first}
assert sum(int(row["sent_bytes"]) for row in last.values()) >= 300000
assert sum(int(row["covered_bytes"]) for row in last.values()) >= 300000
assert sum(int(row["received_bytes"]) for row in last.values()) >= 300000
assert len({row["seconds"] for row in first}) >= 3, "too few samples"
END
export MPLCONFIGDIR=$dir
if /usr/bin/python3 -c 'import matplotlib' 2>/dev/null; then
  "$e2e_here/../../scripts/plot" --to "$dir/plots" "$dir/full" >"$dir/out" 2>"$dir/err" || fail "scripts/plot ends with $?"
  same "a figure for each" "$(printf '%s\n' "$dir/plots/full-1.png" "$dir/plots/full-2.png")" "$(cat "$dir/out")"
else
  echo "no figures of it: there is no matplotlib"
fi

step "the far side's, of what it sent"
value() { tr ' ' '\n' <"$1" | sed -n "s/^$2=//p"; } # FILE NAME
status 7 shim --far-log "$dir/far log" --far-log-full "$dir/far full" far \
  "cat '$dir/bytes'; until grep -qs '^[^,]*,[^,]*,0,[1-9]' '$dir/far full'; do sleep 0.05; done; exit 7" </dev/null
same_file "stdout" "$dir/bytes" "$dir/out"
err_is ""
until_true test -s "$dir/far log"
same "status" 7 "$(value "$dir/far log" status)"
same "host" 127.0.0.1 "$(value "$dir/far log" host)"
same "bytes sent" 300000 "$(value "$dir/far log" sent_bytes)"
same "bytes received" 0 "$(value "$dir/far log" received_bytes)"
same "heads" 1 "$(grep -c '^start,seconds,channel,' "$dir/far full")"
grep -q '^[^,]*,[^,]*,0,[1-9]' "$dir/far full" || fail "no row of channel 0"
MCDTP_OPTIONS="--far-log '~/far log'" status 7 shim far 'exit 7' </dev/null
until_true test -s "$dir/home/far log"
status 7 shim --far-log /nonexistent/log far 'echo word; exit 7' </dev/null
out_is word
err_is "mcdtp-server: opening the log /nonexistent/log: No such file or directory"

step "a log that takes no more does not end the transfer"
status 0 shim --log /dev/full far 'echo word' </dev/null
out_is word
err_is "mcdtp-shim: writing the log /dev/full: No space left on device"

step "ssh's own log, of -E"
rm -f "$dir/ssh_log"
status 0 shim -E "$dir/ssh_log" far true </dev/null
same_file "ssh's log" /dev/null "$dir/ssh_log"

nothing_left
passed
