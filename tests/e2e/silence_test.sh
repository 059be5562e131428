#!/bin/bash
# A far side that falls silent ends the run as ServerAliveInterval says, whoever logged in; one that merely has nothing
# to say does not.
. "$(dirname "$0")/lib.sh"
e2e_start_far --delay 5
alive="-oServerAliveInterval=1 -oServerAliveCountMax=3"

for backend in libssh2 ssh; do
  step "by $backend: nothing to say"
  status 3 shim -v --bootstrap $backend -oServerAliveInterval=2 -oServerAliveCountMax=4 far 'sleep 12; exit 3' </dev/null
  err_has "^mcdtp-shim: backend: $backend\$"

  step "by $backend: the link is cut"
  : >"$dir/err" # nobody takes the last run's words for this one's
  shim -v --bootstrap $backend $alive -N far </dev/null >"$dir/out" 2>"$dir/err" &
  run=$!
  until_true grep -q ': proved, UDP' "$dir/err"
  wan_cut
  wait "$run"
  same "status" 255 $?
  err_has "^mcdtp-shim: the connection to far ended"
  wan_cut
done

once_in_time() { # OPTION...: ssh's words, and no second try by it
  local level
  for level in INFO ERROR FATAL; do
    real_ssh -oConnectTimeout=2 -oLogLevel=$level "$@" far true 2>"$dir/wanted" </dev/null
    status 255 shim -oConnectTimeout=2 -oLogLevel=$level "$@" far true </dev/null
    same_file "stderr" "$dir/wanted" "$dir/err"
  done
  status 255 shim -v -oConnectTimeout=2 "$@" far true </dev/null
  ! grep -q "backend: ssh" "$dir/err" || fail "it is tried once more"
}
step "who takes a connection and says nothing is not tried once more by ssh"
alias="-oHostKeyAlias=$(cut -d' ' -f1 "$dir/sshd/known_hosts")"
until_listens() { until_true wan_far sh -c "ss -Hltn 'sport = :$1' | grep -q ."; }
nsenter --net="$WAN_FAR" -- python3 -c 'import socket, time
mute = socket.create_server(("", 61998))
time.sleep(300)' &
mute=$!
until_listens 61998
once_in_time -p 61998 "$alias"
once_in_time -p 61998 "$alias" -oConnectionAttempts=2
kill $mute

step "nor who talks on, but of something else"
nsenter --net="$WAN_FAR" -- python3 -c 'import socket, threading, time
def talk(connection):
  try:
    while True:
      connection.sendall(b"220 hello\r\n")
      time.sleep(0.5)
  except OSError:
    pass
talker = socket.create_server(("", 61997))
while True:
  threading.Thread(target=talk, args=[talker.accept()[0]], daemon=True).start()' &
talker=$!
until_listens 61997
once_in_time -p 61997 "$alias"
kill $talker

step "who does not answer in time is not tried once more by ssh"
wan_cut
once_in_time
passed
