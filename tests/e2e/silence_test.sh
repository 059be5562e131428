#!/bin/bash
# A far side that falls silent ends the run as ServerAliveInterval says, whoever logged in; one that merely has nothing
# to say does not.
. "$(dirname "$0")/lib.sh"
e2e_start_far --delay 5
alive="-oServerAliveInterval=1 -oServerAliveCountMax=3"

for backend in libssh2 ssh; do
  step "by $backend: nothing to say"
  status 3 shim -v --bootstrap $backend $alive far 'sleep 6; exit 3' </dev/null
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
  real_ssh -oConnectTimeout=2 "$@" far true 2>"$dir/wanted" </dev/null
  status 255 shim -oConnectTimeout=2 "$@" far true </dev/null
  same_file "stderr" "$dir/wanted" "$dir/err"
  status 255 shim -v -oConnectTimeout=2 "$@" far true </dev/null
  ! grep -q "backend: ssh" "$dir/err" || fail "it is tried once more"
}
step "who takes a connection and says nothing is not tried once more by ssh"
wan_far python3 -c 'import socket, time
mute = socket.create_server(("", 61998))
time.sleep(300)' &
mute=$!
until_true wan_far sh -c 'ss -Hltn "sport = :61998" | grep -q .'
once_in_time -p 61998 -oHostKeyAlias="$(cut -d' ' -f1 "$dir/sshd/known_hosts")"
kill $mute

step "who does not answer in time is not tried once more by ssh"
wan_cut
once_in_time
passed
