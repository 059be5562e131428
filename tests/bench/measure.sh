# Bash library of the benches: source it in the project's root. It brings tests/wan and a far sshd along, makes $work
# and takes all away at the end, whatever the end.
#
#   bench_start SCRIPT ARGUMENT...  first of all: an ordinary user gets a user namespace of their own
#   link_up CC OPTION...            a fresh link (options of wan-link), both hosts' TCP under CC, an sshd on the far one
#   link_down                       ends it; wan_stat has its counters then
#   shim ARGUMENT..., real_ssh ARGUMENT...  run on the near host; its host `far` is the other
#   lateness                        one line: how late the link was, and what it could not take
#   link_is_void                    true where the last link was too late, or lost packets unseen: figures are void
#   median                          of the numbers on stdin, one a line
#   divide A B                      two digits behind the point
#   cpu_ticks                       busy and all ticks of this machine's CPUs so far
bin=$(realpath -m "${MCDTP_BIN:-build/bin}")
export MCDTP_BIN=$bin bin
. tests/wan/netns.sh
. tests/wan/sshd.sh

bench_start() {
  local script=$1
  shift
  WAN_SCRIPT=$script wan_enter "$@"
  wan_check || exit 1
  work=$(mktemp -d "${TMPDIR:-/tmp}/mcdtp-bench.XXXXXX") || exit 1
  export work
  trap 'sshd_stop "$work/sshd"; wan_down; rm -rf "$work"' EXIT
  trap 'exit 143' TERM HUP INT
}

shim() { "$bin/mcdtp-shim" -F "$work/sshd/ssh_config" "$@"; }
real_ssh() { ssh -F "$work/sshd/ssh_config" "$@"; }
export -f shim real_ssh

median() { sort -g | awk '{ v[NR] = $1 } END { print v[int((NR + 1) / 2)] }'; }
divide() { awk -v a="$1" -v b="$2" 'BEGIN { printf "%.2f", a / b }'; }
cpu_ticks() { awk '/^cpu / { busy = $2 + $3 + $4 + $7 + $8 + $9; print busy, busy + $5 + $6 }' /proc/stat; }

link_up() {
  local cc=$1
  shift
  wan_up "$@" && wan_cc "$cc" || exit 1
  SSHD_NETNS=$WAN_FAR sshd_start "$work/sshd" 10.77.0.2 || exit 1
}
link_down() { sshd_stop "$work/sshd"; wan_down; }

overruns() { echo $(($(wan_stat up_overruns) + $(wan_stat down_overruns))); }
lateness() { echo "link late p99 $(wan_stat late_p99_ms) ms, overruns $(overruns)"; }
link_is_void() { [ "$(overruns)" -gt 0 ] || awk -v late="$(wan_stat late_p99_ms)" 'BEGIN { exit !(late > 5) }'; }
