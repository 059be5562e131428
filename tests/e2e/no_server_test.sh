#!/bin/bash
# A far host without mcdtp-server: the command runs by plain ssh in the same log-in, and one line says so.
. "$(dirname "$0")/lib.sh"
for place in "$HOME/.local/bin" "$HOME/bin" /usr/local/bin /usr/bin /bin /opt/mcdtp/bin; do
  [ ! -e "$place/mcdtp-server" ] || skip "there is a server in $place"
done
e2e_directory
mkdir "$dir/home"
E2E_ENV="HOME=$dir/home" E2E_PATH=/usr/local/bin:/usr/bin:/bin e2e_start
line="mcdtp-shim: no mcdtp-server on far: going on over plain ssh"
logins() { grep -c 'Accepted publickey' "$dir/sshd/sshd.log"; }

step "status, streams and the line"
before=$(logins)
status 7 shim far 'echo out; echo err >&2; exit 7' </dev/null
out_is out && same "stderr" "err
$line" "$(sort "$dir/err")"
same "log-ins" $((before + 1)) "$(logins)"
status 0 shim -q far 'echo out' </dev/null
out_is out && err_is ""
status 255 shim -q far 'kill -TERM $$' </dev/null
status 127 shim -q far no-such-command-here </dev/null

step "bytes both ways, and both ends"
pattern 3000000 >"$dir/bytes"
status 0 shim -q far cat <"$dir/bytes"
same_file "through cat" "$dir/bytes" "$dir/out"
printf '2\n1\n' | status 0 shim -q far sort
out_is $'1\n2'
status 0 shim -n far 'cat; echo end' <"$dir/bytes"
out_is end
shim -q --bootstrap ssh far yes | head -n 1 >"$dir/out"
same "yes cut off here, its status" 255 "${PIPESTATUS[0]}"
out_is y
yes | status 0 shim -q far 'head -n 1'
out_is y
status 0 shim -q far 'sleep 0.5 && echo late & echo early' <&-
out_is $'early\nlate'

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

step "a subsystem goes to the real ssh"
echo "get $dir/bytes $dir/got" >"$dir/batch"
status 0 bounded sftp -q -b "$dir/batch" -F "$e2e_config" -S "$SHIM" far
same_file "sftp" "$dir/bytes" "$dir/got"

step "--server names it"
status 0 shim --server "$MCDTP_BIN/mcdtp-server" -v far 'echo out' </dev/null
out_is out && err_lacks "plain ssh"
status 0 shim --server "$dir/not there" far 'echo out' </dev/null
out_is out && err_is "$line"
nothing_left
passed
