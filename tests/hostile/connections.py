"""Opens connections to a service for a few seconds, as fast as it can, and says how many the service dropped.

python -m tests.hostile.connections ipc:///run/user/1000/loader-service/default.sock
"""

from __future__ import annotations

import resource
import select
import socket
import struct
import sys
import time

_LASTS_S = 4.0

#: For one connection, as the kernel takes it: seconds and microseconds.
_PATIENCE = struct.pack("ll", 10, 0)

#: So many are open at once; two such processes have more than the service may.
_MOST = 10_000


def main() -> None:
    """Open connections until the time is over."""
    path = sys.argv[1].removeprefix("ipc://")
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    deadline = time.monotonic() + _LASTS_S
    opened: dict[int, socket.socket] = {}
    ends = select.poll()
    dropped = 0
    while time.monotonic() < deadline:
        for _ in range(min(100, _MOST - len(opened))):
            connection = socket.socket(socket.AF_UNIX)
            connection.setsockopt(
                socket.SOL_SOCKET, socket.SO_SNDTIMEO, _PATIENCE
            )  # bounds `connect`, which is to block
            connection.connect(path)
            opened[connection.fileno()] = connection
            ends.register(connection, select.POLLRDHUP)
        for descriptor, _ in ends.poll(0):
            ends.unregister(descriptor)
            opened.pop(descriptor).close()
            dropped += 1
    print(dropped)


if __name__ == "__main__":
    main()
