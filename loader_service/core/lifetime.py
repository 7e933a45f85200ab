"""When the service is ready, when it is told to end, and when it has come to its end. Pure."""

from __future__ import annotations

from loader_service.core.effects import Announce, End, Note
from loader_service.core.ledger import Ledger

#: Who asked a service to end has so long to read the answer, in seconds, if it does not say goodbye before: an answer
#: that nobody has read yet is gone when the connection ends.
ANSWER_READ_S = 1.0


class Lifetime:
    """The life of a service, which is announced once, and ends once.

    Parameters
    ----------
    drain_s
        How long its workers may take to finish what they are at when it is told to end.
    ledger
        Gets the deeds.
    """

    def __init__(self, drain_s: float, ledger: Ledger) -> None:
        self._drain_s = drain_s
        self._ledger = ledger
        self._announced = False
        self._ends_by: float | None = None  # when stopping
        self._askers: set[bytes] = set()  # who asked it to end, and may not have read the answer
        self._read_by = 0.0
        self._again = False  # after the end
        self._over = False

    @property
    def is_stopping(self) -> bool:
        """Whether it was told to end."""
        return self._ends_by is not None

    @property
    def is_changing(self) -> bool:
        """Whether `settle` may have something to say."""
        return not self._announced or (self._ends_by is not None and not self._over)

    def stop(self, reason: str, now: float, *, again: bool, asker: bytes = b"") -> bool:
        """Begin to end, and to begin anew after that if nobody says otherwise; return whether that is news."""
        if asker:
            self._askers.add(asker)
            self._read_by = now + ANSWER_READ_S
        if self._ends_by is not None:
            self._again = self._again and again
            return False
        self._again = again
        self._ends_by = now + self._drain_s
        self._announced = True
        self._ledger.add(Note(f"stopping: {reason}", is_fault=False))
        self._ledger.add(Announce("stopping"))
        return True

    def forget(self, client: bytes) -> None:
        """Take note that a client is gone, and reads no answer any more."""
        self._askers.discard(client)

    def settle(self, now: float, *, all_there: bool, none_left: bool) -> None:
        """Say that the service is ready when all workers are there, and over when none is left, or time is."""
        if all_there and not self._announced:
            self._announced = True
            self._ledger.add(Announce("ready"))
        if now >= self._read_by:
            self._askers.clear()
        none_left = none_left and not self._askers
        if self._ends_by is not None and not self._over and (now >= self._ends_by or none_left):
            self._over = True
            self._ledger.add(End(self._again))

    def next_deadline(self) -> float | None:
        """Return when it ends, or waits for no reader any more, whatever others do; None if it is not to end."""
        if self._over or self._ends_by is None:
            return None
        return min(self._ends_by, self._read_by) if self._askers else self._ends_by
