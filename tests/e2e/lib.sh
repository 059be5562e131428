# Bash library of the end-to-end tests: source it first. It makes $dir, a private sshd in it, and takes all away at
# the end, whatever the end.
#
#   shim ARGUMENT...         mcdtp-shim with the sshd's configuration: host `far`; real_ssh: the same with ssh
#   step WORDS...            names what is tried; fail says it
#   fail WORDS...            ends the test
#   same WHAT WANTED GOT     fails unless the two texts are equal
#   status WANTED COMMAND... runs it and fails unless it exits so; what it prints is in $dir/out and $dir/err
#   until_true COMMAND...    polls until it succeeds; fails if that never comes
#   held_until LINE          makes $held, words that keep a far command running until LINE is in $dir/err
#   far_processes            the processes of logins: whatever sshd started for this test; near_processes: programs
#                            started by shim_in_background and their children
#   shim_in_background ...   starts mcdtp-shim itself as this shell's child ($!), no program around it
#   logins                   how many log-ins that sshd has told of; start_master PATH: a master of real ssh with that
#                            control path, its log-in told of
#   pattern SIZE [SEED]      SIZE bytes, the same for the same seed
#   free_port                a TCP port of 127.0.0.1 that nobody has, outside of those that the kernel gives a connection for
#                            its own end. A port fixed in a test is over them too: 61000 and more
#   server_pid               of the mcdtp-server that serves this test
#   e2e_start_far [OPTION..] instead of e2e_start: the sshd is on the far host of an emulated link, the OPTIONs its; shim
#                            and real_ssh then run on the near host
#
# A test that needs what is not there calls skip WORDS.... Nothing here asserts how long something took: the only
# clock is the bound at which a hang becomes a failure.
set -u
shopt -s lastpipe # what fails at the end of a pipeline ends the test
# Root, as in CI, gets a loopback of the test's own, where no port is another test's or a service's.
if [ "$(id -u)" -eq 0 ] && [ -z "${E2E_ALONE-}" ] && unshare --net true 2>/dev/null; then
  E2E_ALONE=1 exec unshare --net "$BASH" -c 'ip link set lo up && exec "$BASH" "$0" "$@"' "$0" "$@"
fi
e2e_here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
MCDTP_BIN=${MCDTP_BIN:-$e2e_here/../../build/bin}
MCDTP_BIN=$(cd "$MCDTP_BIN" && pwd) || exit 1
SHIM=$MCDTP_BIN/mcdtp-shim
E2E_BOUND=${E2E_BOUND:-100} # seconds until a hang is a failure
. "$e2e_here/../wan/sshd.sh"

e2e_token=e2e-$$-$RANDOM$RANDOM
e2e_step=
unset GIT_PROTOCOL MCDTP_REAL_SSH MCDTP MCDTP_OPTIONS
. "$e2e_here/../wan/plain.sh"
# Nothing of the user's own; e2e_directory names a place for what is remembered.
export XDG_CONFIG_HOME=/nonexistent XDG_CACHE_HOME=/dev/null/none

step() { e2e_step="$*"; echo "- $*"; }
fail() {
  echo "FAILED: $e2e_step: $*"
  [ ! -d "${dir-}" ] || : >"$dir/failed" # whoever fails in a process of its own can end no test
  for file in out err log; do [ ! -s "$dir/$file" ] || { echo "-- $file:"; head -c 2000 "$dir/$file"; echo; }; done
  exit 1
}
skip() { echo "skipped: $*"; exit 77; }

e2e_clean() {
  local pid
  for pid in $(far_processes) $(near_processes); do kill -KILL "$pid" 2>/dev/null; done
  sshd_stop "$dir/sshd" 2>/dev/null
  [ -z "$e2e_near" ] || wan_down
  rm -rf "$dir"
}

# Makes $dir and starts the sshd; the LINEs come first in its configuration. SetEnv is taken: more variables for
# the logins go into E2E_ENV ("NAME=VALUE" words). Their HOME is empty: start-up files of the user's may speak on stderr.
e2e_start() {
  [ -n "${dir-}" ] || e2e_directory
  sshd_start "$dir/sshd" "${E2E_ADDRESS:-127.0.0.1}" "$(e2e_set_env)" "$@" || exit 1
  e2e_config=$dir/sshd/ssh_config
}
e2e_directory() {
  dir=$(mktemp -d "${TMPDIR:-/tmp}/mcdtp-e2e.XXXXXX") || exit 1
  XDG_CACHE_HOME=$dir/cache
  mkdir "$dir/home"
  [ "$(pattern 9 | wc -c)" -eq 9 ] || { echo "FAILED: openssl makes no bytes"; exit 1; }
  trap e2e_clean EXIT
  trap 'exit 1' TERM INT HUP
}
e2e_set_env() {
  echo "SetEnv \"PATH=${E2E_PATH:-$MCDTP_BIN:/usr/local/bin:/usr/bin:/bin}\" E2E_TOKEN=$e2e_token ${E2E_ENV-} HOME=$dir/home"
}

e2e_start_far() {
  . "$e2e_here/../wan/netns.sh"
  wan_enter
  wan_check || exit
  e2e_directory
  e2e_near=wan_near
  wan_up "$@" || exit
  SSHD_NETNS=$WAN_FAR sshd_start "$dir/sshd" 10.77.0.2 "$(e2e_set_env)" || exit 1
  e2e_config=$dir/sshd/ssh_config
}

e2e_near=
bounded() { $e2e_near timeout --foreground -k 5 "$E2E_BOUND" "$@"; }
shim() { bounded "$SHIM" -F "$e2e_config" "$@"; }
real_ssh() { bounded ssh -F "$e2e_config" "$@"; }
# `exec` in a subshell of its own: $! is the shim.
shim_in_background() { E2E_NEAR=$e2e_token exec "$SHIM" -F "$e2e_config" "$@"; }

same() { [ "$2" = "$3" ] || fail "$1: wanted $(printf %q "$2"), got $(printf %q "$3")"; }
same_file() { cmp "$2" "$3" >&2 || fail "$1: the bytes differ"; }
status() {
  local wanted=$1 got
  shift
  "$@" >"$dir/out" 2>"$dir/err"
  got=$?
  [ "$got" -eq "$wanted" ] || fail "$*: status $got, wanted $wanted"
}
out_is() { same "stdout" "$1" "$(cat "$dir/out")"; }
err_is() { same "stderr" "$1" "$(cat "$dir/err")"; }
err_has() { grep -q -- "$1" "$dir/err" || fail "stderr lacks: $1"; }
err_lacks() { ! grep -q -- "$1" "$dir/err" || fail "stderr has: $1"; }

becomes_true() {
  local end=$((SECONDS + E2E_BOUND))
  until "$@"; do
    [ "$SECONDS" -lt "$end" ] || return
    sleep 0.05
  done
}
until_true() {
  becomes_true "$@" || fail "never true: $*"
}

# The far command, which ends with $held, stays until stderr has LINE: nothing else says that it came before the end.
held_until() { # LINE [ROOT OF THE FAR HOST]
  local seen=${2-}$dir/seen
  mkdir -p "${2-}$dir"
  rm -f "$seen"
  : >"$dir/err"
  held="until [ -e '$dir/seen' ]; do sleep 0.05; done"
  { until_true grep -q -- "$1" "$dir/err"; : >"$seen"; } &
}

logins() { grep -c 'Accepted publickey' "$dir/sshd/sshd.log"; }
logins_are() { [ "$(logins)" -eq "$1" ]; }
start_master() { # PATH
  local wanted=$(($(logins) + 1))
  real_ssh -M -N -f -oControlPath="$1" far </dev/null >/dev/null 2>&1
  until_true logins_are "$wanted" # sshd may say so after ssh has gone on
}

# Zombies have no environment to read, and are gone for all purposes.
with_environment() {
  local file
  for file in $(grep -zlsx -- "$1" /proc/[0-9]*/environ); do
    file=${file#/proc/}
    echo "${file%/environ}"
  done
}
far_processes() { with_environment "E2E_TOKEN=$e2e_token"; }
near_processes() { with_environment "E2E_NEAR=$e2e_token"; }
no_near_processes() { [ -z "$(near_processes)" ]; }
# Each with its state, where in the kernel it waits, and its command line.
name_processes() { [ "$#" -eq 0 ] || ps -o pid=,ppid=,stat=,wchan=,args= -p "$(IFS=,; echo "$*")"; }
no_processes() { [ -z "$(near_processes)$(far_processes)" ]; }
nothing_left() {
  becomes_true no_processes && return
  name_processes $(near_processes) $(far_processes) >"$dir/err" 2>&1
  fail "processes that do not end"
}

server_pid() { local pid; for pid in $(far_processes); do [ "$(cat "/proc/$pid/comm" 2>/dev/null)" != mcdtp-server ] || echo "$pid"; done; }

free_port() {
  python3 -c '
import random, socket
first, last = map(int, open("/proc/sys/net/ipv4/ip_local_port_range").read().split())
ports = [port for port in range(10000, 61000) if not first <= port <= last] or range(10000, 61000)
while True:
    with socket.socket() as tried:
        port = random.choice(ports)
        try:
            tried.bind(("127.0.0.1", port))
        except OSError:
            continue
        print(port)
        break'
}

pattern() { openssl enc -aes-128-ctr -K "$(printf %032x "${2:-1}")" -iv 0 -nosalt </dev/zero 2>/dev/null | head -c "$1"; }
# A step that names what is not there has asserted nothing. (This runs in a process of its own, and can end no test.)
command_not_found_handle() {
  echo "$0: there is no command $1" >&2
  [ ! -d "${dir-}" ] || echo "$1" >>"$dir/not_found"
  return 127
}
passed() {
  [ ! -e "$dir/not_found" ] || fail "there is no command $(tr '\n' ' ' <"$dir/not_found")"
  [ ! -e "$dir/failed" ] || fail "what failed is above"
  echo passed
}
