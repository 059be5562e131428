#!/bin/bash
# Forwarded ports: bytes and ends both ways, what goes wrong, in ssh's words, and never a descriptor left open.
. "$(dirname "$0")/lib.sh"
e2e_start
here=$(dirname "$0")

# A far service on a port: what it does stands in forward_peer.py. Its port is in $port.
service() { # KIND
  rm -f "$dir/port"
  python3 "$here/forward_peer.py" "$@" >"$dir/port" 2>"$dir/service.err" &
  services+=($!)
  until_true test -s "$dir/port"
  port=$(cat "$dir/port")
}
services=()
end_services() { local pid; for pid in "${services[@]}"; do kill "$pid" 2>/dev/null; done; }
trap 'end_services; e2e_clean' EXIT
no_host=no-such..host # known to be none without asking a name server, which may be slow or away
# In a loopback of the test's own there is no way to any network, but for one that leads to none of its hosts.
no_network=192.0.2.1 no_way=198.51.100.1 own_routes=${E2E_ALONE-}
if [ -z "$own_routes" ]; then
  echo "not root: targets that cannot be reached are not tried"
else
  ip route add unreachable "$no_way" || exit 1
fi
listens() { (exec 3<>"/dev/tcp/127.0.0.1/$1") 2>/dev/null; }
peer() { bounded python3 "$here/forward_peer.py" "$@"; }
# A run that forwards in the background; its words are in $dir/err, and it ends by end_run.
start_run() {
  : >"$dir/out" && : >"$dir/err" # nobody takes the last run's words for this one's
  shim_in_background "$@" </dev/null >"$dir/out" 2>"$dir/err" &
  run=$!
}
end_run() { kill "$run" 2>/dev/null; wait "$run"; }
# The same by -f: it returns once all stands.
in_background() { # ARGUMENT...: -f, and the words of both ends of it
  E2E_NEAR=$e2e_token bounded "$SHIM" -F "$e2e_config" -f "$@" </dev/null 2>&1
}
end_background() {
  local pid
  for pid in $(near_processes); do [ "$(cat "/proc/$pid/comm" 2>/dev/null)" != mcdtp-shim ] || kill "$pid" 2>/dev/null; done
  nothing_left
}
pattern 3000000 >"$dir/bytes"

# What may have been on its way to a refused connection turns its end into a reset: that is the system's doing.
is_closed() { case $2 in eof | reset) ;; *) fail "$1: wanted eof or reset, got $2" ;; esac; }

step "-L: bytes both ways, half-close, and a command beside it"
service echo
echo_port=$port
near=$(free_port)
mkfifo "$dir/stdin"
shim -L "$near:127.0.0.1:$echo_port" far 'cat; exit 4' <"$dir/stdin" >"$dir/out" 2>"$dir/err" &
run=$!
exec 8>"$dir/stdin"
until_true listens "$near"
peer send 127.0.0.1 "$near" <"$dir/bytes" >"$dir/got" || fail "the connection"
same_file "through an echo" "$dir/bytes" "$dir/got"
echo word >&8
exec 8>&-
wait "$run"
same "the command's status" 4 $?
out_is word && err_is ""

step "-N, several at once, and UNIX sockets on either side"
service echo unix "$dir/echo.sock"
near=$(free_port)
start_run -N -L "$near:127.0.0.1:$echo_port" -L "$dir/near.sock:$dir/echo.sock" far
until_true listens "$near"
answers_on_path() { [ "$(echo -n word | peer send unix "$dir/near.sock" 2>/dev/null)" = word ]; }
until_true answers_on_path
same "a UNIX socket to a UNIX socket" word "$(echo -n word | peer send unix "$dir/near.sock")"
same "a port to a port" word "$(echo -n word | peer send 127.0.0.1 "$near")"
end_run
same "the status of -N, ended by SIGTERM, as ssh's" 0 $?
err_is "" && out_is ""
nothing_left
status 0 shim -oStreamLocalBindMask=0117 -L "$dir/near.sock:127.0.0.1:$echo_port" far 'echo ran' </dev/null
err_is "unix_listener: cannot bind to path $dir/near.sock: Address already in use
Could not request local forwarding."
start_run -N -oStreamLocalBindUnlink=yes -oStreamLocalBindMask=0117 -L "$dir/near.sock:127.0.0.1:$echo_port" far
until_true answers_on_path
same "the mode" 660 "$(stat -c %a "$dir/near.sock")"
end_run

step "a relative path of the far side begins at its root, as sshd's"
near=$(free_port)
far_path=${dir#/}
start_run -N -L "$near:$far_path/echo.sock" -R "$far_path/relative.sock:$dir/echo.sock" far
until_true listens "$near"
same "-L" word "$(echo -n word | peer send 127.0.0.1 "$near")"
until_true test -S "$dir/relative.sock"
same "-R" word "$(echo -n word | peer send unix "$dir/relative.sock")"
end_run
err_is ""

step "-R: bytes both ways, and the command finds its port"
far=$(free_port)
status 0 shim -R "$far:127.0.0.1:$echo_port" far "python3 $(printf %q "$(realpath "$here/forward_peer.py")") send 127.0.0.1 $far" <"$dir/bytes"
same_file "through -R" "$dir/bytes" "$dir/out"
err_is ""
status 0 shim -R "$dir/far.sock:$dir/echo.sock" far "python3 $(realpath "$here/forward_peer.py") send unix $dir/far.sock" <"$dir/bytes"
same_file "through -R, sockets" "$dir/bytes" "$dir/out"
same "the mode" 600 "$(stat -c %a "$dir/far.sock")"

step "-R of port 0"
start_run -N -R "0:127.0.0.1:$echo_port" far
allocated() { sed -n "s/^Allocated port \([0-9]*\) for remote forward to 127.0.0.1:$echo_port\$/\1/p" "$dir/err"; }
has_allocated() { [ -n "$(allocated)" ]; }
until_true has_allocated
same "through it" word "$(echo -n word | peer send 127.0.0.1 "$(allocated)")"
end_run
nothing_left

step "only the loopback of the far side is listened on"
status 0 shim -R "0.0.0.0:$far:127.0.0.1:$echo_port" far "cat /proc/net/tcp | grep -i :$(printf %04X "$far")" </dev/null
grep -q 0100007F: "$dir/out" || fail "not on 127.0.0.1"
! grep -q '00000000:[0-9A-F]* 00000000' "$dir/out" || fail "on all addresses"

step "addresses of -L: both loopbacks, -g all, bind_address and -4"
addresses() { # ARGUMENT...: where -L listens, as ss says it
  in_background -N "$@" far
  ss -Htln "sport = :$near" | awk '{ print $4 }' | sed "s/:$near\$//" | sort | tr '\n' ' '
  end_background
}
near=$(free_port)
same "default" "127.0.0.1 [::1] " "$(addresses -L "$near:h:1")"
same "-g" "0.0.0.0 [::] " "$(addresses -g -L "$near:h:1")"
same "an empty address" "0.0.0.0 [::] " "$(addresses -L ":$near:h:1")"
same "a star" "0.0.0.0 [::] " "$(addresses -L "*:$near:h:1")"
same "-4" "127.0.0.1 " "$(addresses -4 -L "$near:h:1")"
same "localhost, with -g" "127.0.0.1 [::1] " "$(addresses -g -L "localhost:$near:h:1")"
same "digits" "127.0.0.1 " "$(addresses -L "127.0.0.1:$near:h:1")"

step "a port in use"
no_server_but() { [ -z "$(server_pid | grep -vxF "$1")" ]; } # PIDS, one a line
no_session() { ! pgrep -P "$(cat "$dir/sshd/sshd.started")" >/dev/null; } # of sshd
as_ssh() { # ARGUMENT...: same status, stdout and stderr as ssh's
  local servers ours theirs
  servers=$(server_pid) # the last run's may be on its way out
  shim "$@" </dev/null >"$dir/out" 2>"$dir/err"
  ours=$?
  until_true no_server_but "$servers" # ssh may want the port that ours had
  real_ssh "$@" </dev/null >"$dir/ssh_out" 2>"$dir/ssh_err"
  theirs=$?
  until_true no_session # ours may want the port that ssh had
  same "the status of $*" "$theirs" "$ours"
  same "stdout of $*" "$(cat "$dir/ssh_out")" "$(cat "$dir/out")"
  same "stderr of $*" "$(tr -d '\r' <"$dir/ssh_err" | in_order)" "$(in_order <"$dir/err")"
}
in_order() { cat; }
as_ssh -L "127.0.0.1:$echo_port:h:1" far 'echo ran'
err_has "^bind \[127.0.0.1\]:$echo_port: Address already in use"
err_has "^channel_setup_fwd_listener_tcpip: cannot listen to port: $echo_port"
err_has "^Could not request local forwarding.$"
as_ssh -oExitOnForwardFailure=yes -L "127.0.0.1:$echo_port:h:1" far "echo ran >>$dir/ran"
as_ssh -oExitOnForwardFailure=yes -D "$near" -L "127.0.0.1:$echo_port:h:1" far "echo ran >>$dir/ran"
[ ! -e "$dir/ran" ] || fail "the command ran though a port was not to be had"
as_ssh -oExitOnForwardFailure=yes -D "127.0.0.1:$near" far 'echo ran'
for _ in {1..10}; do # however soon the command ends
  status 255 shim -oExitOnForwardFailure=yes -L "127.0.0.1:$echo_port:h:1" far true </dev/null
done
as_ssh -4 -R "$echo_port:h:1" far 'echo ran'
as_ssh -L "$dir/near.sock:h:1" far 'echo ran'
as_ssh -R "$dir/far.sock:h:1" far 'echo ran'
err_has "^Warning: remote port forwarding failed for listen path $dir/far.sock"
for _ in {1..20}; do # however soon the command could begin
  status 255 shim -oExitOnForwardFailure=yes -R "$dir/far.sock:h:1" far "echo ran >>$dir/ran" </dev/null
done
[ ! -e "$dir/ran" ] || fail "the command ran though a port of the far side was not to be had"
as_ssh -oExitOnForwardFailure=yes -R "127.0.0.1:$near:h:1" far 'echo ran'
as_ssh -oExitOnForwardFailure=yes -R "$dir/far.sock:h:1" far 'sleep 5'
err_has "^Error: remote port forwarding failed for listen path"
as_ssh -L "$no_host:$near:h:1" far 'echo ran'
as_ssh -oClearAllForwardings=yes -L "127.0.0.1:$echo_port:h:1" -R "$dir/far.sock:h:1" far 'echo ran'
err_is ""
as_ssh -L bad far 'echo ran'
as_ssh -W bad far

step "what is said at each LogLevel, as ssh says it"
dead=$(free_port)
near=$(free_port)
far=$(free_port)
# Of the far command, which may run before we listen here: waits for that, and until the connection is closed.
connect_to() { echo "bash -c 'for i in {1..400}; do exec 3<>/dev/tcp/127.0.0.1/$1 && break; sleep 0.05; done 2>/dev/null; cat <&3'"; }
all_fail() { # LEVEL
  as_ssh -oLogLevel=$1 -L "127.0.0.1:$echo_port:h:1" -R "$dir/far.sock:h:1" -L "127.0.0.1:$near:127.0.0.1:$dead" \
    -D "127.0.0.1:$(free_port)" -R "127.0.0.1:$far:127.0.0.1:$dead" far "$(connect_to "$near"; connect_to "$far") ; sleep 0.2"
}
# What -R comes to and what a connection comes to have streams of their own with us: either may be said first.
in_order() { sort; }
all_fail INFO
all_fail ERROR
in_order() { cat; }
as_ssh -oLogLevel=ERROR -W "127.0.0.1:$dead" far
as_ssh -oLogLevel=FATAL -oExitOnForwardFailure=yes -L "127.0.0.1:$echo_port:h:1" far true
as_ssh -oLogLevel=FATAL -oExitOnForwardFailure=yes -R "$dir/far.sock:h:1" far 'sleep 5'
as_ssh -q -W "127.0.0.1:$dead" far

step "-E: what is said goes into the log, and the command's stderr does not"
logged() { cat "$dir/messages"; }
echo before >"$dir/messages"
status 3 shim -E "$dir/other" -E "$dir/messages" -L "127.0.0.1:$echo_port:h:1" far 'echo remote >&2; exit 3' </dev/null
err_is remote
same "the log" "before
bind [127.0.0.1]:$echo_port: Address already in use
channel_setup_fwd_listener_tcpip: cannot listen to port: $echo_port
Could not request local forwarding." "$(logged)"
rm "$dir/messages"
same "what is said of -f -R 0" "" "$(in_background -E "$dir/messages" -N -L "$near:127.0.0.1:$dead" -R "0:127.0.0.1:$dead" far)"
until_true grep -q "^Allocated port [0-9]* for remote forward to 127.0.0.1:$dead" "$dir/messages"
is_closed "the end of a connection that is refused" "$(peer watch 127.0.0.1 "$near")"
until_true grep -q "^channel [0-9]*: open failed: connect failed: Connection refused" "$dir/messages"
end_background
status 255 shim -E "$dir/none/log" far 'echo ran' </dev/null
err_is "mcdtp-shim: open logfile $dir/none/log: No such file or directory"
out_is ""

step "-4 and -6: addresses of the other family, here and for -R"
as_ssh -4 -L "[::1]:$near:h:1" far 'echo ran'
err_has "getaddrinfo(::1): Address family for hostname not supported"
as_ssh -4 -R "127.0.0.1:$far:[::1]:$dead" far "$(connect_to "$far"); sleep 0.2"
err_has "^connect_to ::1: unknown host (Address family for hostname not supported)"
as_ssh -4 -L "127.0.0.1:$near:[::1]:$dead" far "$(connect_to "$near"); sleep 0.2"
err_has "^channel 2: open failed: connect failed: Connection refused"
as_ssh -oAddressFamily=inet6 -oProxyCommand="ssh -F '$e2e_config' -W 127.0.0.1:%p far" -L "127.0.0.1:$near:h:1" \
  -R "127.0.0.1:$far:127.0.0.1:$dead" far "$(connect_to "$far"); sleep 0.2"
err_has "getaddrinfo(127.0.0.1): Address family for hostname not supported"
err_has "^connect_to 127.0.0.1: unknown host (Address family for hostname not supported)"

step "refused, and a name that does not resolve"
start_run -N -L "$near:127.0.0.1:$dead" far
until_true listens "$near"
is_closed "the end of a connection that is refused" "$(peer watch 127.0.0.1 "$near")"
until_true grep -q "^channel [0-9]*: open failed: connect failed: Connection refused$" "$dir/err"
end_run
start_run -N -L "$near:$no_host:1" far
until_true listens "$near"
until_true grep -q "^channel [0-9]*: open failed: connect failed: Name or service not known$" "$dir/err"
end_run
start_run -N -R "0:127.0.0.1:$dead" far
until_true grep -q ^Allocated "$dir/err"
is_closed "the end of a connection that is refused here" "$(peer watch 127.0.0.1 "$(sed -n 's/^Allocated port \([0-9]*\) .*/\1/p' "$dir/err")")"
until_true grep -q "^connect_to 127.0.0.1 port $dead: failed.$" "$dir/err"
end_run

if [ -n "$own_routes" ]; then
  step "no way there"
  for way in "$no_network Network is unreachable" "$no_way No route to host"; do
    status 255 shim -W "${way%% *}:1" far </dev/null
    err_is "channel 0: open failed: connect failed: ${way#* }
stdio forwarding failed"
  done
  far=$(free_port)
  as_ssh -R "127.0.0.1:$far:$no_network:1" far "$(connect_to "$far"); sleep 0.2"
  err_has "^connect to $no_network port 1 failed: Network is unreachable"

  step "no way to a name server, here and there"
  as_ssh -L "a.example:$near:h:1" far 'echo ran'
  err_has "getaddrinfo(a.example): Temporary failure in name resolution"
  far=$(free_port)
  as_ssh -R "127.0.0.1:$far:a.example:1" far "$(connect_to "$far"); sleep 0.2"
  err_has "^connect_to a.example: unknown host (Temporary failure in name resolution)"
  as_ssh -W a.example:1 far
  err_has "^channel 0: open failed: connect failed: Temporary failure in name resolution"
fi

step "a service that goes away and returns"
service echo unix "$dir/coming.sock"
coming=${services[-1]}
near=$(free_port)
start_run -N -L "$near:$dir/coming.sock" far
until_true listens "$near"
same "at first" word "$(echo -n word | peer send 127.0.0.1 "$near")"
kill "$coming" && wait "$coming" 2>/dev/null
rm "$dir/coming.sock"
is_closed "the end of a connection meanwhile" "$(peer watch 127.0.0.1 "$near")"
service echo unix "$dir/coming.sock"
same "afterwards" word "$(echo -n word | peer send 127.0.0.1 "$near")"
end_run

step "a reset is carried as a reset, and an end as an end"
service reset
near=$(free_port)
start_run -N -L "$near:127.0.0.1:$port" far
until_true listens "$near"
same "a reset by the service" reset "$(peer watch 127.0.0.1 "$near")"
end_run
service source 3000000
start_run -N -L "$near:127.0.0.1:$port" far
until_true listens "$near"
peer send 127.0.0.1 "$near" <"$dir/bytes" >"$dir/got" || fail "the connection"
same "bytes of the service" 3000000 "$(wc -c <"$dir/got")"
until_true grep -q "after the end: 3000000" "$dir/service.err"
end_run
service echo
start_run -N -L "$near:127.0.0.1:$port" far
until_true listens "$near"
peer drop 127.0.0.1 "$near"
until_true grep -q ConnectionResetError "$dir/service.err"
end_run

step "a service that answers and closes before it has read all: the answer arrives"
service answer 20000
start_run -N -L "$near:127.0.0.1:$port" far
until_true listens "$near"
for _ in 1 2 3; do same "bytes of the answer" 20000 "$(peer upload 127.0.0.1 "$near")"; done
end_run

step "what was sent to its end reaches a slow service, although the client has ended"
rm -f "$dir/on"
service slow "$dir/on"
start_run -L "$near:127.0.0.1:$port" far "until [ -e $dir/sent ]; do sleep 0.05; done"
until_true listens "$near"
head -c 125000 "$dir/bytes" | peer send 127.0.0.1 "$near" >"$dir/got"
touch "$dir/sent"
wait "$run" || fail "the status"
[ -n "$(far_processes)" ] || fail "the server has ended, too"
touch "$dir/on"
until_true grep -q "^read: 125000$" "$dir/service.err"
nothing_left

step "-W is the connection itself, and what ssh says of one that cannot be"
service echo
status 0 shim -W "127.0.0.1:$port" far <"$dir/bytes"
same_file "through -W" "$dir/bytes" "$dir/out"
err_is ""
for null in -n -oStdinNull=yes -f; do # a command's stdin is meant
  status 0 shim $null -W "127.0.0.1:$port" far <"$dir/bytes"
  until_true cmp -s "$dir/bytes" "$dir/out"
  err_is ""
done
nothing_left
as_ssh -W "127.0.0.1:$dead" far
as_ssh -W $no_host:1 far
mkfifo "$dir/open" && exec 7<>"$dir/open"
for kind in "source 5" "answer 5"; do # ends first, or resets; our stdin stays open
  service $kind
  echo x >&7
  status 0 shim -W "127.0.0.1:$port" far <&7
  same "what came from $kind" 5 "$(wc -c <"$dir/out")"
done
service source 300000 # our stdout takes nothing, and our stdin stays open
echo x >&7
shim -W "127.0.0.1:$port" far <&7 >/dev/full 2>"$dir/err"
same "the status" 255 $?
err_is "mcdtp-shim: write standard output: No space left on device"
exec 7>&-

step "-W beside other forwards, where they are not cleared: its end is theirs, too"
service echo
near=$(free_port)
mkfifo "$dir/held" && exec 7<>"$dir/held" # no service has any of it
shim -oClearAllForwardings=no -L "$near:127.0.0.1:$port" -W "127.0.0.1:$port" far <"$dir/held" >"$dir/out" 2>"$dir/err" 7>&- &
run=$!
until_true listens "$near"
exec 8<>"/dev/tcp/127.0.0.1/$near"
echo held >&8
read -r -u 8 held
same "through the port" held "$held"
exec 7>&- # the end of our stdin: the service answers with its own
wait "$run"
same "the status" 0 $?
exec 8>&-
as_ssh -L "127.0.0.1:$echo_port:h:1" -W "127.0.0.1:$port" far # cleared: the port is not asked for
as_ssh -oClearAllForwardings=no -L "127.0.0.1:$echo_port:h:1" -W "127.0.0.1:$port" far
as_ssh -oClearAllForwardings=no -oExitOnForwardFailure=no -L "127.0.0.1:$echo_port:h:1" -W "127.0.0.1:$port" far

step "a server that may not forward"
printf '#!/bin/sh\nexec %q --no-forwards "$@"\n' "$MCDTP_BIN/mcdtp-server" >"$dir/strict"
chmod +x "$dir/strict"
near=$(free_port)
start_run --server "$dir/strict" -L "$near:127.0.0.1:$echo_port" far "until [ -e $dir/enough ]; do sleep 0.05; done; echo ran"
until_true listens "$near"
is_closed "the end of a connection" "$(peer watch 127.0.0.1 "$near")"
touch "$dir/enough"
wait "$run"
out_is ran
same "what is said" "channel N: open failed: administratively prohibited: open failed" \
  "$(sed 's/^channel [0-9]*:/channel N:/' "$dir/err" | sort -u)"
status 0 shim --server "$dir/strict" -R "$far:127.0.0.1:$echo_port" far 'echo ran' </dev/null
out_is ran
err_is "Warning: remote port forwarding failed for listen port $far"
status 255 shim --server "$dir/strict" -W "127.0.0.1:$echo_port" far </dev/null
err_is "channel 0: open failed: administratively prohibited: open failed
stdio forwarding failed"

step "-D: SOCKS 4, 4a and 5, addresses and names, and its own words for what fails"
service echo
near=$(free_port)
start_run -N -D "$near" far
until_true listens "$near"
for kind in "4 127.0.0.1" "4a localhost" "5 127.0.0.1" "5h localhost"; do
  set -- $kind
  same "SOCKS $kind" word "$(echo -n word | peer socks "$1" 127.0.0.1 "$near" "$2" "$port")"
done
peer socks 5 127.0.0.1 "$near" 127.0.0.1 "$port" <"$dir/bytes" >"$dir/got" || fail "SOCKS 5"
same_file "through SOCKS" "$dir/bytes" "$dir/got"
same "refused" 5 "$(peer socks 5 127.0.0.1 "$near" 127.0.0.1 "$dead" </dev/null)"
same "refused, SOCKS 4" 91 "$(peer socks 4 127.0.0.1 "$near" 127.0.0.1 "$dead" </dev/null)"
same "no such name" 4 "$(peer socks 5h 127.0.0.1 "$near" $no_host 1 </dev/null)"
if [ -n "$own_routes" ]; then
  same "no way to the network" 3 "$(peer socks 5 127.0.0.1 "$near" "$no_network" 1 </dev/null)"
  same "no way to the host" 4 "$(peer socks 5 127.0.0.1 "$near" "$no_way" 1 </dev/null)"
fi
printf 'GET / HTTP/1.1\r\n\r\n' | peer send 127.0.0.1 "$near" >"$dir/got"
same "nonsense" "" "$(cat "$dir/got")"
mute() { exec 3<>"/dev/tcp/127.0.0.1/$near"; }
(mute; same "beside one that says nothing" word "$(echo -n word | peer socks 5h 127.0.0.1 "$near" localhost "$port")") || exit 1
end_run
nothing_left

start_run -N --server "$dir/strict" -D "$near" far
until_true listens "$near"
same "prohibited" 2 "$(peer socks 5 127.0.0.1 "$near" 127.0.0.1 "$port" </dev/null)"
end_run
nothing_left

step "-R without a target: SOCKS from the far side"
start_run -N -R 0 far
until_true grep -q "^Allocated port [0-9]* for remote forward to socks:0$" "$dir/err"
far=$(sed -n 's/^Allocated port \([0-9]*\) .*/\1/p' "$dir/err")
same "through it" word "$(echo -n word | peer socks 5h 127.0.0.1 "$far" localhost "$port")"
same "refused" 5 "$(peer socks 5 127.0.0.1 "$far" 127.0.0.1 "$dead" </dev/null)"
end_run
nothing_left

step "-f: in the background once all stands, and no pipe of the caller is held"
near=$(free_port)
said=$(in_background -N -oExitOnForwardFailure=yes -L "$near:127.0.0.1:$echo_port" -R "0:127.0.0.1:$echo_port" far)
same "the status" 0 $?
listens "$near" || fail "it does not listen yet"
[[ $said == "Allocated port "* ]] || fail "it says: $said"
same "through it" word "$(echo -n word | peer send 127.0.0.1 "$near")"
said=$(in_background -N -oExitOnForwardFailure=yes -L "127.0.0.1:$near:127.0.0.1:$echo_port" far)
same "the status where the port is taken" 255 $?
same "the words" "bind [127.0.0.1]:$near: Address already in use
channel_setup_fwd_listener_tcpip: cannot listen to port: $near
Could not request local forwarding." "$said"
end_background
said=$(in_background -N -p "$dead" -L "$near:127.0.0.1:$echo_port" far)
same "the status without a log-in" 255 $?
[[ $said == *"Connection refused"* ]] || fail "it says: $said"
in_background far "until [ -e $dir/later ]; do sleep 0.05; done; echo late" >"$dir/out"
same "the status of a command" 0 $?
out_is ""
touch "$dir/later"
until_true grep -q late "$dir/out"
in_background -q --server /nonexistent far "until [ -e $dir/later2 ]; do sleep 0.05; done; echo late >&2" >"$dir/out"
same "the status of a command without a server" 0 $?
out_is ""
touch "$dir/later2"
until_true grep -q late "$dir/out"
(flock 9 && in_background -N -L "$near:127.0.0.1:$echo_port" far) 9>"$dir/lock"
flock -n "$dir/lock" true || fail "a lock of the caller's is held"
end_background
nothing_left

step "-f: Ctrl-C at that terminal is not for it"
E2E_NEAR=$e2e_token bounded python3 - "$SHIM" -F "$e2e_config" -f -N -L "$near:127.0.0.1:$echo_port" far <<'END' || fail "status $?"
import os, signal, subprocess, sys
os.setpgrp()
status = subprocess.call(sys.argv[1:], stdin=subprocess.DEVNULL)
signal.signal(signal.SIGINT, signal.SIG_IGN)
os.killpg(0, signal.SIGINT)
sys.exit(status)
END
same "through it" word "$(echo -n word | peer send 127.0.0.1 "$near")"
end_background

step "lines of the configuration"
for backend in libssh2 ssh; do
  near=$(free_port)
  { cat "$e2e_config"; echo "  LocalForward $near 127.0.0.1:$echo_port"; echo "  SessionType none"; } >"$dir/config"
  E2E_NEAR=$e2e_token "$SHIM" -v --bootstrap $backend -F "$dir/config" far </dev/null >"$dir/out" 2>"$dir/err" &
  run=$!
  until_true listens "$near"
  err_has "^mcdtp-shim: backend: $backend\$"
  same "through it" word "$(echo -n word | peer send 127.0.0.1 "$near")"
  end_run
  nothing_left

  for none in -N -oSessionType=none; do
    near=$(free_port)
    { cat "$e2e_config"; echo "  LocalForward $near 127.0.0.1:$echo_port"; echo "  ForkAfterAuthentication yes"; } >"$dir/config"
    status 0 env E2E_NEAR="$e2e_token" timeout "$E2E_BOUND" "$SHIM" -v $none --bootstrap $backend -F "$dir/config" far </dev/null
    err_has "^mcdtp-shim: backend: $backend\$"
    same "through it, from the background" word "$(echo -n word | peer send 127.0.0.1 "$near")"
    end_background
  done
done

step "an stderr that nobody reads holds up neither stdout nor what is forwarded"
near=$(free_port)
mkfifo "$dir/unread"
exec 9<>"$dir/unread"
shim_in_background -L "$near:127.0.0.1:$dead" far \
  "head -c 300000 /dev/zero >&2 & until [ -e $dir/said ]; do sleep 0.05; done; echo ran; wait" </dev/null >"$dir/out" 2>&9 9<&- &
run=$!
until_true listens "$near"
takes_no_more() { ! dd if=/dev/zero of="$dir/unread" oflag=nonblock bs=1 count=8192 2>/dev/null; }
until_true takes_no_more
echo -n word | peer send 127.0.0.1 "$near" >"$dir/got" 2>/dev/null # refused: one more line for stderr
touch "$dir/said"
until_true grep -q ran "$dir/out"
cat <&9 >/dev/null &
reader=$!
wait "$run"
same "status" 0 $?
kill "$reader"
exec 9<&-
nothing_left

step "a command's end waits for the connections"
near=$(free_port)
start_run -L "$near:127.0.0.1:$echo_port" far "until [ -e $dir/go ]; do sleep 0.05; done; echo ran"
until_true listens "$near"
mkfifo "$dir/words"
peer send 127.0.0.1 "$near" <"$dir/words" >"$dir/got" &
sender=$!
exec 8>"$dir/words"
echo one >&8
connected() { [ -n "$(ss -Htn state established "sport = :$near")" ]; }
until_true connected
touch "$dir/go"
until_true grep -q ran "$dir/out"
echo two >&8
exec 8>&-
wait "$sender" || fail "the connection was cut"
same "through it" $'one\ntwo' "$(cat "$dir/got")"
wait "$run"
same "the status" 0 $?
nothing_left
passed
