#!/bin/bash
# /etc/mcdtp/server.conf holds for every server of the host. The file is written in a mount namespace of the test's own.
own=(unshare --mount --propagation private)
if [ -z "${E2E_INSIDE-}" ]; then
  "${own[@]}" mount --bind /mnt /mnt 2>/dev/null || { echo "skipped: no mount namespace for us here"; exit 77; }
  E2E_INSIDE=1 exec "${own[@]}" "$0"
fi
. "$(dirname "$0")/lib.sh"
e2e_directory
cp -a /etc "$dir/etc" && mount --bind "$dir/etc" /etc && mkdir -p /etc/mcdtp || exit 1
e2e_start "Subsystem few $MCDTP_BIN/mcdtp-server --ask --limits $dir/few.conf"
ports() { # NUMBER ARGUMENT...: those of UDP that -v names, once it names so many
  local number=$1
  shift
  nothing_left >&2 # the last server may hold the ports that this one is to have
  rm -f "$dir/seen" && : >"$dir/err"
  shim -v "$@" far "until [ -e '$dir/seen' ]; do sleep 0.05; done" </dev/null 2>"$dir/err" &
  until_true named "$number"
  touch "$dir/seen"
  wait $! || fail "status $?"
  sed -n 's/.*UDP to [^ ]*:\([0-9]*\)$/\1/p' "$dir/err" | sort -u
}
named() { [ "$(grep -c 'UDP to' "$dir/err")" -ge "$1" ]; }
within() { # LOW HIGH, ports on stdin
  local port seen=
  while read -r port; do seen=1; [ "$port" -ge "$1" ] && [ "$port" -le "$2" ] || fail "port $port"; done
  [ -n "$seen" ] || fail "no UDP"
}

step "a client cannot ask for more"
printf 'PortRange 61410-61413\nMaxRate 100M\n' >/etc/mcdtp/server.conf
within 61410 61413 < <(ports 4)
within 61410 61413 < <(ports 4 --port-range 1024-65535)
within 61412 61413 < <(ports 2 -c 2 --port-range 61412-62000)
step "nor can another file of limits loosen it"
printf 'PortRange 61413-62000\n' >"$dir/few.conf"
within 61413 61413 < <(ports 1 -c 1 --server-subsystem few)
printf 'PortRange 62001-62100\n' >"$dir/few.conf"
status 0 shim -v --server-subsystem few far true </dev/null
err_has "going on as plain ssh"
step "where -R listens"
listens_at() { # ARGUMENT of -R: the addresses, as /proc has them
  nothing_left
  status 0 shim -R "$1:61420:127.0.0.1:1" far 'cat /proc/net/tcp /proc/net/tcp6' </dev/null
  sed -n 's/^ *[0-9]*: \([0-9A-F]*\):EFEC [0-9A-F:]* 0A .*/\1/p' "$dir/out" | tr '\n' ' '
}
loopback=0100007F four_all=00000000 six_loopback=00000000000000000000000001000000 six_all=00000000000000000000000000000000
rm /etc/mcdtp/server.conf
same "by default" "$loopback $six_loopback " "$(listens_at '*')"
same "by default, of one loopback address" "$loopback " "$(listens_at 127.0.0.1)"
echo 'GatewayPorts clientspecified' >/etc/mcdtp/server.conf
same "clientspecified, of all" "$four_all $six_all " "$(listens_at '*')"
same "clientspecified, of one" "0200007F " "$(listens_at 127.0.0.2)"
same "clientspecified, of the loopback" "$loopback $six_loopback " "$(listens_at localhost)"
echo 'GatewayPorts yes' >/etc/mcdtp/server.conf
same "yes" "$four_all $six_all " "$(listens_at localhost)"

step "no forwards, said as ssh says it where sshd allows none"
echo 'Forwards no' >/etc/mcdtp/server.conf
sshd_start "$dir/strict" 127.0.0.1 "AllowTcpForwarding no" "$(e2e_set_env)" || exit 1
trap 'sshd_stop "$dir/strict"; e2e_clean' EXIT
far=$(sed -n 's/^ *Port //p' "$dir/strict/ssh_config")
near=$(free_port)
# STATUS ARGUMENT...
as_ssh() {
  status "$1" bounded ssh -F "$dir/strict/ssh_config" "${@:2}" </dev/null
  sed 's/^channel [0-9]*:/channel N:/; s/\r$//' "$dir/err" >"$dir/wanted"
  status "$1" shim "${@:2}" </dev/null
  same "what is said" "$(cat "$dir/wanted")" "$(sed 's/^channel [0-9]*:/channel N:/' "$dir/err")"
}
as_ssh 255 -W "127.0.0.1:$far" far
same "the reason" "channel N: open failed: administratively prohibited: open failed" "$(head -n 1 "$dir/wanted")"
as_ssh 0 -R "$near:127.0.0.1:$far" far 'echo ran'
out_is ran
as_ssh 255 -oExitOnForwardFailure=yes -R "$near:127.0.0.1:$far" far 'echo ran'
# The far command connects to our own end, and waits until that has closed.
as_ssh 0 -L "$near:127.0.0.1:$far" far "bash -c 'until exec 3<>/dev/tcp/127.0.0.1/$near; do sleep 0.05; done 2>/dev/null; cat <&3'; echo ran"
out_is ran
same "the reason" "channel N: open failed: administratively prohibited: open failed" "$(cat "$dir/wanted")"

step "a mistake is named, and nobody is served"
printf '\nBandwidth 3\n' >/etc/mcdtp/server.conf
status 0 shim -v far 'echo plain' </dev/null
out_is plain && err_has "^mcdtp-server: /etc/mcdtp/server.conf line 2: there is no setting Bandwidth"
nothing_left
passed
