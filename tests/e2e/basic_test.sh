#!/bin/bash
# The remote command runs as ssh would run it: its words, its environment, its streams, its exit status.
. "$(dirname "$0")/lib.sh"
# Where a log-in starts is the user's own home.
E2E_ENV="HOME=$HOME" e2e_start

step "exit statuses"
for number in 0 1 7 127 254 255; do
  status "$number" shim far "exit $number" </dev/null
  out_is "" && err_is ""
done
status 255 shim far 'kill -TERM $$' </dev/null
status 255 shim far 'kill -KILL $$' </dev/null
status 127 shim far no-such-command-here </dev/null
err_has "no-such-command-here: command not found"

step "stdout and stderr apart"
status 3 shim far 'echo out; echo err >&2; echo out2; exit 3' </dev/null
out_is $'out\nout2' && err_is err

step "words are joined by one space, and quotes are the far shell's"
as_ssh() {
  real_ssh far "$@" >"$dir/wanted" 2>"$dir/wanted_err" </dev/null
  local wanted=$?
  status "$wanted" shim far "$@" </dev/null
  same_file "$* (stdout)" "$dir/wanted" "$dir/out"
  same_file "$* (stderr)" "$dir/wanted_err" "$dir/err"
}
as_ssh echo "a  b" c
as_ssh printf '%s|' "'a  b'" '"c  d"' 'e\ f' '$HOME' "'\$HOME'"
as_ssh 'echo "quote'"'"'s" `echo back` $((1 + 1)); echo "tab	here"'
as_ssh 'printf "%s\n" "ünïcode" "back\\\\slash" "!history" "%d percent"; pwd; echo $0'
as_ssh "echo first
echo second"
as_ssh 'echo "$-"; ulimit -c; umask; id'
as_ssh true ';' false
as_ssh 'ls -l /proc/self/fd | sed "s/.* \([0-9]* ->\) \([a-z]*\).*/\1 \2/" | grep -v /proc'

step "the command's words are those of no process of ours: a pkill -f of its own would end the run"
status 0 shim far 'cat "/proc/$PPID/cmdline"; for at in /proc/[0-9]*; do
  grep -qs "^mcdtp-guardian" "$at/comm" && [ "$(cut -d " " -f 4 "$at/stat")" = "$PPID" ] && cat "$at/cmdline"; done; true' </dev/null
tr '\0' ' ' <"$dir/out" | grep -q "mcdtp-server --protocol" || fail "that is not the server"
! grep -qa guardian "$dir/out" || fail "they are there"

step "the environment is the one that ssh gives"
# SSH_CLIENT and SSH_CONNECTION hold the port that each connection came from. One difference is known: bash and csh
# read their start-up files twice, once for the server and once for the command, so that a PATH which these extend
# without a look is extended twice. Hence the empty home; it is not where sshd starts, hence no PWD.
sshd_start "$dir/accepting" 127.0.0.1 "$(e2e_set_env)" "AcceptEnv LANG LC_* GIT_PROTOCOL" || exit 1
before=$e2e_config
e2e_config=$dir/accepting/ssh_config
environment() { "$1" far env </dev/null 2>&1 | sed 's/^\(SSH_CLIENT\|SSH_CONNECTION\)=\([^ ]* \)[0-9]*/\1=\2PORT/; /^PWD=/d' | sort; }
export LC_E2E='a  b;$x' GIT_PROTOCOL=version=2 LANG=C.UTF-8
same "the environment without SendEnv" "$(environment real_ssh)" "$(environment shim)"
printf '  SendEnv LANG LC_* GIT_PROTOCOL\n' >>"$e2e_config"
environment real_ssh >"$dir/wanted"
environment shim >"$dir/got"
diff "$dir/wanted" "$dir/got" >&2 || fail "environments differ"
grep -q '^LC_E2E=a  b;\$x$' "$dir/got" || fail "LC_* does not arrive"
grep -q '^GIT_PROTOCOL=version=2$' "$dir/got" || fail "GIT_PROTOCOL does not arrive"
e2e_config=$before
same "GIT_PROTOCOL where the sshd takes none" version=2 "$(shim -oSendEnv=GIT_PROTOCOL far 'echo "$GIT_PROTOCOL"' </dev/null)"
sshd_stop "$dir/accepting"

step "no command: a login shell that reads stdin"
echo 'echo "$0"; shopt -q login_shell && echo login; cat; exit 5' >"$dir/script"
echo "rest of stdin" >>"$dir/script"
real_ssh -T far <"$dir/script" >"$dir/wanted" 2>/dev/null
status 5 shim -T far <"$dir/script"
same_file "the shell's output" "$dir/wanted" "$dir/out"
grep -q login "$dir/out" || fail "no login shell"

step "stdin arrives, and its end"
printf 'c\na\nb\n' | status 0 shim far sort
out_is $'a\nb\nc'

step "few descriptors: fewer channels, and no other end"
(ulimit -n 10; status 3 shim far "cat; exit 3" <"$dir/script"; same_file stdout "$dir/script" "$dir/out"; err_is "") || exit 1
printf '#!/bin/sh\nulimit -n 40\nexec %s "$@"\n' "$MCDTP_BIN/mcdtp-server" >"$dir/few"
chmod +x "$dir/few"
held_until "channel 0: proved"
(ulimit -n 40; status 3 shim -v -c 64 far "cat; $held; exit 3" <"$dir/script") || exit 1
same_file "the client's" "$dir/script" "$dir/out"
held_until "channel 0: proved"
status 3 shim -v -c 64 --server "$dir/few" far "cat; $held; exit 3" <"$dir/script"
same_file "the server's" "$dir/script" "$dir/out"
nothing_left
passed
