#!/bin/bash
# However one part is ended, nothing of the session is left behind, and nothing is said where ssh says nothing.
. "$(dirname "$0")/lib.sh"
e2e_start

# Its environment, too, has to be there to be read.
found_server() { server=$(server_pid); [ -n "$server" ]; }
far_runs() { [ -s "$dir/started" ]; }
# A session under way: $shim, $server and $ssh (whatever has logged in) are its processes. The command tells when it is hung up (and lives on
# when the shell then says so on a pipe that is closed).
begin() {
  step "$* ($backend)"
  rm -f "$dir/started" "$dir/hung_up" && : >"$dir/out"
  mkfifo "$dir/stdin" 2>/dev/null
  exec 8<>"$dir/stdin"
  shim_in_background --bootstrap "$backend" far "trap '' PIPE; trap 'echo yes >$dir/hung_up; exit 1' HUP; echo \$\$ >$dir/started; echo running
    while :; do sleep 0.05; done" <&8 8>&- >"$dir/out" 2>"$dir/err" &
  shim=$!
  until_true far_runs
  until_true grep -q running "$dir/out"
  server=$(pgrep -x mcdtp-server -P "$(parents_of_server)")
  ssh=$(pgrep -P "$shim")
  [ -n "$server" ] && [ -n "$ssh" ] || fail "no server or no ssh"
}
# sshd's session process is the server's parent: sh was replaced by it.
parents_of_server() { for pid in $(far_processes); do awk '/^PPid/ { print $2 }' "/proc/$pid/status" 2>/dev/null; done | paste -sd,; }
is_hung_up() { [ -s "$dir/hung_up" ]; }
ended() { ! kill -0 "$1" 2>/dev/null; }
is_zombie() { grep -q "^State:.Z" "/proc/$1/status"; }
after() { # STATUS: of the shim, and then nothing is left
  until_true ended "$shim"
  wait "$shim"
  same "the shim's status" "$1" $?
  nothing_left
}

each_part() { # BACKEND
  local backend=$1
  begin "SIGTERM to the client"
  kill -TERM "$shim"
  after 255
  until_true is_hung_up
  err_is "" && out_is running

  begin "SIGHUP to the client"
  kill -HUP "$shim"
  after 255
  until_true is_hung_up
  err_is ""

  begin "SIGHUP to the client and to who logged in, whose end is seen as soon, as at a terminal's Ctrl-C"
  kill -STOP "$shim"
  kill -HUP "$ssh"
  until_true is_zombie "$ssh"
  kill -HUP "$shim"
  kill -CONT "$shim"
  after 255
  until_true is_hung_up
  err_is ""

  begin "SIGUSR1 to the client, by which ssh told that it had logged in"
  kill -USR1 "$shim"
  after 138
  until_true is_hung_up

  begin "SIGKILL to the client"
  kill -KILL "$shim"
  after 137
  until_true is_hung_up

  begin "SIGTERM to the server"
  kill -TERM "$server"
  after 255
  until_true is_hung_up
  same "lines on stderr" 1 "$(wc -l <"$dir/err")"
  err_has "^mcdtp-shim: the connection to far ended"

  begin "SIGKILL to the server"
  kill -KILL "$server"
  after 255
  until_true is_hung_up
  err_has "^mcdtp-shim: the connection to far ended"

  begin "SIGTERM to ssh"
  kill -TERM "$ssh"
  after 255
  until_true is_hung_up

  begin "SIGKILL to ssh"
  kill -KILL "$ssh"
  after 255
  until_true is_hung_up
  err_has "^mcdtp-shim: the connection to far ended"
}
each_part ssh
each_part libssh2

step "SIGTERM to the client, and the command is a child of its shell"
: >"$dir/out"
shim_in_background far 'echo running; sleep 1000; true' </dev/null >"$dir/out" 2>"$dir/err" &
shim=$!
until_true grep -q running "$dir/out"
kill -TERM "$shim"
after 255

step "SIGKILL to the server, and the command is a child of its shell"
: >"$dir/out"
shim_in_background far 'echo running; sleep 1000; true' </dev/null >"$dir/out" 2>"$dir/err" &
shim=$!
until_true grep -q running "$dir/out"
until_true found_server
kill -KILL "$server"
after 255

step "SIGTERM to the client while it logs in"
# A listener that never answers: the log-in hangs.
python3 -c 'import socket, time
s = socket.create_server(("127.0.0.1", 0)); print(s.getsockname()[1], flush=True); time.sleep(100)' >"$dir/port" &
listener=$!
until_true test -s "$dir/port"
port=$(cat "$dir/port")
# A child of the shell that becomes the client is none of the client's.
logs_in() { [ "$(cat "/proc/$shim/comm")" = mcdtp-shim ] && pgrep -P "$shim" >/dev/null; }
shim_in_background -p "$port" far true </dev/null >"$dir/out" 2>"$dir/err" &
shim=$!
until_true logs_in
kill -TERM "$shim"
until_true ended "$shim"
until_true no_near_processes
out_is "" && err_is ""

step "SIGKILL to ssh while it logs in"
who_logs_in() {
  child=$(for pid in $(pgrep -P "$shim"); do ! grep -qs PermitLocalCommand "/proc/$pid/cmdline" || echo "$pid"; done)
  [ -n "$child" ]
}
shim_in_background --bootstrap ssh -p "$port" far true </dev/null >"$dir/out" 2>"$dir/err" &
shim=$!
until_true who_logs_in
kill -KILL "$child"
wait "$shim"
same "status" 255 $?
out_is "" && err_is "mcdtp-shim: the process that logs in was ended by a signal: Killed"
kill "$listener"

step "a signal that was ignored from the start ends nothing, as with nohup"
for options in "--bootstrap libssh2" "--bootstrap ssh" "--server /nonexistent"; do
  (
    trap '' HUP INT QUIT
    shim_in_background $options far "touch $dir/up; until [ -e $dir/later ]; do sleep 0.05; done; echo kept; exit 4"
  ) </dev/null >"$dir/out" 2>"$dir/err" &
  shim=$!
  until_true test -e "$dir/up"
  for signal in HUP INT QUIT; do kill -$signal "$shim"; done
  touch "$dir/later"
  wait "$shim"
  same "status" 4 $?
  out_is kept
  rm "$dir/up" "$dir/later"
done

step "SIGQUIT ends it as ssh, without a word or a core"
: >"$dir/out"
python3 -c 'import os, signal, sys
signal.signal(signal.SIGQUIT, signal.SIG_DFL); os.execv(sys.argv[1], sys.argv[1:])' \
  "$SHIM" -F "$e2e_config" far "echo up; sleep 100" </dev/null >"$dir/out" 2>"$dir/err" &
shim=$!
until_true test -s "$dir/out"
kill -QUIT "$shim"
wait "$shim"
same "status" 255 $?
out_is up && err_is ""
nothing_left

step "a normal end signals nobody"
status 0 shim far 'sh -c "trap \"echo hup >'"$dir"'/hup\" HUP; echo >'"$dir"'/traps; sleep 0.3" >/dev/null 2>&1 </dev/null &
  until [ -e '"$dir"'/traps ]; do sleep 0.05; done' </dev/null
nothing_left
[ ! -e "$dir/hup" ] || fail "a background job was hung up"
passed
