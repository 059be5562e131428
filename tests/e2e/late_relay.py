"""A way to a TCP port for ProxyCommand, which can be held up: late_relay.py HOST PORT HOLD RELEASE.

Once the file HOLD is there, the first relay that sees it takes it away, and passes on nothing more that comes from
the port until the file RELEASE is there."""
import os
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
while data := far.recv(65536):
    if os.path.exists(hold):
        os.rename(hold, hold + ".taken")
        while not os.path.exists(release):
            time.sleep(0.01)
    view = memoryview(data)
    while view:
        view = view[os.write(1, view) :]
