"""Tells systemd how the service is, when systemd asked to be told; does nothing elsewhere.

References
----------
sd_notify(3): datagrams of ``VARIABLE=VALUE`` lines to the socket that ``$NOTIFY_SOCKET`` names;
sd_watchdog_enabled(3): ``$WATCHDOG_USEC`` is for the process ``$WATCHDOG_PID``, if that is set.
"""

from __future__ import annotations

import contextlib
import os
import socket
from pathlib import Path


class SystemdNotifier:
    """Speaks to systemd; a context manager that closes its socket. Used by the daemon's one thread.

    Parameters
    ----------
    address
        Of systemd's socket, as ``$NOTIFY_SOCKET`` has it; empty to say nothing.
    """

    def __init__(self, address: str) -> None:
        self._socket: socket.socket | None = None
        if address:
            self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM | socket.SOCK_CLOEXEC)
            self._socket.setblocking(False)
            self._socket.connect("\0" + address[1:] if address.startswith("@") else address)
        # systemd watches one process; what that has started inherits its environment, but is not waited for.
        watched_pid = int(os.environ.get("WATCHDOG_PID") or os.getpid())
        watchdog_us = int(os.environ.get("WATCHDOG_USEC") or 0) if watched_pid == os.getpid() else 0
        #: How often `alive` should be called, in seconds; None when nobody waits for it.
        self.beat_s = watchdog_us / 3e6 if watchdog_us and self._socket is not None else None

    @property
    def is_asked(self) -> bool:
        """Whether a manager waits to be told."""
        return self._socket is not None

    def __enter__(self) -> SystemdNotifier:
        return self

    def __exit__(self, *_: object) -> None:
        if self._socket is not None:
            self._socket.close()

    def ready(self, status: str) -> None:
        """Tell that the service can be used."""
        self._say(f"READY=1\nSTATUS={status}")

    def alive(self) -> None:
        """Tell that the loop turns."""
        self._say("WATCHDOG=1")

    def stopping(self) -> None:
        """Tell that the service is about to end."""
        self._say("STOPPING=1")

    def _say(self, text: str) -> None:
        if self._socket is None:
            return
        with contextlib.suppress(BlockingIOError):  # systemd is behind with reading: it will get the next beat
            self._socket.send(text.encode())


def unit_restart() -> str:
    """Return how people have systemd restart the unit that this process is in."""
    try:
        groups = Path("/proc/self/cgroup").read_text(encoding="utf-8", errors="replace").split()
    except OSError:
        groups = []
    for group in groups:
        unit = group.rpartition("/")[2]
        if unit.endswith(".service"):
            return f"systemctl {'--user ' if '/user@' in group else ''}restart {unit}"
    return "systemctl restart UNIT"
