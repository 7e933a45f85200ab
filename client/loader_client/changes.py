"""A condition whose lock is taken without a call of Python's, and that wakes nobody where nobody waits."""

from __future__ import annotations

import threading


class Changes(threading.Condition):
    """A condition over a lock that a thread may take again; `lock` is the same, and quicker to take."""

    def __init__(self) -> None:
        self.lock = threading.RLock()
        self._parked = 0  # who waits
        super().__init__(self.lock)

    def wait(self, timeout: float | None = None) -> bool:
        """Wait as a condition does; `wait_for` comes here too."""
        self._parked += 1
        try:
            return super().wait(timeout)
        finally:
            self._parked -= 1

    def tell(self) -> None:
        """Wake all who wait; held, as to notify is."""
        if self._parked:
            self.notify_all()
