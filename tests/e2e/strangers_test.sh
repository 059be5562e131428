#!/bin/bash
# Strangers at every port of a session under way: its bytes arrive, its status is right, nothing is said.
. "$(dirname "$0")/lib.sh"
e2e_start
pattern 4000000 >"$dir/bytes"
size_is() { [ "$(stat -c %s "$1")" -ge "$2" ]; }

strangers() { # HOST PID...: all that can be thrown at the ports that these processes have open
  bounded python3 - "$@" <<'END'
import os, random, re, socket, subprocess, sys, time
random.seed(7)
pids = {"pid=%s," % pid for pid in sys.argv[2:]}
ports = {"-u": set(), "-t": set()}
for kind in ports:
    listing = subprocess.run(["ss", "-Hnap", kind], capture_output=True, text=True, check=True).stdout
    for line in listing.splitlines():
        if any(pid in line for pid in pids):
            ports[kind].add(int(line.split()[3 + (kind == "-x")].rsplit(":", 1)[1]))
assert len(ports["-u"]) >= 4, "no UDP ports found: %s" % ports
udp = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
heads = [b"", b"\0", b"\0\0\0\0\0\0\0\1", bytes(11), b"\1" + bytes(10)]
for turn in range(300):
    for port in ports["-u"]:
        size = random.choice([0, 1, 10, 11, 12, 27, 28, 100, 1200, 1472, 9000, 60000])
        udp.sendto((random.choice(heads) + random.randbytes(size))[:65507], (sys.argv[1], port))
    time.sleep(0.0005)
held = []
for turn in range(40):
    for port in list(ports["-t"]) + list(ports["-u"]):
        tcp = socket.socket()
        tcp.settimeout(0.2)
        try:
            tcp.connect((sys.argv[1], port))
            tcp.sendall(random.choice([b"", b"GET / HTTP/1.0\r\n\r\n", b"\0\x20" + random.randbytes(32), b"\xff" * 200]))
        except OSError:
            pass
        held.append(tcp)
END
}

step "during a transfer up and down, at both ends"
mkfifo "$dir/stdin"
shim_in_background -v -c 4 far 'cat; exit 7' <"$dir/stdin" >"$dir/got" 2>"$dir/log" &
shim=$!
exec 8>"$dir/stdin"
head -c 2000000 "$dir/bytes" >&8
until_true size_is "$dir/got" 2000000
until_true grep -q "channel 3: proved" "$dir/log"
strangers 127.0.0.1 "$(server_pid)" "$shim" || fail "the strangers themselves"
tail -c +2000001 "$dir/bytes" >&8 & 
strangers 127.0.0.1 "$(server_pid)" "$shim" || fail "the strangers themselves"
wait $!
exec 8>&-
wait "$shim"
same "status" 7 $?
same_file "the bytes" "$dir/bytes" "$dir/got"
grep -v '^mcdtp-shim: \|^debug\|^OpenSSH\|^Authenticated\|^Transferred\|^Bytes' "$dir/log" >"$dir/odd"
[ ! -s "$dir/odd" ] || fail "$(cat "$dir/odd")"
grep 'broke the protocol\|ended before' "$dir/log" >&2 && fail "they were heard"

step "before the client has its control link"
# It asks for one port of the server's while strangers hold many connections to it: until then it stands still.
mkfifo "$dir/slow"
cat >"$dir/server" <<END
#!/bin/sh
until [ -s '$dir/client' ]; do sleep 0.01; done
kill -STOP "\$(cat '$dir/client')"
exec mcdtp-server "\$@"
END
chmod +x "$dir/server"
for turn in {1..5}; do
  rm -f "$dir/client"
  shim_in_background -v -c 1 --port-range 61600-61600 --server "$dir/server" far 'head -n 1' >"$dir/got" 2>"$dir/log" <"$dir/slow" &
  shim=$!
  echo "$shim" >"$dir/client"
  echo word >"$dir/slow"
  bounded python3 - "$shim" "$dir/got" <<'END' || fail "the strangers themselves"
import os, signal, socket, sys, time
held = []
while len(held) < 100:
    tcp = socket.socket()
    tcp.settimeout(0.05)
    try:
        tcp.connect(("127.0.0.1", 61600))
        held.append(tcp)
    except OSError:
        time.sleep(0.002)
os.kill(int(sys.argv[1]), signal.SIGCONT)
while os.path.getsize(sys.argv[2]) == 0:
    time.sleep(0.02)
END
  wait "$shim"
  same "status" 0 $?
  same "stdout" word "$(cat "$dir/got")"
done
nothing_left
passed
