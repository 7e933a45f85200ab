"""When the service is ready, when it is told to end, and when it has come to its end. Pure."""

from __future__ import annotations

from loader_service.core.effects import Announce, End, Note
from loader_service.core.ledger import Ledger


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

    def stop(self, reason: str, now: float, *, again: bool) -> bool:
        """Begin to end, and to begin anew after that if nobody says otherwise; return whether that is news."""
        if self._ends_by is not None:
            self._again = self._again and again
            return False
        self._again = again
        self._ends_by = now + self._drain_s
        self._announced = True
        self._ledger.add(Note(f"stopping: {reason}", is_fault=False))
        self._ledger.add(Announce("stopping"))
        return True

    def settle(self, now: float, *, all_there: bool, none_left: bool) -> None:
        """Say that the service is ready when all workers are there, and over when none is left, or time is."""
        if all_there and not self._announced:
            self._announced = True
            self._ledger.add(Announce("ready"))
        if self._ends_by is not None and not self._over and (now >= self._ends_by or none_left):
            self._over = True
            self._ledger.add(End(self._again))

    def next_deadline(self) -> float | None:
        """Return when it ends whatever its workers do; None before it is told to, and after it has."""
        return None if self._over else self._ends_by
