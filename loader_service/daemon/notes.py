"""Remembers the latest faults for `status`, each once, however often it comes; reads no clock and writes no log."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass
class _Note:
    at_s: float
    count: int


class Notes:
    """The latest faults.

    A fault that comes again, such as one bad sample in every epoch, moves to the end and is counted, so that it cannot
    crowd the others out.

    Parameters
    ----------
    most
        How many different ones are kept.
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self._notes: dict[str, _Note] = {}  # the latest one last

    def add(self, line: str, at_s: float) -> None:
        """Remember a fault, and when it happened, in seconds since the start."""
        before = self._notes.pop(line, None)
        self._notes[line] = _Note(at_s, 1 if before is None else before.count + 1)
        if len(self._notes) > self._most:
            del self._notes[next(iter(self._notes))]

    @property
    def lines(self) -> tuple[str, ...]:
        """One line each for people, the latest last."""
        return tuple(
            f"{note.at_s:.1f} s: {line}" + (f" ({note.count} times)" if note.count > 1 else "")
            for line, note in self._notes.items()
        )
