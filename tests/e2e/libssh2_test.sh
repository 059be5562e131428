#!/bin/bash
# Logins by libssh2: what it takes on, what it leaves to ssh and why, and that a channel of it behaves as ssh's does.
# tests/e2e/libssh2_login.cpp is the program that runs them.
here=$(cd "$(dirname "$0")" && pwd)
. "$here/../wan/plain.sh"
. "$here/../wan/sshd.sh"
login=${MCDTP_BIN:-$here/../../build/bin}/libssh2-login
[ -x "$login" ] || { echo "skipped: no $login"; exit 77; }
dir=$(mktemp -d)
far=$dir/far
agent=
unset SSH_AUTH_SOCK
trap 'sshd_stop "$far"; [ -z "$agent" ] || kill "$agent"; rm -rf "$dir"' EXIT

case=
fail() { echo "FAILED: $case: $*"; cat "$dir/stderr" 2>/dev/null; exit 1; }
start() {
  sshd_stop "$far"
  sshd_start "$far" 127.0.0.1 "$@" || exit 1
  cat "$dir"/*.pub >>"$far/authorized_keys" 2>/dev/null
  cp "$far/known_hosts" "$dir/known"
  name=$(cut -d' ' -f1 "$dir/known")
  port=${name##*:}
  key=$(cut -d' ' -f2,3 "$dir/known")
}
# run [OPTION...] EXEC-LINE: leaves its outputs in $dir/stdout and $dir/stderr, its status in $status.
run() {
  timeout 100 "$login" -F "$far/ssh_config" "${@:1:$#-1}" far "${!#}" >"$dir/stdout" 2>"$dir/stderr"
  status=$?
  [ $status -ne 124 ] || fail "hangs"
}
by_libssh2() { case=$1; run "${@:2}" 'echo there' </dev/null
  [ $status -eq 0 ] && grep -qx 'libssh2: 127.0.0.1' "$dir/stderr" && [ "$(cat "$dir/stdout")" = there ] || fail "not by libssh2"; }
# by_ssh CASE REASON [OPTION...]
by_ssh() { case=$1; run "${@:3}" 'echo there' </dev/null
  [ $status -eq 77 ] && grep -q "^ssh: .*$2" "$dir/stderr" && [ ! -s "$dir/stdout" ] || fail "expected: ssh: $2"; }
known() { printf '%s\n' "$@" >"$far/known_hosts"; }
new_key() { ssh-keygen -q -N '' -C '' "${@:2}" -f "$dir/$1" || exit 1; }

new_key ed25519 -t ed25519
new_key other -t ed25519
new_key rsa -t rsa -b 2048
new_key ecdsa256 -t ecdsa -b 256
new_key ecdsa521 -t ecdsa -b 521
new_key pem -t ecdsa -b 384 -m PEM
new_key host_ecdsa -t ecdsa
new_key host_rsa -t rsa -b 2048
ssh-keygen -q -N secret -C '' -t ed25519 -f "$dir/encrypted"
rm "$dir/other.pub" # not authorized
start "HostKey $dir/host_ecdsa"

# Host keys.
by_libssh2 "known host"
known "# a comment" "nonsense" "$name ssh-ed25519 AAAA!" "$(cat "$dir/known")"
by_libssh2 "malformed lines"
cp "$dir/known" "$far/known_hosts"
ssh-keygen -q -H -f "$far/known_hosts" >/dev/null 2>&1
grep -q '^|1|' "$far/known_hosts" || fail "not hashed"
by_libssh2 "hashed name"
known "[127.0.*.?]:$port $key"
by_libssh2 "wildcards"
known "!$name,* $key"
by_ssh "negated name" "no host key"
known "127.0.0.1 $key"
by_ssh "another port" "no host key"
known
by_ssh "unknown host" "no host key of .* is known"
known "$name $(cut -d' ' -f1,2 "$dir/ed25519.pub")"
by_ssh "changed host key" "host key of .* is not the one known"
known "$name $key" "@revoked * $key"
by_ssh "revoked host key" "host key of .* is revoked"
known "@revoked * $(cut -d' ' -f1,2 "$dir/ed25519.pub")" "$name $key"
by_libssh2 "another host key revoked"
known "$name $key" "@cert-authority * $key"
by_ssh "certificate authority" "@cert-authority"
known "$name $(cut -d' ' -f1,2 "$dir/host_rsa.pub")"
by_ssh "RSA host key" "type for libssh2"
known "$name $(cut -d' ' -f1,2 "$dir/host_ecdsa.pub")"
by_libssh2 "ECDSA host key"
known "alias $key"
by_libssh2 "alias of the host" -oHostKeyAlias=alias
cp "$dir/known" "$far/known_hosts"

# User keys. -oIdentityFile on the command line comes before that of the file.
cp "$far/user_key" "$dir/held_back"
sed -i "s|IdentityFile .*|IdentityFile none|" "$far/ssh_config"
by_ssh "no key" "no agent and no key"
by_ssh "a key that is not there" "the key $dir/none comes first, which is not there" -oIdentityFile="$dir/none"
for each in ed25519 ecdsa256 ecdsa521 pem; do by_libssh2 "$each" -i "$dir/$each"; done
by_ssh "RSA key" "which is of type ssh-rsa" -i "$dir/rsa"
by_ssh "RSA key first" "which is of type ssh-rsa" -i "$dir/rsa" -i "$dir/ed25519"
by_ssh "encrypted key" "which is encrypted" -i "$dir/encrypted"
by_libssh2 "encrypted key last" -i "$dir/ed25519" -i "$dir/encrypted"
by_ssh "refused key" "log in with the keys" -i "$dir/other"
by_libssh2 "refused key first" -i "$dir/other" -i "$dir/ed25519"
by_ssh "refused key, then an encrypted one" "which is encrypted" -i "$dir/other" -i "$dir/encrypted"
chmod 644 "$dir/ed25519"
by_ssh "key open to others" "open to others" -i "$dir/ed25519"
chmod 600 "$dir/ed25519"
touch "$dir/ed25519-cert.pub"
by_ssh "certificate" "certificate for the key" -i "$dir/ed25519"
rm "$dir/ed25519-cert.pub"

eval "$(ssh-agent -s)" >/dev/null
agent=$SSH_AGENT_PID
by_ssh "empty agent" "there is no key" -oIdentitiesOnly=no
ssh-add -q "$dir/ed25519" 2>/dev/null
by_libssh2 "agent" -oIdentitiesOnly=no
by_ssh "agent's key not named" "there is no key"
by_ssh "no agent wanted" "no agent and no key" -oIdentitiesOnly=no -oIdentityAgent=none
mv "$dir/ed25519" "$dir/away"
by_libssh2 "agent's key named by its public half" -oIdentityFile="$dir/ed25519"
mv "$dir/away" "$dir/ed25519"
ssh-add -q -D
ssh-add -q "$dir/rsa" "$dir/ecdsa256" 2>/dev/null
by_ssh "RSA key in the agent" "a key of the agent comes first, which is of type ssh-rsa" -oIdentitiesOnly=no
by_libssh2 "the agent's key that is named" -i "$dir/ecdsa256"
SSH_AUTH_SOCK=$dir/nobody by_libssh2 "no agent there" -i "$dir/ed25519"
unset SSH_AUTH_SOCK
sed -i "s|IdentityFile .*|IdentityFile $dir/held_back|" "$far/ssh_config"

# What only ssh can do.
by_ssh "ProxyJump" proxyjump -J elsewhere
by_ssh "ProxyCommand" proxycommand -oProxyCommand='nc %h %p'
by_libssh2 "SetEnv" -oSetEnv=A=b
TOKEN=x by_libssh2 "SendEnv" -oSendEnv='TOK*'
touch "$dir/control"
by_ssh "ControlPath in use" controlpath -oControlPath="$dir/control"
by_libssh2 "ControlPath not in use" -oControlPath="$dir/no-control"
by_ssh "passwords first" "prefers password" -oPreferredAuthentications=password,publickey
by_ssh "bad option" "does not take" -oNoSuchOption=yes
by_ssh "no common cipher" "knows no cipher" -oCiphers=chacha20-poly1305@openssh.com
known "alias $key"
by_ssh "nobody listens" "connect to 127.0.0.1 port 1: Connection refused" -oPort=1 -oHostKeyAlias=alias
by_ssh "no such host" "connect to no.such.invalid" -oHostName=no.such.invalid -oHostKeyAlias=alias
cp "$dir/known" "$far/known_hosts"
case="long exec line"
run "echo $(printf '%040000d' 0)" </dev/null
[ $status -eq 77 ] && grep -q "too long" "$dir/stderr" || fail "status $status"
case="no ssh to ask"
mkdir -p "$dir/empty"
(PATH=$dir/empty "$login" -p "$port" 127.0.0.1 true </dev/null 2>"$dir/stderr")
grep -qx 'no ssh' "$dir/stderr" && grep -q "^ssh: " "$dir/stderr" || fail "it needs ssh"

# The channel is as ssh's.
case="exit status"
for want in 0 7 255; do run "exit $want" </dev/null; [ $status -eq $want ] || fail "$status, not $want"; done
case="death by signal"
run 'kill -KILL $$' </dev/null
[ $status -eq 255 ] || fail "$status"
case="stderr apart"
run 'head -c 10000000 /dev/zero | tr "\0" e >&2 & head -c 10000000 /dev/zero | tr "\0" o; wait; exit 3' </dev/null
[ $status -eq 3 ] && [ "$(tr -d o <"$dir/stdout" | wc -c)" -eq 0 ] && [ "$(wc -c <"$dir/stdout")" -eq 10000000 ] &&
  [ "$(tr -cd e <"$dir/stderr" | wc -c)" -ge 10000000 ] || fail "status $status"
case="half-close"
printf '2\n1\n' >"$dir/lines"
run 'sort; echo end' <"$dir/lines"
[ "$(tr '\n' ' ' <"$dir/stdout")" = "1 2 end " ] || fail "$(cat "$dir/stdout")"
case="far side closes first"
mkfifo "$dir/up"
timeout 100 "$login" -F "$far/ssh_config" far "exec >&- 2>&-; cat >'$dir/late'" <"$dir/up" >/dev/null 2>&1 &
waiting=$!
exec 8>"$dir/up"
echo early >&8
for i in {1..10000}; do grep -q early "$dir/late" 2>/dev/null && break; sleep 0.01; done
echo after >&8
exec 8>&-
wait "$waiting"
[ "$(tr '\n' ' ' <"$dir/late")" = "early after " ] || fail "stdin ended with stdout"
case="nobody reads"
timeout 60 "$login" -F "$far/ssh_config" far 'yes & sleep 0.3; kill $!; exit 4' </dev/null 2>/dev/null | head -c 1 >/dev/null
[ "${PIPESTATUS[0]}" -eq 4 ] || fail "status ${PIPESTATUS[0]}"

case="ends with its parent"
mkfifo "$dir/held"
exec 7<>"$dir/held"
"$login" -F "$far/ssh_config" far "echo up >'$dir/mark'; cat" <&7 >/dev/null 2>&1 &
parent=$!
for i in {1..10000}; do [ -s "$dir/mark" ] && break; sleep 0.01; done
child=$(cat "/proc/$parent/task/"*/children | cut -d' ' -f1)
[ -n "$child" ] || fail "no child"
kill -KILL "$parent"
wait "$parent" 2>/dev/null
lives() { readlink "/proc/$1/exe" >/dev/null; } # who has ended, and is not waited for by whoever has it now, does not
for i in {1..10000}; do lives "$child" || break; sleep 0.01; done
lives "$child" && fail "process $child lives on"
exec 7>&-

# What 1.10 cannot agree on. A later libssh2 can.
start 'MACs hmac-sha2-256-etm@openssh.com'
run true </dev/null
case="ETM MACs only"
[ $status -eq 0 ] || grep -q '^ssh: agree on keys' "$dir/stderr" || fail "status $status"
start 'Ciphers chacha20-poly1305@openssh.com'
run true </dev/null
case="ChaCha20 only"
[ $status -eq 0 ] || grep -q '^ssh: agree on keys' "$dir/stderr" || fail "status $status"
start 'MaxSessions 0'
case="no channel" # ssh says what there is to say
run true </dev/null
[ $status -eq 254 ] && [ "$(cat "$dir/stderr")" = "libssh2: 127.0.0.1" ] || fail "status $status"
start 'ChannelTimeout session:*=1'
case="closed without exit status"
run 'sleep 60' </dev/null
[ $status -eq 255 ] || fail "$status"
start
case="connection lost"
run "kill -KILL \$PPID; sleep 60" </dev/null
[ $status -eq 255 ] && grep -q "the connection to .* ended: the far side has closed the connection" "$dir/stderr" || fail "$status"

# Both ways at once through a socket that takes little, while the far side asks for new keys again and again.
head -c 52428800 /dev/urandom >"$dir/bytes"
start 'RekeyLimit 1M' 'LogLevel DEBUG1'
case="slow link, both ways, new keys"
SNDBUF=8192 run cat <"$dir/bytes"
[ $status -eq 0 ] && cmp "$dir/bytes" "$dir/stdout" || fail "status $status"
[ "$(grep -c 'SSH2_MSG_KEXINIT received' "$far/sshd.log")" -gt 20 ] || fail "no new keys"
echo passed
