#!/bin/bash
# SendEnv and SetEnv reach the far command whatever its sshd accepts; their values stand in nobody's list of processes,
# and cost nothing where there are none.
. "$(dirname "$0")/lib.sh"
e2e_start
seven=sev=en-$$ # no other run's
cat "$e2e_config" - >"$dir/config" <<END
  SendEnv E2E_SENT* LC_*
  SetEnv E2E_SET=$seven E2E_SENT_TWO=set
END
e2e_config=$dir/config
export E2E_SENT_ONE=$'a  "b"\n\'c\' $x' E2E_SENT_TWO=sent LC_E2E=plain E2E_KEPT=kept
value() { tr '\0' '\n' <"$dir/out" | sed -n "s/^$1=//p"; }

# WAY [OPTION...]
all_arrive() {
  status 0 shim -v --bootstrap "$@" far 'env -0' </dev/null
  err_has "^mcdtp-shim: backend: $1"
  variables=() && mapfile -d '' variables <"$dir/out"
  [[ $(printf '%s\1' "${variables[@]}") == *$'\1'"E2E_SENT_ONE=$E2E_SENT_ONE"$'\1'* ]] || fail "E2E_SENT_ONE is not what it was"
  same "SetEnv" "$seven" "$(value E2E_SET)"
  same "SetEnv beside SendEnv" set "$(value E2E_SENT_TWO)"
  same "what rides along" plain "$(value LC_E2E)"
  same "what nobody sends" "" "$(value E2E_KEPT)"
}
for way in libssh2 ssh; do
  step "all of them, byte for byte, by $way"
  all_arrive "$way"
  step "where there is no server, by $way"
  all_arrive "$way" --server /nonexistent
  printf 'the input' | status 0 shim --bootstrap "$way" --server /nonexistent far cat
  out_is "the input"
done

step "what the far side sets itself is its own"
far_own='echo "$HOME $PATH $USER $LOGNAME $SHELL $SSH_TTY"'
real_ssh far "$far_own" </dev/null >"$dir/theirs" || fail "ssh"
for server in "$MCDTP_BIN/mcdtp-server" /nonexistent; do
  USER=nobody LOGNAME=nobody SSH_TTY=/dev/null status 0 shim -q --server "$server" -oSendEnv='*' -oSetEnv=PATH=/nowhere far "$far_own" </dev/null
  same_file "$server" "$dir/theirs" "$dir/out"
done

step "a function of bash's, as ssh sends it"
e2e_said() { echo "said $1"; }
export -f e2e_said
for sent in 'BASH_FUNC_*' '*'; do
  status 0 shim -v -oSendEnv="$sent" far 'tr "\0" "\n" </proc/$$/environ | grep -A 2 "^BASH_FUNC_e2e_said"' </dev/null
  err_has "^mcdtp-shim: backend"
  same "the function" "BASH_FUNC_e2e_said%%=$(env -0 | tr '\0' '\n' | sed -n 's/^BASH_FUNC_e2e_said%%=//p')" "$(sed 1q "$dir/out")"
done
step "and left out where there is no server to take it"
status 0 shim -q -oSendEnv='BASH_FUNC_*' --server /nonexistent far 'echo "$E2E_SET"' </dev/null
out_is "$seven" && err_is ""
unset -f e2e_said

step "stdin begins after them"
pattern 100000 >"$dir/bytes"
status 0 shim far cat <"$dir/bytes"
same_file "through cat" "$dir/bytes" "$dir/out"

step "no process has them among its words"
# Others end while they are listed.
status 0 shim far 'cat /proc/[0-9]*/cmdline 2>/dev/null; true' </dev/null
grep -qa -- --ask-env "$dir/out" || fail "the server's words are not there"
! grep -qa -f - "$dir/out" <<<"$seven" || fail "a value is there"

step "nothing is asked where there is nothing to send"
e2e_config=$dir/sshd/ssh_config
status 0 shim far 'tr "\0" " " </proc/$PPID/cmdline' </dev/null
! grep -q -- --ask-env "$dir/out" || fail "asked all the same"

step "a forced command takes the harmless ones alone"
e2e_config=$dir/config
echo "command=\"$MCDTP_BIN/mcdtp-server --forced 'env -0'\" $(cat "$dir/sshd/user_key.pub")" >"$dir/sshd/authorized_keys"
status 0 shim -oSetEnv="BASH_ENV=/evil LC_TOLD=yes SSH_ORIGINAL_COMMAND=evil" far 'the command' </dev/null
same "a harmless one" yes "$(value LC_TOLD)"
same "another" "" "$(value BASH_ENV)"
same "the command asked for" "the command" "$(value SSH_ORIGINAL_COMMAND)"
nothing_left
passed
