#!/bin/bash
# A firewall before the server that lets in the SSH connection, and of UDP only what answers the server: UDP finds its way, for
# both ends send first. Where it does not the bytes go over the others.
. "$(dirname "$0")/lib.sh"
e2e_start_far --delay 5 --firewall
. "$e2e_here/both_ways.sh"

all_channels=("channel 0: proved" "channel 1: proved" "channel 2: proved" "channel 3: proved")
no_answer="no answer by UDP"

step "by libssh2"
# Who stands still for a second is told so: then there is another try.
for try in 1 2 3 4 5; do
  both_ways "${all_channels[@]}"
  has "$no_answer" || break
done
has "$no_answer" && fail "it takes too long"

step "by the real ssh"
options=(--bootstrap ssh)
both_ways "${all_channels[@]}"
options=()

step "by IPv6 as well"
sshd_stop "$dir/sshd"
SSHD_NETNS=$WAN_FAR sshd_start "$dir/sshd" fd77::2 "$(e2e_set_env)" || fail "no sshd by IPv6"
both_ways "channel 0: proved, UDP to \[fd77::2\]" "${all_channels[@]}"

step "a long path, where much is lost"
wan_relink --delay 60 --loss 0.05 --firewall
both_ways "${all_channels[@]}"

step "what was remembered as blocked is not, when it comes through"
export XDG_CACHE_HOME=$dir/cache
wan_relink --delay 5 --block-udp
both_ways "$no_answer"
remembered() { cat "$XDG_CACHE_HOME"/mcdtp/no-udp/* 2>/dev/null; }
[ -n "$(remembered)" ] || fail "it is not remembered"
wan_relink --delay 5 --firewall
both_ways "not waited for$" "${all_channels[@]}"
[ -z "$(remembered)" ] || fail "it is still remembered"
export XDG_CACHE_HOME=/dev/null/none

step "a NAT before the client that gives other ports: there is no way by UDP"
wan_relink --delay 5 --firewall --nat-forget 100
both_ways "$no_answer"
has "channel 0: proved" && fail "UDP was proved"
nothing_left
passed
