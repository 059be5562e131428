#!/bin/bash
# The way to the far host leads through another: ProxyJump and ProxyCommand are ssh's affair, UDP finds its own way.
. "$(dirname "$0")/lib.sh"
e2e_start
sshd_start "$dir/jump" 127.0.0.1 || exit 1
sed 's/^Host far$/Host jump/' "$dir/jump/ssh_config" >"$dir/jump_config"
trap 'sshd_stop "$dir/jump"; e2e_clean' EXIT
pattern 1000000 >"$dir/bytes"
jumps() { grep -c 'Accepted publickey' "$dir/jump/sshd.log"; }
through() { # LINE...: the configuration with these, and bytes both ways
  { cat "$dir/sshd/ssh_config"; printf '  %s\n' "$@"; cat "$dir/jump_config"; } >"$dir/config"
  local before
  before=$(jumps)
  held_until "proved, UDP to 127.0.0.1"
  status 3 bounded "$SHIM" -v -F "$dir/config" far "cat; $held; exit 3" <"$dir/bytes"
  same_file "through cat" "$dir/bytes" "$dir/out"
  err_has "^mcdtp-shim: backend: ssh"
  same "log-ins at the jump host" $((before + 1)) "$(jumps)"
}

step "ProxyJump"
through "ProxyJump jump"
step "ProxyCommand"
through "ProxyCommand ssh -F $dir/jump_config -W %h:%p jump"

step "called ssh, and so found in PATH by ssh itself"
mkdir "$dir/bin" && ln -s "$SHIM" "$dir/bin/ssh"
PATH=$dir/bin:$PATH through "ProxyJump jump"
PATH=$dir/bin:$PATH through "ProxyCommand ssh -F $dir/jump_config -W %h:%p jump"

step "-J on the command line"
{ cat "$dir/sshd/ssh_config" "$dir/jump_config"; } >"$dir/config"
status 0 bounded "$SHIM" -F "$dir/config" -J jump far 'echo out' </dev/null
out_is out && err_is ""

step "a jump host that lets nobody in"
: >"$dir/jump/authorized_keys"
{ cat "$dir/sshd/ssh_config"; echo "  ProxyJump jump"; cat "$dir/jump_config"; } >"$dir/config"
status 255 bounded "$SHIM" -F "$dir/config" far true </dev/null
out_is "" && err_has "Permission denied"

step "a master's connection carries the log-in, and UDP goes its own way"
e2e_config=$dir/sshd/ssh_config
start_master "$dir/master"
before=$(logins)
held_until "proved, UDP to 127.0.0.1"
status 4 shim -v -oControlPath="$dir/master" far "cat; $held; exit 4" <"$dir/bytes"
same_file "through cat" "$dir/bytes" "$dir/out"
same "log-ins" "$before" "$(logins)"
real_ssh -O exit -oControlPath="$dir/master" far 2>/dev/null
nothing_left
passed
