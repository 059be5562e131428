#!/bin/bash
# What libssh2 cannot do costs nothing but itself: each sshd here has one peculiarity, and the run is by libssh2, or by
# ssh at once, or by ssh after one connection that came to nothing; never is a person asked twice. What libssh2 itself
# decides is in libssh2_test.sh.
. "$(dirname "$0")/lib.sh"
e2e_directory
unset SSH_AUTH_SOCK
far=$dir/far
new_key() { ssh-keygen -q -N "${3-}" -C '' -t "$2" -f "$dir/$1" || fail "no key"; }
new_key rsa rsa
new_key host_rsa rsa
new_key authority ed25519
new_key encrypted ed25519 secret
version=$(sed -n 's/.*LIBSSH2_VERSION  *"\([0-9.]*\).*/\1/p' /usr/include/libssh2.h)
is_old() { [ "$version" = 1.10.0 ]; }

start() { # [LINE...]: an sshd of its own, and its log begins anew
  sshd_stop "$far"
  sshd_start "$far" 127.0.0.1 "$(e2e_set_env)" "LogLevel VERBOSE" "$@" || exit 1
  cat "$dir/rsa.pub" "$dir/encrypted.pub" >>"$far/authorized_keys"
  e2e_config=$far/ssh_config
  at=$(cut -d' ' -f1 "$far/known_hosts")
}
connections() { grep -c '^Connection from' "$far/sshd.log"; }
# logs_in BACKEND CONNECTIONS [OPTION...]: as ssh does, of whose connections are as many as of ours, or one less
logs_in() {
  local backend=$1 wanted=$2 before
  shift 2
  status 6 real_ssh "$@" far 'echo there; exit 6' </dev/null
  before=$(connections)
  status 6 shim -v "$@" far 'cat; echo there; exit 6' < <(echo bytes)
  out_is $'bytes\nthere'
  err_has "^mcdtp-shim: backend: $backend\$"
  same "connections" "$wanted" $(($(connections) - before))
}
refused() { # PATTERN: ssh refuses, and so do we, in its words
  real_ssh far true </dev/null 2>"$dir/wanted"
  status 255 shim far 'touch "$HOME/none"' </dev/null
  out_is "" && err_has "$1"
  same_file "stderr" "$dir/wanted" "$dir/err"
}
# by_version BACKEND-OF-1.10 CONNECTIONS: later ones can
by_version() { if is_old; then logs_in "$@"; else logs_in libssh2 1 "${@:3}"; fi; }

step "plain"
start
logs_in libssh2 1

step "what ssh says of a log-in"
logs_in ssh 1 -oVisualHostKey=yes
logs_in ssh 1 -oLogVerbose=none:none:0
status 6 shim -oLogLevel=VERBOSE far 'exit 6' </dev/null
err_has "^Authenticated to " && err_has "^Transferred: "
! grep -q Killed "$dir/err" || fail "it is ended by a signal"

step "a folder among the known hosts"
logs_in ssh 1 "-oGlobalKnownHostsFile=/nonexistent $dir"

step "an RSA key of the user"
by_version ssh 1 -i "$dir/rsa" -oIdentitiesOnly=yes

step "a key that is not there: ssh warns of it"
logs_in ssh 1 -i "$dir/none"
err_has "^Warning: Identity file $dir/none not accessible: No such file or directory\.$"
sed -i "s|^\( *\)IdentityFile .*|\1IdentityFile $dir/none\n&|" "$far/ssh_config"
logs_in ssh 1
err_has "^no such identity: $dir/none: No such file or directory"
step "and says nothing where another one comes first"
grep -v "IdentityFile $dir/none" "$far/ssh_config" >"$dir/config" && cp "$dir/config" "$far/ssh_config"
sed -i "s|^\( *\)IdentityFile .*|&\n\1IdentityFile $dir/none|" "$far/ssh_config"
logs_in libssh2 1
! grep -q "no such identity" "$dir/err" || fail "a key that nobody came to is missed"

step "an RSA host key alone"
start "HostKey $dir/host_rsa" "HostKeyAlgorithms rsa-sha2-512,rsa-sha2-256"
echo "$at $(cut -d' ' -f1,2 "$dir/host_rsa.pub")" >"$far/known_hosts"
by_version ssh 1
# Known by the other key, the host cannot be told at first sight: libssh2 asks for what is known, and nobody has it.
step "an RSA host key where another is known"
sshd_keys "$far"
echo "$at $(cut -d' ' -f1,2 "$far/host_key.pub")" >"$far/known_hosts"
refused "IDENTIFICATION HAS CHANGED"

step "MACs of the ETM kind alone"
start "MACs hmac-sha2-256-etm@openssh.com,umac-128-etm@openssh.com" "Ciphers aes128-ctr,aes256-ctr"
by_version ssh 2

step "ciphers with their own authentication alone"
start "Ciphers chacha20-poly1305@openssh.com,aes128-gcm@openssh.com,aes256-gcm@openssh.com"
by_version ssh 2

step "a certificate of the user, and none"
start "TrustedUserCAKeys $dir/authority.pub" "AuthorizedKeysFile none"
ssh-keygen -q -s "$dir/authority" -I user -n "$(id -un)" "$far/user_key.pub" 2>/dev/null || fail "no certificate"
logs_in ssh 1
rm "$far/user_key-cert.pub"
refused "Permission denied"

step "a certificate of the host"
start
cp "$far/host_key.pub" "$dir/host.pub"
ssh-keygen -q -s "$dir/authority" -I host -h -n 127.0.0.1 "$dir/host.pub" 2>/dev/null || fail "no certificate"
start "HostCertificate $dir/host-cert.pub"
echo "@cert-authority 127.0.0.1,$at $(cut -d' ' -f1,2 "$dir/authority.pub")" >"$far/known_hosts"
logs_in ssh 1

step "known hosts: hashed, revoked"
start
ssh-keygen -q -H -f "$far/known_hosts" >/dev/null 2>&1
grep -q '^|1|' "$far/known_hosts" || fail "not hashed"
logs_in libssh2 1
echo "@revoked * $(cut -d' ' -f1,2 "$far/host_key.pub")" >>"$far/known_hosts"
refused "REVOKED HOST KEY"

# SSH_ASKPASS stands in for the person: a line for each question.
printf '#!/bin/sh\necho "$1" >>"%s"\necho "${E2E_ANSWER}"\n' "$dir/asked" >"$dir/askpass"
chmod +x "$dir/askpass"
export SSH_ASKPASS=$dir/askpass SSH_ASKPASS_REQUIRE=force DISPLAY=:none
asked() { cat "$dir/asked" 2>/dev/null | wc -l; }
sed_config() { sed -i "s|BatchMode yes|BatchMode no|; s|IdentityFile .*|IdentityFile $1|" "$far/ssh_config"; }

step "an encrypted key: its words are asked for once"
start
sed_config "$dir/encrypted"
E2E_ANSWER=secret status 6 shim -v far 'exit 6' </dev/null
err_has "^mcdtp-shim: backend: ssh"
same "questions" 1 "$(asked)"

step "a key that is refused, and then a password: asked for as often as by ssh"
start "AuthenticationMethods any" "PasswordAuthentication yes" "KbdInteractiveAuthentication no"
new_key stranger ed25519
sed_config "$dir/stranger"
rm -f "$dir/asked"
E2E_ANSWER=wrong status 255 real_ssh -oNumberOfPasswordPrompts=1 far true </dev/null
wanted=$(asked)
[ "$wanted" -gt 0 ] || fail "ssh does not ask"
rm "$dir/asked"
before=$(connections)
E2E_ANSWER=wrong status 255 shim -v -oNumberOfPasswordPrompts=1 far true </dev/null
same "questions" "$wanted" "$(asked)"
same "connections: one without a question, and ssh's" 2 $(($(connections) - before))
same "refusals that are said" 1 "$(grep -c 'Permission denied' "$dir/err")"

step "an agent that forwards, by the configuration"
start
sed_config "$far/user_key"
eval "$(ssh-agent -s)" >/dev/null
ssh-add -q "$far/user_key" 2>/dev/null
echo "  ForwardAgent yes" >>"$far/ssh_config"
(status 0 shim far 'ssh-add -l' </dev/null)
kill "$SSH_AGENT_PID"
[ -s "$dir/out" ] || fail "no agent"
nothing_left
passed
