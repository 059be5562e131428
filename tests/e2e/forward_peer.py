#!/usr/bin/env python3
"""The programs at the ends of forwarded connections, for forward_test.sh.

forward_peer.py echo              listens, prints its port, and sends back what comes until its end, then ends too
forward_peer.py source SIZE       listens, sends SIZE bytes and its end, and counts what comes after that
forward_peer.py sink              listens, reads nothing and sends nothing
forward_peer.py answer SIZE       listens, reads one byte, sends SIZE bytes and closes, whatever else has come
forward_peer.py slow FILE         listens, sends its end at once, takes little, reads on when FILE is there, and counts
forward_peer.py reset             listens, reads one byte and resets
forward_peer.py send HOST PORT    connects, sends stdin and its end, prints what comes back; exit 3: it was reset
forward_peer.py upload HOST PORT  connects and sends until it may not, prints how many bytes came back
forward_peer.py watch HOST PORT   connects and sends one byte, then says how it ends: eof, reset
forward_peer.py drop HOST PORT    connects to an echo, sends one byte, and resets when it is back
forward_peer.py many HOST PORT N  N connections at once to an echo, each with bytes of its own
forward_peer.py rows HOST PORT N  N connections to an echo, one after another
forward_peer.py socks KIND HOST PORT TARGET TARGET_PORT
                                  as send, through a SOCKS proxy: KIND is 4, 4a, 5 (an address) or 5h (a name); the
                                  bytes go out with the request. Refused: prints the proxy's code, exit 4
Where HOST is "unix", PORT is a path; a third word of the listeners, "unix PATH", listens there.
"""
import os
import socket
import struct
import sys
import threading
import time

RESET = struct.pack("ii", 1, 0)


def connect(host, port):
    if host == "unix":
        s = socket.socket(socket.AF_UNIX)
        s.connect(port)
        return s
    s = socket.create_connection((host, int(port)), 30)
    s.settimeout(None)  # the caller bounds the rest
    return s


def say(line):
    # At once: connections have threads of their own, and print() writes in pieces.
    sys.stderr.write(line + "\n")
    sys.stderr.flush()


def reset(s):
    s.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET)
    s.close()


def read_all(s):
    parts = []
    while True:
        part = s.recv(65536)
        if not part:
            return b"".join(parts)
        parts.append(part)


def echo(s, _):
    while True:
        part = s.recv(65536)
        if not part:
            break
        s.sendall(part)
    s.shutdown(socket.SHUT_WR)
    s.close()


def source(s, size):
    s.sendall(b"x" * int(size))
    s.shutdown(socket.SHUT_WR)
    say(f"after the end: {len(read_all(s))}")
    s.close()


def sink(s, _):
    kept.append(s)


def answer(s, size):
    s.recv(1)
    s.sendall(b"x" * int(size))
    s.recv(1, socket.MSG_PEEK)
    s.close()


def slow(s, file):
    s.shutdown(socket.SHUT_WR)
    while not os.path.exists(file):
        time.sleep(0.01)
    say(f"read: {len(read_all(s))}")
    s.close()


def reset_soon(s, _):
    s.recv(1)
    reset(s)


kept = []


def attempt(serve, s, argument):
    try:
        serve(s, argument)
    except OSError as error:
        say(type(error).__name__)


def listen(serve, words):
    if words[-2:-1] == ["unix"]:
        s = socket.socket(socket.AF_UNIX)
        s.bind(words[-1])
        name = words[-1]
    else:
        s = socket.socket()
        s.bind(("127.0.0.1", 0))
        name = s.getsockname()[1]
    if serve is slow:
        # So that the systems hold some 85 kB.
        s.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        s.setsockopt(socket.IPPROTO_TCP, socket.TCP_MAXSEG, 1000)
    s.listen(1024)
    print(name, flush=True)
    while True:
        accepted, _ = s.accept()
        threading.Thread(target=attempt, args=(serve, accepted, words[0] if words else None), daemon=True).start()


def send(host, port):
    s = connect(host, port)
    got = []
    reader = threading.Thread(target=lambda: got.append(read_all(s)))
    reader.start()
    while True:
        part = sys.stdin.buffer.read(65536)
        if not part:
            break
        s.sendall(part)
    s.shutdown(socket.SHUT_WR)
    reader.join()
    if not got:
        sys.exit(3)
    sys.stdout.buffer.write(got[0])


def socks_request(kind, target, port):
    port = struct.pack(">H", int(port))
    if kind == "4":
        return b"\x04\x01" + port + socket.inet_aton(target) + b"me\0"
    if kind == "4a":
        return b"\x04\x01" + port + b"\0\0\0\x01me\0" + target.encode() + b"\0"
    if kind == "5h":
        return b"\x05\x01\0\x03" + bytes([len(target)]) + target.encode() + port
    six = ":" in target
    address = socket.inet_pton(socket.AF_INET6 if six else socket.AF_INET, target)
    return b"\x05\x01\0" + (b"\x04" if six else b"\x01") + address + port


def read_exactly(s, size):
    got = b""
    while len(got) < size:
        part = s.recv(size - len(got))
        if not part:
            sys.exit("the proxy closed after %d of %d bytes" % (len(got), size))
        got += part
    return got


def socks(kind, host, port, target, target_port):
    s = connect(host, port)
    words = sys.stdin.buffer.read()
    if kind[0] == "5":
        s.sendall(b"\x05\x02\x02\0")
        assert read_exactly(s, 2) == b"\x05\0", "another method"
    s.sendall(socks_request(kind, target, target_port) + words)
    code = read_exactly(s, 8)[1]
    if kind[0] == "5":
        read_exactly(s, 2)
    if code != (0x5A if kind[0] == "4" else 0):
        print(code)
        sys.exit(4)
    s.shutdown(socket.SHUT_WR)
    sys.stdout.buffer.write(read_all(s))


def upload(host, port):
    s = connect(host, port)
    try:
        while True:
            s.sendall(b"x" * 65536)
    except OSError:
        pass
    got = 0
    try:
        while True:
            part = s.recv(65536)
            if not part:
                break
            got += len(part)
    except ConnectionResetError:
        pass
    print(got)


def watch(host, port):
    try:
        s = connect(host, port)
        s.sendall(b"x")
        read_all(s)
        print("eof")
    except ConnectionResetError:
        print("reset")


def drop(host, port):
    s = connect(host, port)
    s.sendall(b"x")
    s.recv(1)
    reset(s)


def ask(host, port, n):
    s = connect(host, port)
    return s, b"%d " % n * 400


def many(host, port, count):
    open_ones = [ask(host, port, n) for n in range(int(count))]
    for s, words in open_ones:
        s.sendall(words)
        s.shutdown(socket.SHUT_WR)
    for s, words in open_ones:
        assert read_all(s) == words, "the bytes differ"
        s.close()


def rows(host, port, count):
    for n in range(int(count)):
        s, words = ask(host, port, n)
        s.sendall(words)
        s.shutdown(socket.SHUT_WR)
        assert read_all(s) == words, "the bytes differ"
        s.close()


listeners = {"echo": echo, "source": source, "sink": sink, "answer": answer, "slow": slow, "reset": reset_soon}
connectors = {"send": send, "socks": socks, "upload": upload, "watch": watch, "drop": drop, "many": many, "rows": rows}
if sys.argv[1] in listeners:
    listen(listeners[sys.argv[1]], sys.argv[2:])
else:
    connectors[sys.argv[1]](*sys.argv[2:])
