"""What finalizers tell the session's thread: they run in any thread, at any bytecode, and take no lock."""

from __future__ import annotations

import os
import select
import weakref
from collections import deque
from collections.abc import Iterator

from loader_client.session.delivery import StreamAtService


class Doorbell:
    """What is told and not heard yet. Any thread may tell; who hears it does so under one lock.

    `fileno` is readable once somebody has rung, for who reads the socket; `stand_by` waits for the same, for the
    session's thread while another one reads. Whoever can still ring keeps the bell alive, and with it the numbers of
    its files, which could be other files' otherwise.
    """

    def __init__(self) -> None:
        self._told: deque[tuple[StreamAtService, int] | int] = deque()
        self._number, self._second = (os.eventfd(0, os.EFD_NONBLOCK | os.EFD_CLOEXEC) for _ in range(2))
        self._rung = select.poll()
        self._rung.register(self._second, select.POLLIN)
        self._is_disowned = False
        self.is_attended = False  # whether somebody reads the socket
        self.is_awaited = False  # whether somebody waits for what the end of a lease may bring
        for number in (self._number, self._second):
            weakref.finalize(self, os.close, number).atexit = False

    def fileno(self) -> int:
        """Return the file that is readable once somebody has rung."""
        return self._number

    def ring(self) -> None:
        """Wake who reads the socket, and the session's thread if that stands by."""
        if not self._is_disowned:
            os.eventfd_write(self._number, 1)
            if not self.is_attended:
                os.eventfd_write(self._second, 1)

    def quiet(self) -> None:
        """Take note of the ring."""
        os.eventfd_read(self._number)

    def stand_by(self, for_s: float) -> bool:
        """Wait without the socket; return whether somebody has rung."""
        if not self._rung.poll(max(0, int(for_s * 1000) + 1)):
            return False
        os.eventfd_read(self._second)
        return True

    def lease_ended(self, at: StreamAtService, lease: int) -> None:
        """Tell that nobody reads a slot any more; it is heard at once if somebody waits, else with the next ring."""
        self._told.append((at, lease))
        if self.is_awaited:
            self.ring()

    def stream_dropped(self, key: int) -> None:
        """Tell that nobody has a stream any more."""
        self._told.append(key)
        self.ring()

    def told(self) -> Iterator[tuple[StreamAtService, int] | int]:
        """Yield what was told since: ended leases, and keys of dropped streams."""
        while self._told:
            yield self._told.popleft()

    def disown(self) -> None:
        """Leave the bell to the parent, in a forked child."""
        self._is_disowned = True
