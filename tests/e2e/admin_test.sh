#!/bin/bash
# What the administrator of the far side says: commands forced on a key, the server as a subsystem, and limits that no
# client can loosen.
. "$(dirname "$0")/lib.sh"
e2e_directory
server=$MCDTP_BIN/mcdtp-server
e2e_start "Subsystem mcdtp $server --ask" "Subsystem few $server --ask --limits $dir/few.conf" \
  "Subsystem bad $server --ask --limits $dir/bad.conf"
key=$(cat "$dir/sshd/user_key.pub")
force() { echo "command=\"$1\" $key" >"$dir/sshd/authorized_keys"; rm -rf "$dir/cache"; }
free() { echo "$key" >"$dir/sshd/authorized_keys"; rm -rf "$dir/cache"; }
ours() { err_has "^mcdtp-shim: sent [0-9]* packets" && err_lacks "plain ssh"; }

step "--forced: it runs whatever is asked for, and hears what that was"
force "$server --forced 'echo \\\"forced: \$SSH_ORIGINAL_COMMAND\\\"; cat; exit 3'"
before=$(logins)
printf 'stdin' | status 3 shim -v far "rm  'it''s' \$HOME"
out_is "forced: rm  'it''s' \$HOME
stdin"
ours
same "log-ins" $((before + 1)) "$(logins)"
printf 'stdin' | status 3 real_ssh far "rm  'it''s' \$HOME"
out_is "forced: rm  'it''s' \$HOME
stdin"
force "$server --forced 'echo \\\"\${SSH_ORIGINAL_COMMAND-none}\\\"'"
status 0 shim -T far </dev/null
out_is none
status 0 real_ssh -T far </dev/null
out_is none
status 0 shim -s far sftp </dev/null
out_is "$(ls /usr/lib/openssh/sftp-server /usr/libexec/openssh/sftp-server 2>/dev/null | head -n 1)"

step "--forced: its words are those of no process of ours"
force "$server --forced 'tr \\\\0 \\\\n </proc/\$PPID/cmdline; : words'"
status 0 shim far anything </dev/null
grep -q mcdtp-server "$dir/out" || fail "that is not the server"
! grep -q words "$dir/out" || fail "they are there"

step "--forced: of the client's environment only what is harmless comes in"
force "$server --forced env"
printf '  SendEnv *\n' | cat "$e2e_config" - >"$dir/config"
GIT_PROTOCOL=version=2 LC_E2E=yes status 0 bounded "$SHIM" -F "$dir/config" far true </dev/null
grep -qx GIT_PROTOCOL=version=2 "$dir/out" && grep -qx LC_E2E=yes "$dir/out" || fail "a variable is missing"
# As a client that means ill would say it.
line() { # WORD...: an exec line with these words
  printf '%s' "exec sh -c 'eval \"set -- \$(printf %b \""
  printf '%s' "$(printf '%s ' "$@" | sed 's/ $//; s/=/\\0075/g')"
  printf '%s' "\")\"; exit 9'"
}
status 0 real_ssh far "$(line --protocol 1 --env BASH_ENV=/evil --env LC_E2E=kept -- id)" </dev/null
grep -qx LC_E2E=kept "$dir/out" || fail "the harmless one is missing"
grep -qx SSH_ORIGINAL_COMMAND=id "$dir/out" || fail "the command is missing"
! grep -q BASH_ENV "$dir/out" || fail "the other came in"
status 255 real_ssh far "$(line --protocol 5 --forced id)" </dev/null
out_is ""

step "--forced: it forwards nothing"
force "$server --forced cat"
status 255 shim -W "127.0.0.1:$(sed -n 's/^ *Port //p' "$e2e_config")" far </dev/null
err_is "channel 0: open failed: administratively prohibited: open failed
stdio forwarding failed"
printf 'a word' | status 0 shim -R 0:127.0.0.1:1 far whatever
out_is "a word" && err_is "Warning: remote port forwarding failed for listen port 0"

# ports_are LOW HIGH COMMAND...: of all channels of the run, which waits for $dir/seen
ports_are() {
  local low=$1 high=$2 port
  shift 2
  rm -f "$dir/seen" "$dir/log"
  "$@" </dev/null 2>"$dir/log" >/dev/null &
  until_true grep -qs 'UDP to' "$dir/log"
  touch "$dir/seen"
  wait $!
  grep -o 'UDP to [^ ]*:[0-9]*' "$dir/log" | sed 's/.*://' | sort -u >"$dir/ports"
  while read -r port; do [ "$port" -ge "$low" ] && [ "$port" -le "$high" ] || fail "port $port"; done <"$dir/ports"
}
until_seen="until [ -e '$dir/seen' ]; do sleep 0.05; done"

step "--forced: the client chooses no ports"
echo "$until_seen" >"$dir/wait"
force "$server --forced 'sh $dir/wait'"
ports_are 60000 61000 shim -v --port-range 61500-61600 far whatever

step "as a subsystem"
free
before=$(logins)
printf 'a b' | status 5 shim -v --server-subsystem mcdtp far 'cat; echo err >&2; exit 5'
out_is "a b" && err_has "^err$" && ours
same "log-ins" $((before + 1)) "$(logins)"
printf '2\n1\n' | status 0 shim --server-subsystem mcdtp far sort
out_is $'1\n2'
status 0 shim -v --server-subsystem none far 'echo plain' </dev/null
out_is plain && err_has "going on as plain ssh"
pattern 100000 >"$dir/bytes"
echo "get $dir/bytes $dir/got" >"$dir/batch"
printf 'Host far\n  ServerSubsystem mcdtp\n' >"$dir/own" && mkdir -p "$dir/config.d/mcdtp" && mv "$dir/own" "$dir/config.d/mcdtp/config"
XDG_CONFIG_HOME=$dir/config.d status 0 bounded sftp -q -b "$dir/batch" -F "$e2e_config" -S "$SHIM" far
same_file "sftp" "$dir/bytes" "$dir/got"

step "limits: ports, memory, rate"
cat >"$dir/few.conf" <<END
# of the test
PortRange 61400-61403
MaxMemory 8M
MaxRate 8M
Forwards no
END
limited() { shim -v --server-subsystem few "$@" </dev/null; }
status 0 limited -c 4 far true
nothing_left # that server may hold all the ports there are
ports_are 61400 61403 limited far "$until_seen"
nothing_left
ports_are 61402 61403 limited --port-range 61402-61410 far "$until_seen"
nothing_left
status 0 limited --port-range 60000-61000 --memory 1G --cc none far true
ours
# Bytes that ended in time would be a rate over the limit: 8 Mbit/s need a second for each of these megabytes.
start=$(date +%s%N)
limited --cc none far 'head -c 3000000 /dev/zero' 2>/dev/null >"$dir/out"
same "bytes" 3000000 "$(wc -c <"$dir/out")"
[ $(($(date +%s%N) - start)) -ge 1500000000 ] || fail "faster than its limit"

step "limits that cannot be read let nobody in"
printf 'PortRange 5\n' >"$dir/bad.conf"
status 0 shim -v --server-subsystem bad far 'echo plain' </dev/null
out_is plain && err_has "going on as plain ssh" # sshd keeps a subsystem's stderr to itself
force "$server --forced id --limits $dir/bad.conf"
status 255 shim far true </dev/null
out_is "" && err_has "^mcdtp-server: $dir/bad.conf line 1: PortRange wants LOW-HIGH, two ports from 1 to 65535"

nothing_left
passed
