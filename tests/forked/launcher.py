"""A process that has another one fork, and stands for the fork: same input and output, folder, environment, status.

Signals are passed on, and the fork ends with this process. Nothing is imported here that takes long.
"""

import json
import os
import signal
import socket
import sys
import time

TRIES = 4800
PASSED_ON = (signal.SIGINT, signal.SIGTERM)


def main(address, *arguments):
    """Stand for the Python process with these arguments until it ends."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as server:
        connect(server, address)
        order = {"arguments": arguments, "environment": dict(os.environ), "folder": os.getcwd()}  # noqa: PTH109 - pathlib takes long
        socket.send_fds(server, [json.dumps(order).encode() + b"\n"], [0, 1, 2])
        process = int(server.recv(32))
        for number in PASSED_ON:
            signal.signal(number, lambda sent, _: os.kill(process, sent))
        status = server.recv(32)
    return int(status) if status else 1


def connect(server, address):
    """Connect as soon as the other side has imported what it needs."""
    for _ in range(TRIES):
        try:
            return server.connect(address)
        except (FileNotFoundError, ConnectionRefusedError):
            time.sleep(0.05)
    raise TimeoutError(f"nothing forks at {address}")


def end_like(status):
    """End with the status of a process, or by the signal that ended it."""
    if status < 0:
        if -status != signal.SIGKILL:
            signal.signal(-status, signal.SIG_DFL)
        os.kill(os.getpid(), -status)
    sys.exit(status)


if __name__ == "__main__":
    end_like(main(*sys.argv[1:]))
