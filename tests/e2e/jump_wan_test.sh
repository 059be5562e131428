#!/bin/bash
# A target that only the jump host can reach: all stays on the SSH connection, which our channels carry to the jump host. Where
# the client has a way to it of its own, UDP takes that way.
. "$(dirname "$0")/lib.sh"
e2e_start_far --delay 5
wan_far ip addr add 10.88.0.2/32 dev lo || exit 1
SSHD_NETNS=$WAN_FAR sshd_start "$dir/target" 10.88.0.2 "$(e2e_set_env)" || exit 1
trap 'sshd_stop "$dir/target"; e2e_clean' EXIT
{
  cat "$dir/target/ssh_config"
  echo "  ProxyJump jump"
  sed 's/^Host far$/Host jump/' "$dir/sshd/ssh_config"
} >"$dir/config"
e2e_config=$dir/config
. "$e2e_here/both_ways.sh"
jumps() { grep -c 'Accepted publickey' "$dir/sshd/sshd.log"; }

# The log-in at the jump host is one.
by_one_jump() { # LINE...
  local before
  before=$(jumps)
  both_ways "$@"
  same "log-ins at the jump host" $((before + 1)) "$(jumps)"
}
on_ssh_alone() {
  by_one_jump "^mcdtp-shim: no answer by UDP: the stream goes over the SSH connection" \
    "^mcdtp-shim (jump): channel 0: proved, UDP to 10.77.0.2"
  has "^mcdtp-shim: .*: proved, UDP" && fail "UDP was proved"
  has "^mcdtp-shim: .*direct TCP" && fail "TCP was direct"
  # A command that is over ends the run, whatever is still being tried.
  status 3 shim far 'echo out; echo err >&2; exit 3' </dev/null
  out_is out && err_is err
}

step "no route to the target"
on_ssh_alone

step "whatever goes to the target directly vanishes"
wan_near ip route add 10.88.0.2 dev wan0 || fail "no route"
if wan_far sh -c 'ip rule add pref 10 lookup local && ip rule del pref 0 &&
    ip rule add pref 5 iif wan0 to 10.88.0.2 blackhole' 2>/dev/null; then
  on_ssh_alone
  wan_far ip rule del pref 5
else
  echo "not tried: this kernel has no rules for routes"
fi

step "the client reaches the target too, by another way than ssh"
by_one_jump "^mcdtp-shim: channel 0: proved, UDP to 10.88.0.2" "$direct_tcp"
nothing_left
passed
