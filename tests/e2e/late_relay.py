"""A way to a TCP port for ProxyCommand, which can be held up: late_relay.py HOST PORT HOLD RELEASE.

Once the file HOLD is there, the first relay that sees it renames it to HOLD.taken, and from then on passes on nothing
more that comes from the port until the file RELEASE is there."""
import os
import select
import socket
import sys
import threading
import time

host, port, hold, release = sys.argv[1:]
far = socket.create_connection((host, int(port)))


def up():
    while data := os.read(0, 65536):
        far.sendall(data)
    far.shutdown(socket.SHUT_WR)


threading.Thread(target=up, daemon=True).start()
while True:
    ready, _, _ = select.select([far], [], [], 0.01)
    if os.path.exists(hold):
        os.rename(hold, hold + ".taken")
        while not os.path.exists(release):
            time.sleep(0.01)
    if not ready:
        continue
    if not (data := far.recv(65536)):
        break
    view = memoryview(data)
    while view:
        view = view[os.write(1, view) :]
