#!/bin/bash
# Trains that the sender's kernel leaves to the card cross the link of tests/wan in one read, and still each packet of
# them has its own fate, comes whole and at most once, and none in the place of another. UDP and TCP, IPv4 and IPv6.
here=$(cd "$(dirname "$0")" && pwd)
. "$here/../wan/netns.sh"
wan_enter "$@"
wan_check || exit
command -v python3 >/dev/null || { echo "skipped: no python3"; exit 77; }
dir=$(mktemp -d)
trap 'wan_down; rm -rf "$dir"' EXIT

case=
fail() { echo "FAILED: $case: $*"; [ -z "$WAN_STATS" ] || wan_stats; cat "$dir"/*.log 2>/dev/null; exit 1; }
link() { case="wan-link $*"; echo "$case"; wan_down; wan_up "$@" || fail "does not start"; }
expect() {
  local expression=$1 word
  for word in $(grep -o '[a-z][a-z_0-9]*' <<<"$1" | sort -u -r); do expression=${expression//$word/$(wan_stat "$word")}; done
  ((expression)) || fail "$1 ($expression)"
}

# Trains of 40 datagrams of 1,000 bytes and one of 700; after each a mark that is asked for until it comes back, so
# that no receive buffer ever overflows. Every datagram says its number and is filled by it.
cat >"$dir/udp.py" <<'END'
import socket, struct, sys
side, address, trains, gro = sys.argv[1], sys.argv[2], int(sys.argv[3]), sys.argv[4] == "gro"
UDP_SEGMENT, UDP_GRO = 103, 104
family = socket.AF_INET6 if ":" in address else socket.AF_INET
sock = socket.socket(family, socket.SOCK_DGRAM)
MARK = 0xffffffff

def datagram(number, size):
    return struct.pack("!I", number) + bytes([number * 7 % 251]) * (size - 4)

def ask_for(mark):
    data = struct.pack("!II", MARK, mark)
    for attempt in range(400):
        sock.send(data)
        try:
            while sock.recv(100) != data: pass
            return
        except TimeoutError: pass
    sys.exit("no echo of mark %d" % mark)

def near():
    number = 0
    sock.connect((address, 5000))
    sock.settimeout(0.05)
    for train in range(trains):
        data = b"".join(datagram(number + i, 1000) for i in range(40)) + datagram(number + 40, 700)
        sock.sendmsg([data], [(socket.IPPROTO_UDP, UDP_SEGMENT, struct.pack("H", 1000))])
        number += 41
        ask_for(train)
    ask_for(MARK)

def far():
    sock.bind((address, 5000))
    if gro: sock.setsockopt(socket.IPPROTO_UDP, UDP_GRO, 1)
    sock.settimeout(20)
    print("ready", flush=True)
    numbers, messages = [], 0
    while True:
        data, control, _, peer = sock.recvmsg(65536, 64)
        messages += 1
        size = struct.unpack("i", control[0][2])[0] if control else len(data)
        for at in range(0, len(data), size):
            one = data[at:at + size]
            number, = struct.unpack("!I", one[:4])
            if number != MARK:
                assert one == datagram(number, 700 if number % 41 == 40 else 1000), "bytes of %d differ" % number
                numbers.append(number)
                continue
            sock.sendto(one, peer)
            if one[4:] == one[:4]: return print_result(numbers, messages)

def print_result(numbers, messages):
    came = [len({n for n in numbers if n // 41 == train}) for train in range(trains)]
    print(len(numbers), len(set(numbers)), came.count(41), sum(0 < n < 41 for n in came),
          int(numbers == sorted(numbers)), messages)

near() if side == "near" else far()
END
cat >"$dir/tcp.py" <<'END'
import hashlib, random, socket, sys, threading
side, address = sys.argv[1], sys.argv[2]
family = socket.AF_INET6 if ":" in address else socket.AF_INET
sent = random.Random(5).randbytes(6000000)
if side == "far":
    server = socket.create_server((address, 5001), family=family)
    print("ready", flush=True)
    connection, _ = server.accept()
    got = bytearray()
    while data := connection.recv(1 << 16): got += data
    connection.sendall(b"same" if got == sent else b"different")
else:
    connection = socket.create_connection((address, 5001))
    connection.sendall(sent)
    connection.shutdown(socket.SHUT_WR)
    print(connection.recv(100).decode())
END

start_far() { # SCRIPT ARGUMENT...
  : >"$dir/far.log"
  wan_far timeout -k 1 60 python3 "$dir/$1" far "${@:2}" >"$dir/far.log" 2>&1 &
  far=$!
  local i
  for i in {1..500}; do grep -q ready "$dir/far.log" && return; sleep 0.02; done
  fail "the far side does not start"
}

# Sets got, distinct (datagrams), whole, damaged (trains), ordered, messages (that the far side read).
udp() { # ADDRESS gro|plain
  start_far udp.py "$1" 30 "$2"
  wan_near timeout -k 1 60 python3 "$dir/udp.py" near "$1" 30 "$2" >"$dir/near.log" 2>&1 || fail "the near side ends with $?"
  wait "$far" || fail "the far side ends with $?"
  read -r got distinct whole damaged ordered messages < <(tail -n 1 "$dir/far.log")
}

link --delay 1
udp 10.77.0.2 gro
wan_down
[ "$got $distinct $whole $ordered" = "1230 1230 30 1" ] || fail "got $got, distinct $distinct, whole trains $whole, ordered $ordered"
expect 'up_uncut == 0 && up_refused == 0'
# Linux before 6.2 hands UDP out packet by packet; what follows then holds as well.
if [ "$(wan_stat up_reads)" -lt "$(($(wan_stat up_in) / 4))" ]; then
  [ "$messages" -lt 300 ] || fail "$got datagrams came in $messages messages: nothing is joined"
  expect 'up_writes * 4 < up_delivered'
else
  echo "note: this kernel hands out no trains of UDP ($(uname -r))"
fi

for address in 10.77.0.2 fd77::2; do
  for gro in gro plain; do
    link --delay 1 --loss 0.4,0 --seed 5
    udp "$address" "$gro"
    wan_down
    # 738 and five standard deviations. Marks that are sent again draw too, so no seed says what is lost: a train without a
    # loss is a chance of one in 1,200,000,000.
    [ "$got" -ge 652 ] && [ "$got" -le 824 ] || fail "$address $gro: $got of 1230 came"
    [ "$damaged $ordered $((got - distinct))" = "30 1 0" ] || fail "$address $gro: of 30 trains $damaged came in part"
    expect 'up_in == up_lost + up_passed && up_lost >= 1230 - '"$got"
  done
done

link --delay 1 --reorder 0.1,0 --reorder-delay 3 --duplicate 0.1,0 --corrupt 0.1,0 --loss 0.1,0 --seed 6
udp 10.77.0.2 gro
wan_down
expect 'up_corrupted > 60 && up_duplicated > 60 && up_reordered > 60'
[ "$ordered" = 0 ] && [ "$distinct" -lt "$got" ] || fail "got $got, distinct $distinct, ordered $ordered"
[ "$distinct" -ge 896 ] && [ "$distinct" -le 1096 ] || fail "$distinct of 1230 came; 996 go whole"

for address in 10.77.0.2 fd77::2; do
  link --rate 200M --delay 1 --loss 0.01 --duplicate 0.01 --reorder 0.01 --corrupt 0.01 --seed 7
  start_far tcp.py "$address"
  same=$(wan_near timeout -k 1 60 python3 "$dir/tcp.py" near "$address" 2>"$dir/near.log") || fail "$address: the near side ends with $?"
  [ "$same" = same ] || fail "$address: the bytes differ"
  wait "$far" || fail "$address: the far side ends with $?"
  wan_down
  expect 'up_lost > 10 && up_corrupted > 10 && up_reads < up_in && up_uncut == 0'
done
echo passed
