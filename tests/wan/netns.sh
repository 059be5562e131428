# Bash library: two network namespaces joined by wan-link. Source it; it changes no setting of the shell.
#
#   wan_enter "$@"          first of all, in the script itself: an ordinary user gets the rights for the rest in a
#                           user namespace of their own (runs $0, or $WAN_SCRIPT, again in it); root goes on
#   wan_up [OPTION...]      makes both namespaces and the link (options of wan-link; `wan-link --help`)
#   wan_near COMMAND...     runs a command on the near host: 10.77.0.1, fd77::1
#   wan_far COMMAND...      runs a command on the far host: 10.77.0.2, fd77::2
#   wan_cc cubic|bbr        TCP congestion control of both hosts
#   wan_cut, wan_block_udp  cut the link (stop UDP on it); called again they undo that
#   wan_relink [OPTION...]  another link between the same namespaces; connections live on
#   WAN_MTU=9000            set before wan_up: the MTU of both devices (default 1500; --mtu is the path's, unannounced)
#   wan_stats               the last link's statistics line; wan_stat KEY one value of it
#   wan_down                ends the link, keeps its statistics in $WAN_STATS; may be called twice
#
# A caller sets `trap wan_down EXIT`; that ends whatever still runs in the namespaces. Link and namespaces go with
# the script after SIGKILL too (two processes that die with it hold them), commands in them do not. Functions return 1 after one line on stderr; wan_up
# returns 77 where this machine lets the user make no TUN device.

. "$(dirname "${BASH_SOURCE[0]}")/plain.sh"
WAN_LINK=${WAN_LINK:-${MCDTP_BIN:-$(dirname "${BASH_SOURCE[0]}")/../../build/bin}/wan-link}
WAN_MTU=${WAN_MTU:-1500}
WAN_NEAR= WAN_FAR= # the namespaces, as paths for `nsenter --net=`
WAN_NEAR_PID= WAN_FAR_PID= WAN_NEAR_ID= WAN_FAR_ID= WAN_LINK_PID= WAN_STATS= WAN_DIR= WAN_NOTED=

wan_say() { echo "wan: $*" >&2; }

wan_enter() {
  [ "$(id -u)" -eq 0 ] && return 0
  [ -n "${WAN_ENTERED-}" ] && { ip link set lo up; return 0; }
  local own=(unshare --user --map-current-user --keep-caps --net --)
  "${own[@]}" true 2>/dev/null || { wan_say "skipped: this user can make no user namespace"; exit 77; }
  WAN_ENTERED=1 exec "${own[@]}" "$BASH" "${WAN_SCRIPT:-$0}" "$@"
}

# Is there all that a link needs? 77 where not, and says what is missing.
wan_check() {
  [ -x "$WAN_LINK" ] || { wan_say "no program $WAN_LINK (scripts/build makes it)"; return 1; }
  if ! { : <>/dev/net/tun; } 2>/dev/null; then
    wan_say "skipped: /dev/net/tun is closed to this user"
    return 77
  fi
  unshare --net true 2>/dev/null || { wan_say "skipped: this user can make no network namespace"; return 77; }
}

# Starts a process that holds a new network namespace. Sets $1_PID, $1 (the namespace's path) and $1_ID (its
# identity, ever unlike this shell's own).
wan_hold() {
  setpriv --pdeathsig KILL unshare --net sleep infinity </dev/null >/dev/null 2>&1 &
  local pid=$! tries=0 own id=
  own=$(readlink /proc/self/ns/net)
  while id=$(readlink "/proc/$pid/ns/net"); [ -z "$id" ] || [ "$id" = "$own" ]; do
    [ $((tries += 1)) -le 500 ] && kill -0 "$pid" 2>/dev/null || { wan_say "cannot make a network namespace"; return 1; }
    sleep 0.01
  done
  printf -v "$1_PID" %s "$pid"
  printf -v "$1_ID" %s "$id"
  printf -v "$1" %s "/proc/$pid/ns/net"
}

wan_near() { nsenter --net="$WAN_NEAR" -- "$@"; }
wan_far() { nsenter --net="$WAN_FAR" -- "$@"; }

# With a hold-back of 20 us packets written one by one meet in GRO, as they do in a network card's receive ring.
# /sys shows the namespace that it was mounted in, hence a mount of our own; without it GRO finds no company.
wan_hold_back() {
  "$1" unshare --mount sh -c 'mount -t sysfs sysfs /sys && echo 20000 >/sys/class/net/wan0/gro_flush_timeout' \
    2>/dev/null
}

# One end: addresses, no packets but the caller's own (multicast off: no neighbour or router talk), and room for
# bursts, so that packets are dropped by the link's rules only.
wan_configure() {
  "$1" ip link set lo up &&
    "$1" ip link set wan0 mtu "$WAN_MTU" txqueuelen 16384 multicast off addrgenmode none &&
    "$1" ip link set wan0 up &&
    "$1" ip addr add "10.77.0.$2/24" dev wan0 &&
    "$1" ip -6 addr add "fd77::$2/64" dev wan0 nodad
}

wan_start_link() {
  local line=
  rm -f "$WAN_DIR/ready"
  mkfifo "$WAN_DIR/ready" || return 1
  setpriv --pdeathsig TERM "$WAN_LINK" --near "$WAN_NEAR" --far "$WAN_FAR" "$@" \
    </dev/null >"$WAN_DIR/ready" 2>"$WAN_DIR/stats" &
  WAN_LINK_PID=$!
  read -r line <"$WAN_DIR/ready"
  [ "$line" = ready ] || { cat "$WAN_DIR/stats" >&2; return 1; }
  wan_configure wan_near 1 && wan_configure wan_far 2 || return 1
  wan_hold_back wan_near && wan_hold_back wan_far && return 0
  [ -n "$WAN_NOTED" ] || wan_say "note: this user may not set up GRO; packets are received one by one"
  WAN_NOTED=yes
}

wan_up() {
  wan_check || return
  WAN_DIR=$(mktemp -d "${TMPDIR:-/tmp}/wan.XXXXXX") || return 1
  WAN_STATS=
  wan_hold WAN_NEAR && wan_hold WAN_FAR && wan_start_link "$@" && return 0
  wan_down
  return 1
}

wan_stop_link() {
  [ -n "$WAN_LINK_PID" ] || return 0
  kill -TERM "$WAN_LINK_PID" 2>/dev/null
  wait "$WAN_LINK_PID" 2>/dev/null
  WAN_LINK_PID=
  WAN_STATS=$(cat "$WAN_DIR/stats")
}

wan_relink() {
  wan_stop_link
  wan_start_link "$@"
}

# Kills all that runs in the namespace of path $1 and identity $2, at last its holder $3. Nothing where the path is
# no longer that namespace: the holder has gone, and its number may be another's.
wan_empty() {
  local name
  [ -n "$2" ] && [ "$(readlink "$1")" = "$2" ] || return 0
  for name in /proc/[0-9]*; do
    [ "$name" != "/proc/$3" ] && [ "$(readlink "$name/ns/net" 2>/dev/null)" = "$2" ] &&
      kill -KILL "${name#/proc/}" 2>/dev/null
  done
  kill -TERM "$3" && wait "$3" 2>/dev/null
}

# Ends all that still runs in the two namespaces, for no link will ever lead there again.
wan_down() {
  wan_stop_link
  wan_empty "$WAN_NEAR" "$WAN_NEAR_ID" "$WAN_NEAR_PID"
  wan_empty "$WAN_FAR" "$WAN_FAR_ID" "$WAN_FAR_PID"
  [ -n "$WAN_DIR" ] && rm -rf "$WAN_DIR"
  WAN_NEAR= WAN_FAR= WAN_NEAR_PID= WAN_FAR_PID= WAN_NEAR_ID= WAN_FAR_ID= WAN_DIR=
  return 0
}

# Only root of the machine may add to the list of what sockets may choose; setting a default needs no list.
wan_cc() {
  sysctl -qw net.ipv4.tcp_allowed_congestion_control="reno bbr cubic" 2>/dev/null
  local side
  for side in wan_near wan_far; do
    "$side" sysctl -qw net.ipv4.tcp_congestion_control="$1" || { wan_say "no TCP congestion control $1 here"; return 1; }
  done
}

# Returns once the link has taken the signal.
wan_order() { # NUMBER of the signal
  kill "-$1" "$WAN_LINK_PID"
  while wan_is_pending "$1"; do sleep 0.01; done
}
wan_is_pending() {
  local all
  all=$(sed -n 's/^ShdPnd:[[:space:]]*//p' "/proc/$WAN_LINK_PID/status" 2>/dev/null)
  ((0x${all:-0} >> ($1 - 1) & 1))
}
wan_cut() { wan_order 10; }       # SIGUSR1
wan_block_udp() { wan_order 12; } # SIGUSR2

wan_stats() { echo "$WAN_STATS"; }
wan_stat() { sed -n "s/.* $1=\([^ ]*\).*/\1/p" <<<"$WAN_STATS "; }
