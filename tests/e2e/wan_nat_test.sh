#!/bin/bash
# The NAT of tests/wan translates UDP both ways, keeps a mapping that is used, and forgets one that is not; its firewall lets
# answers in alone.
here=$(cd "$(dirname "$0")" && pwd)
. "$here/../wan/netns.sh"
wan_enter "$@"
wan_check || exit
dir=$(mktemp -d)
trap 'wan_down; rm -rf "$dir"' EXIT

case=
fail() { echo "FAILED: $case: $*"; [ -z "$WAN_STATS" ] || wan_stats; exit 1; }
wait_until() { local i; for i in {1..5000}; do "$@" && return 0; sleep 0.01; done; fail "never true: $*"; }
expect() { [ "$(wan_stat "$1")" "${@:2}" ] || fail "$*: it is $(wan_stat "$1")"; }

# Answers each datagram with the port that it came from, before it the datagram itself; "again PORT" is answered to
# that port.
cat >"$dir/far.py" <<'PYTHON'
import socket, sys
family = socket.AF_INET6 if ":" in sys.argv[1] else socket.AF_INET
far = socket.socket(family, socket.SOCK_DGRAM)
far.bind((sys.argv[1], 9))
print("ready", flush=True)
while True:
    data, sender = far.recvfrom(65536)
    words = data.split()
    to = (sender[0], int(words[1])) if words and words[0] == b"again" else sender[:2]
    far.sendto(data + b" %d" % sender[1], to)
PYTHON

# All of one test in one process, so that little time passes between two sendings that belong together.
cat >"$dir/near.py" <<'PYTHON'
import socket, sys, time
family = socket.AF_INET6 if ":" in sys.argv[1] else socket.AF_INET
near = socket.socket(family, socket.SOCK_DGRAM)
near.bind(("", 5000))
near.connect((sys.argv[1], 9))
forget = float(sys.argv[2])

def ask(text=b"x" * 1000):
    near.send(text)
    near.settimeout(10)
    answer = near.recv(65536)
    assert answer.startswith(text), answer
    return int(answer.split()[-1])

first = ask()
assert first >= 20000, first
assert ask() == first and ask(b"y") == first
UDP_SEGMENT = 103
near.setsockopt(socket.IPPROTO_UDP, UDP_SEGMENT, 1200)
near.send(b"z" * 3000)  # three packets, one train where the device takes it
pieces = [near.recv(65536) for _ in range(3)]
assert [len(piece.split()[0]) for piece in pieces] == [1200, 1200, 600], pieces
assert all(int(piece.split()[-1]) == first for piece in pieces), pieces
near.setsockopt(socket.IPPROTO_UDP, UDP_SEGMENT, 0)

time.sleep(1.5 * forget)
second = ask()
assert second != first, second
near.send(b"again %d" % first)  # to the old port: nobody gets it
near.settimeout(0.5)
try:
    raise SystemExit("through a forgotten mapping: %r" % near.recv(65536))
except TimeoutError:
    pass
assert ask() == second
PYTHON

try() {
  local address=$1 far ready=$dir/far.$BASHPID
  shift
  case="wan-link $* to $address"
  echo "$case"
  wan_up --nat-forget "$forget" "$@" || fail "does not start"
  : >"$ready"
  wan_far timeout 200 python3 "$dir/far.py" "$address" >"$ready" &
  far=$!
  wait_until grep -q ready "$ready"
  wan_near timeout 100 python3 "$dir/near.py" "$address" "$forget" || fail "see above"
  kill "$far"
  wan_down
  expect nat_mappings -eq 2
  expect down_unmapped -eq 1
  expect up_unmapped -eq 0
}
# Seconds: longer than a busy machine lets anyone stand still between two sendings. Hence the tries side by side.
forget=8
in_background() { (trap wan_down EXIT; try "$@") & tries+=($!); }
tries=()
in_background 10.77.0.2
in_background 10.77.0.2 --no-offload
in_background fd77::2
in_background fd77::2 --no-offload
for pid in "${tries[@]}"; do wait "$pid" || failed=1; done
[ -z "${failed-}" ] || exit 1

case="a firewall lets in what answers the far host alone"
cat >"$dir/firewall_near.py" <<'PYTHON'
import socket, sys
near = [socket.socket(socket.AF_INET, socket.SOCK_DGRAM) for port in (5000, 5001)]
for one, port in zip(near, (5000, 5001)):
    one.bind(("10.77.0.1", port))
    one.settimeout(30)
    one.sendto(b"too soon", ("10.77.0.2", 9))
print("asked", flush=True)
assert near[0].recv(100) == b"come in"
for one in reversed(near):
    one.sendto(b"answer", ("10.77.0.2", 9))
    one.sendto(b"to another port", ("10.77.0.2", 10))
PYTHON
cat >"$dir/firewall_far.py" <<'PYTHON'
import socket
far, other = [socket.socket(socket.AF_INET, socket.SOCK_DGRAM) for port in (9, 10)]
far.bind(("10.77.0.2", 9))
other.bind(("10.77.0.2", 10))
far.settimeout(30)
far.sendto(b"come in", ("10.77.0.1", 5000))
assert far.recvfrom(100) == (b"answer", ("10.77.0.1", 5000))
PYTHON
wan_up --firewall || fail "does not start"
wan_near timeout 100 python3 "$dir/firewall_near.py" >"$dir/asked" &
near=$!
wait_until grep -q asked "$dir/asked"
wan_far timeout 100 python3 "$dir/firewall_far.py" || fail "see above"
wait "$near" || fail "see above"
wan_down
expect up_unmapped -eq 5
expect down_unmapped -eq 0

case="no NAT"
wan_up || fail "does not start"
wan_down
expect nat_mappings -eq 0
if "$WAN_LINK" --near /proc/self/ns/net --far /proc/self/ns/net --seconds 0 --nat-forget soon >/dev/null 2>&1; then
  fail "--nat-forget soon is accepted"
fi
echo passed
