#!/bin/bash
# A jump host with an mcdtp-server carries the SSH connection on our channels; one without is ssh's affair, and costs a log-in
# more once. Nothing is asked twice, and nothing said.
. "$(dirname "$0")/lib.sh"
e2e_start
gate=$dir/gate
gate_start() { # [LINE...]: of its sshd_config; a fresh log
  sshd_stop "$gate" 2>/dev/null
  sshd_start "$gate" 127.0.0.1 "$@" || exit 1
  sed 's/^Host far$/Host gate/' "$gate/ssh_config" >"$dir/gate_config"
  { cat "$dir/sshd/ssh_config"; echo "  ProxyJump gate"; cat "$dir/gate_config"; } >"$dir/config"
  rm -rf "$dir/cache"
}
trap 'sshd_stop "$gate"; e2e_clean' EXIT
gate_logins() { grep -c 'Accepted publickey' "$gate/sshd.log"; }
pattern 1000000 >"$dir/bytes"
# Bytes both ways, by so many log-ins at the gate; what is said is in $dir/err.
over_gate() { # LOGINS [OPTION...]
  local wanted=$1 before
  shift
  before=$(gate_logins)
  status 3 bounded "$SHIM" -F "$dir/config" "$@" far 'cat; echo err >&2; exit 3' <"$dir/bytes"
  same_file "through cat" "$dir/bytes" "$dir/out"
  same "log-ins at the gate" "$((before + wanted))" "$(gate_logins)"
}
by_relay="^mcdtp-shim (gate): channel 0: proved, UDP to 127.0.0.1"
by_ssh="^mcdtp-shim (gate): going on as ssh"
remembered() { cat "$dir"/cache/mcdtp/relay/* 2>/dev/null; }

step "a jump host with a server"
gate_start
over_gate 1 -v
err_has "$by_relay"
over_gate 1
err_is err
remembered | grep -q '^[0-9]* sure [0-9]*$' || fail "not remembered: $(remembered)"

step "-J on the command line, and other options beside it"
{ cat "$dir/sshd/ssh_config" "$dir/gate_config"; } >"$dir/config"
over_gate 1 -v -c 2 -J gate
err_has "$by_relay"
err_has "^mcdtp-shim (gate): channel 1: proved"
err_lacks "^mcdtp-shim (gate): channel 2:"
over_gate 1 -qJgate
err_is err

step "two jump hosts, of which one leads to the other"
{ sed 's/^Host gate$/Host two/' "$dir/gate_config"; cat "$dir/config"; } >"$dir/two_config"
cp "$dir/two_config" "$dir/config"
over_gate 2 -v -J gate,two
err_has "$by_relay"
err_has "^mcdtp-shim (two): channel 0: proved"

step "a host that is its own jump host is an error, as with ssh"
status 255 bounded "$SHIM" -F "$dir/config" -p 77 -J 127.0.0.1:77 127.0.0.1 true </dev/null
err_has "jumphost loop via 127.0.0.1"

step "--transport ssh is ssh alone; ssh -J by another master is that master's"
gate_start
over_gate 1 -v --transport ssh
err_lacks "^mcdtp-shim (gate)"
e2e_config=$dir/config
before=$(gate_logins)
start_master "$dir/master"
over_gate 0 -v -oControlPath="$dir/master"
err_lacks "^mcdtp-shim (gate)"
real_ssh -O exit -oControlPath="$dir/master" far 2>/dev/null
same "log-ins" $((before + 1)) "$(gate_logins)"

step "what was once begun and never told how it went is not begun again soon"
gate_start
mkdir -p "$dir/cache/mcdtp/relay"
over_gate 1
name=$(basename "$dir"/cache/mcdtp/relay/*)
echo "$(($(date +%s) + 3600))" >"$dir/cache/mcdtp/relay/$name"
over_gate 1 -v
err_has "$by_ssh: it carried none of ours of late, says .*$name"
status 0 bounded "$SHIM" -F "$dir/config" gate true </dev/null
[ -z "$(remembered)" ] || fail "a server was seen, and the doubt stays: $(remembered)"

step "no place to remember it: no attempt"
XDG_CACHE_HOME=/dev/null/none over_gate 1 -v
err_has "$by_ssh: how that goes cannot be remembered"

step "a jump host without a server: once a log-in more"
SSHD_PATH=/nowhere gate_start
over_gate 2
err_is err
over_gate 1
err_is err

step "a jump host that lets nobody run a command"
gate_start 'ForceCommand echo Not here.; echo Nor here. >&2; exit 1'
over_gate 2
err_is err
over_gate 1
err_is err

step "... where the command waits for an answer"
gate_start 'ForceCommand read answer; echo "$answer"'
over_gate 2
err_is err
over_gate 1
err_is err

step "a jump host whose server forwards nothing, though its sshd does"
mkdir "$dir/strict"
strict_server() { # [OPTION]
  printf '#!/bin/sh\nexec "%s" %s "$@"\n' "$MCDTP_BIN/mcdtp-server" "${1-}" >"$dir/strict/mcdtp-server"
  chmod +x "$dir/strict/mcdtp-server"
}
strict_server --no-forwards
SSHD_PATH=$dir/strict gate_start
over_gate 2 -v
err_has "^mcdtp-shim (gate): going on as ssh: the jump host's server forwards nothing$"
over_gate 1
err_is err

step "... and has forwarded before: one run fails"
strict_server
SSHD_PATH=$dir/strict gate_start
over_gate 1 -v
err_has "$by_relay"
strict_server --no-forwards
status 255 bounded "$SHIM" -F "$dir/config" far true </dev/null
err_has "stdio forwarding failed"
over_gate 1
err_is err

step "a key that wants a passphrase is asked for once"
gate_start
ssh-keygen -q -p -f "$gate/user_key" -N secret >/dev/null
printf '#!/bin/sh\necho asked >>"%s"\necho secret\n' "$dir/asked" >"$dir/askpass"
chmod +x "$dir/askpass"
sed -i '/^Host gate/,$ s/BatchMode yes/BatchMode no/' "$dir/config"
export SSH_ASKPASS=$dir/askpass SSH_ASKPASS_REQUIRE=force DISPLAY=none
over_gate 1
err_is err
same "questions" asked "$(cat "$dir/asked")"

step "a jump host that lets nobody in, and one that is down"
: >"$gate/authorized_keys"
gate_start
: >"$gate/authorized_keys"
status 255 bounded "$SHIM" -F "$dir/config" far true </dev/null
same "said once" 1 "$(grep -c 'Permission denied' "$dir/err")"
sshd_stop "$gate"
rm -rf "$dir/cache"
status 255 bounded "$SHIM" -F "$dir/config" far true </dev/null
same "said once" 1 "$(grep -c 'Connection refused' "$dir/err")"

step "whoever is killed leaves nothing"
rm -f "$gate"/*_key "$gate"/*_key.pub
gate_start "$(e2e_set_env)"
e2e_config=$dir/config
relay_pid() { local pid; for pid in $(near_processes); do grep -qz -- --relay "/proc/$pid/cmdline" && echo "$pid" && break; done; }
for victim in client relay; do
  : >"$dir/err"
  shim_in_background -v far 'yes' </dev/null >/dev/null 2>"$dir/err" &
  pid=$!
  until_true grep -q "$by_relay" "$dir/err"
  until_true grep -q "^mcdtp-shim: the SSH channel carries packets" "$dir/err"
  [ $victim = client ] && kill -KILL "$pid" || kill -KILL "$(relay_pid)"
  wait "$pid" 2>/dev/null
  until_true no_near_processes
  nothing_left
done
passed
