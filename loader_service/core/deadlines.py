"""When the clock is due for any room of the service; which of them a step cannot move is known. Pure."""

from __future__ import annotations

from typing import Protocol

from loader_service.core.ledger import require


class Timed(Protocol):
    """What may have to be told that time has passed."""

    def next_deadline(self) -> float | None:
        """Return when, None while it waits for nothing."""


class Deadlines:
    """The first deadline of all rooms.

    Parameters
    ----------
    moved
        Rooms that a message of a step may give another deadline.
    fixed
        Rooms that it leaves as they are.
    """

    def __init__(self, moved: tuple[Timed, ...], fixed: tuple[Timed, ...]) -> None:
        self._moved = moved
        self._fixed = fixed
        self._first_fixed: float | None = None
        self._is_known = False

    def forget(self) -> None:
        """Ask all rooms again the next time, since something else than a message of a step has come."""
        self._is_known = False

    def next(self) -> float | None:
        """Return the first deadline, None while no room waits for anything."""
        if not self._is_known:
            self._first_fixed = _first(self._fixed)
            self._is_known = True
        deadline = self._first_fixed
        for room in self._moved:
            other = room.next_deadline()
            if other is not None and (deadline is None or other < deadline):
                deadline = other
        return deadline

    def validate(self) -> None:
        """Raise AssertionError where a room has another deadline than was remembered."""
        require(self.next() == _first((*self._moved, *self._fixed)), "a fixed deadline has moved", self._first_fixed)


def _first(rooms: tuple[Timed, ...]) -> float | None:
    return min((each for room in rooms if (each := room.next_deadline()) is not None), default=None)
