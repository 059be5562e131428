"""Both ends of the conversations that tests/bench/ports measures through a forwarded port.

  talk.py answers PORT                 the far end: answers each 100 bytes with 100 bytes
  talk.py source PORT                  the far end: sends until nobody takes any more
  talk.py sink PORT                    the far end: takes all up to the end, then says how much it was
  talk.py ask PORT COUNT CONNECTIONS   the near end: COUNT requests over so many connections at once, each waiting for
                                       its answer; prints the median and the 99th percentile in ms
  talk.py fetch PORT BYTES             the near end of source: takes so much, prints Mbit/s
  talk.py give PORT BYTES              the near end of sink: prints Mbit/s
"""

import random
import socket
import sys
import threading
import time

SIZE = 100
BLOCK = bytes(1 << 18)


def receive(connection, size):
    parts = b""
    while len(parts) < size:
        part = connection.recv(size - len(parts))
        if not part:
            return None
        parts += part
    return parts


def answer(connection):
    while (request := receive(connection, SIZE)) is not None:
        connection.sendall(request[::-1])


def send_for_ever(connection):
    while True:
        connection.sendall(BLOCK)


def take_all(connection):
    buffer = bytearray(len(BLOCK))
    total = 0
    while size := connection.recv_into(buffer):
        total += size
    connection.sendall(b"%d\n" % total)


def serve(port, work):
    def run(connection):
        with connection:
            try:
                work(connection)
            except OSError:
                pass  # the other end has had enough

    listener = socket.create_server(("127.0.0.1", port), backlog=128)
    while True:
        connection, _ = listener.accept()
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        threading.Thread(target=run, args=(connection,), daemon=True).start()


def connect(port):
    connection = socket.create_connection(("127.0.0.1", port), timeout=120)
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return connection


def ask(port, count, connections):
    times = []

    def converse(number):
        think = random.Random(number)
        with connect(port) as connection:
            for turn in range(-1, count // connections):
                request = bytes(think.randrange(256) for _ in range(SIZE))
                begin = time.perf_counter()
                connection.sendall(request)
                assert receive(connection, SIZE) == request[::-1]
                if turn >= 0:  # the first one opens the far connection
                    times.append(time.perf_counter() - begin)
                time.sleep(think.random() * 0.01)

    threads = [threading.Thread(target=converse, args=(number,)) for number in range(connections)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(times) == count // connections * connections, "a connection failed"
    times.sort()
    print("%.2f %.2f" % (times[len(times) // 2] * 1e3, times[min(len(times) - 1, len(times) * 99 // 100)] * 1e3))


def fetch(port, size):
    buffer = bytearray(len(BLOCK))
    with connect(port) as connection:
        begin, left = time.perf_counter(), size
        while left > 0:
            got = connection.recv_into(buffer, min(left, len(buffer)))
            assert got, "the source has ended"
            left -= got
        print("%.1f" % (size * 8e-6 / (time.perf_counter() - begin)))


def give(port, size):
    with connect(port) as connection:
        begin, left = time.perf_counter(), size
        while left > 0:
            connection.sendall(BLOCK[: min(left, len(BLOCK))])
            left -= min(left, len(BLOCK))
        connection.shutdown(socket.SHUT_WR)
        assert int(connection.makefile().readline()) == size
        print("%.1f" % (size * 8e-6 / (time.perf_counter() - begin)))


def main(verb, port, *numbers):
    far = {"answers": answer, "source": send_for_ever, "sink": take_all}
    near = {"ask": ask, "fetch": fetch, "give": give}
    if verb in far:
        serve(int(port), far[verb])
    else:
        near[verb](int(port), *map(int, numbers))


if __name__ == "__main__":
    main(*sys.argv[1:])
