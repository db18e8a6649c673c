"""Keeps a listening socket and starts a program with it, as systemd does with a socket unit.

Usage: socket-parent.py PROGRAM [ARGUMENT...]. Prints the port. Starts the program again when it
ends with status 0. Ends with the program on SIGTERM, and if its parent closes its input.
"""

import os
import signal
import socket
import sys
import threading

listener = socket.socket()
listener.bind(("127.0.0.1", 0))
listener.listen(4096)
print(listener.getsockname()[1], flush=True)
child = 0
is_ending = False


def end(*_):
    global is_ending
    is_ending = True
    if child:
        os.kill(child, signal.SIGKILL)


def end_with_parent():
    sys.stdin.read()
    end()


signal.signal(signal.SIGTERM, end)
threading.Thread(target=end_with_parent, daemon=True).start()
while not is_ending:
    child = os.fork()
    if child == 0:
        os.dup2(listener.fileno(), 3)
        # Also where it was 3 already.
        os.set_inheritable(3, True)
        os.environ.update(LISTEN_PID=str(os.getpid()), LISTEN_FDS="1")
        os.execv(sys.argv[1], sys.argv[1:])
    _, status = os.waitpid(child, 0)
    if status != 0:
        break
