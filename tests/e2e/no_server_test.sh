#!/bin/bash
# A far host without mcdtp-server: the command runs by plain ssh in the same log-in, and one line says so.
. "$(dirname "$0")/lib.sh"
for place in "$HOME/.local/bin" "$HOME/bin" /usr/local/bin /usr/bin /bin /opt/mcdtp/bin; do
  [ ! -e "$place/mcdtp-server" ] || skip "there is a server in $place"
done
E2E_PATH=/usr/local/bin:/usr/bin:/bin e2e_start
line="mcdtp-shim: no mcdtp-server on far: going on over plain ssh"
once=" (not said again for a day)"

step "status, streams and the line"
before=$(logins)
status 0 shim -q far 'echo out' </dev/null
out_is out && err_is ""
status 7 shim far 'echo out; echo err >&2; exit 7' </dev/null
out_is out && same "stderr" "err
$line$once" "$(sort "$dir/err")"
same "log-ins" $((before + 2)) "$(logins)"
status 0 shim far 'echo out' </dev/null
out_is out && err_is ""
status 0 shim -v far 'echo out' </dev/null
err_has "^$line$once\$"
XDG_CACHE_HOME=/dev/null/none status 0 shim far 'echo out' </dev/null
err_is "$line"
status 0 shim -q far 'echo out' </dev/null
out_is out && err_is ""
status 255 shim -q far 'kill -TERM $$' </dev/null
SHELL=/usr/sbin/nologin status 0 shim -q --bootstrap ssh far 'echo out' </dev/null # a service's: it speaks on stdout
out_is out && err_is ""
status 127 shim -q far no-such-command-here </dev/null

step "bytes both ways, and both ends"
pattern 3000000 >"$dir/bytes"
status 0 shim -q far cat <"$dir/bytes"
same_file "through cat" "$dir/bytes" "$dir/out"
printf '2\n1\n' | status 0 shim -q far sort
out_is $'1\n2'
status 0 shim -n far 'cat; echo end' <"$dir/bytes"
out_is end
for backend in ssh libssh2; do
  shim -q --bootstrap "$backend" far yes | head -n 1 >"$dir/out"
  same "yes cut off here, its status by $backend" 255 "${PIPESTATUS[0]}"
  out_is y
done
yes | status 0 shim -q far 'head -n 1'
out_is y
status 0 shim -q far 'while [ -e /proc/$$/exe ]; do sleep 0.05; done && echo late & echo early' <&-
out_is $'early\nlate'

step "stdin goes on where stdout has ended, on either side"
status 0 shim -q far "exec >&- 2>&-; sleep 0.3; cat >$dir/got" <"$dir/bytes"
same_file "after the command closed its stdout" "$dir/bytes" "$dir/got"
{ until_true test -e "$dir/unread"; cat "$dir/bytes"; } |
  shim -q far "yes 2>/dev/null | head -c 1000000; cat >$dir/got" |
  { head -n 1 >/dev/null; touch "$dir/unread"; }
same "statuses" "0 0 0" "${PIPESTATUS[*]}"
same_file "after nobody read our stdout" "$dir/bytes" "$dir/got"

step "a named pipe whose writer has gone"
mkfifo "$dir/named"
echo abc >"$dir/named" &
status 0 shim far cat <"$dir/named"
out_is abc

step "a full disk"
shim -q far 'echo lost' >/dev/full 2>"$dir/err" </dev/null
same "the status" 255 $?
err_is "mcdtp-shim: write standard output: No space left on device"

step "SIGTERM, and flags left as found"
mkfifo "$dir/stdin"
exec 8<>"$dir/stdin"
nonblocking() { (($(awk '/^flags/ { print $2 }' "/proc/$$/fdinfo/8") & 04000)); }
shim_in_background -q far 'echo up; cat' <&8 8>&- >"$dir/out" 2>"$dir/err" &
until_true grep -q up "$dir/out"
! nonblocking || fail "O_NONBLOCK is set on a pipe of others"
kill -TERM $!
wait $!
same "the status" 255 $?
! nonblocking || fail "O_NONBLOCK was left"
nothing_left
exec 8>&-

step "what start-up files print is as under ssh, and nothing of a shell of ours"
printf 'echo Welcome!; printf "no newline"\n' >"$dir/home/.bashrc"
printf 'echo Hello from here\n' >"$dir/bash_env"
real_ssh far 'echo out' </dev/null >"$dir/wanted"
grep -q Welcome "$dir/wanted" || echo "(this bash reads no .bashrc)"
for backend in ssh libssh2; do
  BASH_ENV=$dir/bash_env SHELL=$BASH status 0 shim -q --bootstrap "$backend" far 'echo out' </dev/null
  same_file "stdout by $backend" "$dir/wanted" "$dir/out"
done
rm "$dir/home/.bashrc"

step "the environment is ssh's"
export LC_E2E='a  b' LANG=C.UTF-8
environment() { "$@" far env </dev/null 2>/dev/null | sed 's/^\(SSH_CLIENT\|SSH_CONNECTION\)=\([^ ]* \)[0-9]*/\1=\2PORT/' | sort; }
printf '  SendEnv LANG LC_*\n' >>"$e2e_config"
diff <(environment real_ssh) <(environment shim) >&2 || fail "environments differ"
same "GIT_PROTOCOL" version=2 "$(GIT_PROTOCOL=version=2 shim -q -oSendEnv=GIT_PROTOCOL far 'echo $GIT_PROTOCOL' </dev/null)"

step "a login shell"
status 3 shim -q -T far < <(echo 'shopt -q login_shell && echo login; exit 3')
out_is login

step "rsync"
mkdir "$dir/tree"
for n in {1..20}; do pattern $((n * 999)) "$n" >"$dir/tree/$n"; done
status 0 bounded rsync -a --rsh="$SHIM -q -F $e2e_config" "$dir/tree/" "far:$dir/copy/"
diff -r "$dir/tree" "$dir/copy" >&2 || fail "the trees differ"

step "a subsystem goes to the real ssh, and from the second time on by one log-in"
echo "get $dir/bytes $dir/got" >"$dir/batch"
sftp_gets() {
  rm -f "$dir/got"
  status 0 bounded sftp -b "$dir/batch" -F "$e2e_config" -S "$SHIM" far
  same_file "sftp" "$dir/bytes" "$dir/got"
}
before=$(logins)
sftp_gets
err_is "mcdtp-shim: no mcdtp-server for subsystem sftp on far: going on over plain ssh$once"
same "log-ins" $((before + 2)) "$(logins)"
sftp_gets
same "log-ins" $((before + 3)) "$(logins)"
err_is ""
of_late=$(grep -l sftp "$XDG_CACHE_HOME"/mcdtp/no-server/*)
status 0 bounded "$SHIM" -v -F "$e2e_config" -s far sftp </dev/null
err_has "^mcdtp-shim: no mcdtp-server for subsystem sftp on far of late, says $of_late: going on over plain ssh$once\$"
status 3 shim -q far 'exit 3' </dev/null # which needs none
rm "$of_late"

step "forwards are the real ssh's, and the command runs once"
port=$(sed -n 's/^ *Port //p' "$e2e_config")
answers() { bash -c 'read -r -t 5 line <"/dev/tcp/127.0.0.1/$0" && [[ $line == SSH-* ]]' "$1" 2>/dev/null; }
near=$(free_port)
shim_in_background -N -L "$near:127.0.0.1:$port" far </dev/null >"$dir/out" 2>"$dir/err" &
forwarder=$!
until_true answers "$near"
same "the program" ssh "$(cat "/proc/$forwarder/comm")"
kill "$forwarder"
wait "$forwarder"
near=$(free_port)
before=$(logins)
status 3 shim -L "$near:127.0.0.1:$port" far "echo ran >>$dir/ran; cat; exit 3" < <(until_true answers "$near"; echo word)
out_is word
same "runs of the command" ran "$(cat "$dir/ran")"
same "log-ins" $((before + 1)) "$(logins)"
rm -f "$XDG_CACHE_HOME"/mcdtp/no-server/* # it finds out anew, with the socket open
for there in "$(free_port)" "$dir/near.sock"; do
  status 4 shim -oExitOnForwardFailure=yes -L "$there:127.0.0.1:$port" far "exit 4" </dev/null
  err_is "mcdtp-shim: no mcdtp-server for forwards on far: going on over plain ssh$once"
  rm "$XDG_CACHE_HOME"/mcdtp/no-server/*
done
shim -f -oExitOnForwardFailure=yes -L "$(free_port):127.0.0.1:$port" far "echo ran >>$dir/behind" </dev/null ||
  fail "-f: status $?"
until_true test -s "$dir/behind"
rm "$XDG_CACHE_HOME"/mcdtp/no-server/*
bounded "$SHIM" -F "$e2e_config" -W "127.0.0.1:$port" far </dev/null 2>"$dir/err" | head -c 4 >"$dir/out"
out_is "SSH-"

step "--server names it"
status 0 shim --server "$MCDTP_BIN/mcdtp-server" -v far 'echo out' </dev/null
out_is out && err_lacks "plain ssh"
status 0 shim --server "$dir/not there" far 'echo out' </dev/null
out_is out && err_is "$line"
nothing_left
passed
