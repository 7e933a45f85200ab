"""Opens connections to a service, as fast as it can, until it has dropped enough, and says how many it dropped.

python -m tests.hostile.connections ipc:///run/user/1000/loader-service/default.sock
"""

from __future__ import annotations

import resource
import select
import socket
import struct
import sys
import time

#: It goes on for so long at the least, and at the most, in seconds.
_LEAST_S, _MOST_S = 4.0, 60.0

#: So many that were dropped are enough: all that were open then.
_ENOUGH = 3_000

#: For one connection, as the kernel takes it: seconds and microseconds.
_PATIENCE = struct.pack("ll", 60, 0)

#: So many are open at once; two such processes have more than the service may.
_MOST = 10_000


def main() -> None:
    """Open connections until enough are dropped, or the time is over."""
    path = sys.argv[1].removeprefix("ipc://")
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    begun = time.monotonic()
    opened: dict[int, socket.socket] = {}
    ends = select.poll()
    dropped = 0
    while time.monotonic() - begun < (_LEAST_S if dropped > _ENOUGH else _MOST_S):
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
