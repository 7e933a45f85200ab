"""What finalizers tell the session's thread: they run in any thread, at any bytecode, and take no lock."""

from __future__ import annotations

import os
import weakref
from collections import deque

from loader_client.session.delivery import StreamAtService


class Doorbell:
    """What is told and not heard yet. Any thread may tell; who hears it does so under one lock.

    `fileno` is readable once somebody has rung. A thread that can ring keeps the bell alive, and with it the number of
    its file, which could be another file's otherwise.
    """

    def __init__(self) -> None:
        self.told: deque[tuple[StreamAtService, int] | int] = deque()  # ended leases, and keys of dropped streams
        self._number = os.eventfd(0, os.EFD_NONBLOCK | os.EFD_CLOEXEC)
        self._is_disowned = False
        self.is_awaited = False  # whether somebody waits for what the end of a lease may bring
        weakref.finalize(self, os.close, self._number).atexit = False

    def fileno(self) -> int:
        """Return the file that is readable once somebody has rung."""
        return self._number

    def ring(self) -> None:
        """Wake the session's thread."""
        if not self._is_disowned:
            os.eventfd_write(self._number, 1)

    def quiet(self) -> None:
        """Take note of the ring."""
        os.eventfd_read(self._number)

    def lease_ended(self, at: StreamAtService, lease: int) -> None:
        """Tell that nobody reads a slot any more; it is heard at once if somebody waits, else with the next ring."""
        self.told.append((at, lease))
        if self.is_awaited:
            self.ring()

    def stream_dropped(self, key: int) -> None:
        """Tell that nobody has a stream any more."""
        self.told.append(key)
        self.ring()

    def disown(self) -> None:
        """Leave the bell to the parent, in a forked child."""
        self._is_disowned = True
