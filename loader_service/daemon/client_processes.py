"""Watches the processes of clients, so that the end of one is noticed at once; knows nothing of what they ask."""

from __future__ import annotations

import os
import select


class ClientProcesses:
    """The processes of the clients, as far as they can be watched; a context manager that closes their pidfds.

    Of one that cannot be watched, as from another PID namespace, only silence tells that it has ended.

    Parameters
    ----------
    watched
        Becomes ready when a client's process ends. Closed descriptors leave it by themselves.
    """

    def __init__(self, watched: select.epoll) -> None:
        self._watched = watched
        self._pidfds: dict[bytes, int] = {}

    def __enter__(self) -> ClientProcesses:
        return self

    def __exit__(self, *_: object) -> None:
        for client in list(self._pidfds):
            self.unwatch(client)

    def watch(self, client: bytes, pid: int) -> None:
        """Watch the process of the client at an address."""
        pidfd = _pidfd(pid)
        if pidfd is not None:
            self._watched.register(pidfd, select.EPOLLIN)
            self._pidfds[client] = pidfd

    def unwatch(self, client: bytes) -> None:
        """Watch it no more."""
        pidfd = self._pidfds.pop(client, None)
        if pidfd is not None:
            os.close(pidfd)

    def ended(self, ready: set[int]) -> list[bytes]:
        """Return the clients whose processes have ended; `ready` are the descriptors that became readable."""
        return [client for client, pidfd in self._pidfds.items() if pidfd in ready] if ready else []


def _pidfd(pid: int) -> int | None:
    """Return a pidfd of a client's process, None when there is none that this user may watch."""
    try:
        if pid <= 0 or os.stat(f"/proc/{pid}").st_uid != os.getuid():
            return None
        return os.pidfd_open(pid)
    except OSError:
        return None
