#!/bin/bash
# Client and server of different versions, and servers that fail: the command runs all the same.
. "$(dirname "$0")/lib.sh"
e2e_directory
mkdir "$dir/other"
E2E_PATH=$dir/other:/usr/bin:/bin e2e_start
pattern 300000 >"$dir/bytes"
# The far host's mcdtp-server is this script. What was found out of the one before it is forgotten.
server() { rm -rf "$dir/cache" && printf '#!/bin/sh\n%s\n' "$1" >"$dir/other/mcdtp-server" && chmod +x "$dir/other/mcdtp-server"; }

step "the server itself, asked by a client of another version"
printf 'in' | status 4 bounded "$MCDTP_BIN/mcdtp-server" --protocol 99 --never-heard of --channels x --env A=b -- 'echo "$A"; cat; exit 4'
printf '\nMCDTP plain\nb\nin' | cmp - "$dir/out" || fail "not what was wanted"

step "the manual names the server's own version"
version=$("$MCDTP_BIN/mcdtp-server" --version | sed 's/.* protocol //')
grep -q "speaks; $version unless given" "$(dirname "$0")/../../man/mcdtp-server.1" || fail "another than $version"

step "a whole session with such a server"
server "shift 2; exec '$MCDTP_BIN/mcdtp-server' --protocol 99 \"\$@\""
status 6 shim -q far 'cat; echo err >&2; exit 6' <"$dir/bytes"
same_file "through cat" "$dir/bytes" "$dir/out"
err_is err
status 0 shim far 'echo out' </dev/null
err_is "mcdtp-shim: no mcdtp-server on far: going on over plain ssh (not said again for a day)"

step "where ports are to be forwarded nothing runs, and then the real ssh does, once"
status 0 bounded "$MCDTP_BIN/mcdtp-server" --protocol 99 --no-plain --never-heard of -- 'echo ran' </dev/null
printf '\nMCDTP nosubsystem\n' | cmp - "$dir/out" || fail "not what was wanted"
status 6 shim -q -L "$dir/near.sock:127.0.0.1:1" far "echo ran >>$dir/runs; cat; exit 6" <"$dir/bytes"
same_file "through cat" "$dir/bytes" "$dir/out"
same "runs of the command" ran "$(cat "$dir/runs")"

step "a server that does not start"
server 'exit 3'
status 6 shim far 'cat; exit 6' <"$dir/bytes"
same_file "through cat" "$dir/bytes" "$dir/out"
server 'kill -KILL $$'
status 6 shim far 'cat; exit 6' <"$dir/bytes"
same_file "through cat" "$dir/bytes" "$dir/out"

step "a server that ends after its greeting"
server "'$MCDTP_BIN/mcdtp-server' \"\$@\" </dev/null"
status 255 shim far 'sleep 1000' <"$dir/bytes"
out_is "" && err_is "mcdtp-shim: the connection to far ended before the command did"

step "a server that talks nonsense after its greeting"
server "'$MCDTP_BIN/mcdtp-server' \"\$@\" </dev/null | head -n 2; printf 'garbage of all kinds, and more of it'; cat >/dev/null"
status 255 shim far 'true' </dev/null
out_is ""
same "lines on stderr" 1 "$(wc -l <"$dir/err")"
nothing_left
passed
