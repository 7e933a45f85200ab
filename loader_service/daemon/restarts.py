"""Says whether a service that has died is started once more; pure, since time is passed in."""

from __future__ import annotations

#: Restarts in a row, and how long a service must have served for those before it to count no more, in seconds. What
#: kills a service that often within minutes is no accident, and will kill the next one too.
MOST_RESTARTS, FORGIVEN_AFTER_S = 3, 600.0


class Restarts:
    """Counts restarts, and forgives them after a long life."""

    def __init__(self) -> None:
        self._in_a_row = 0
        self._ready_at: float | None = None  # of the present life; None while it starts

    @property
    def in_a_row(self) -> int:
        """Restarts that are not forgiven."""
        return self._in_a_row

    def ready(self, now: float) -> None:
        """Note that the service can be used."""
        self._ready_at = now

    def allow(self, now: float) -> bool:
        """Note that the service has died; return whether to start it again, and count that."""
        if self._ready_at is not None and now - self._ready_at >= FORGIVEN_AFTER_S:
            self._in_a_row = 0
        self._ready_at = None
        if self._in_a_row >= MOST_RESTARTS:
            return False
        self._in_a_row += 1
        return True
