"""Remembers the latest faults for `status`, each once, however often it comes; reads no clock and writes no log."""

from __future__ import annotations

from loader_service.protocol.messages import Fault


class LatestFaults:
    """The latest faults.

    A fault that comes again, such as one bad sample in every epoch, moves to the end and is counted, so that it cannot
    crowd the others out.
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self._faults: dict[str, Fault] = {}  # the latest one last

    def add(self, line: str, at_s: float) -> None:
        """Remember a fault, and when it happened, in seconds since the start."""
        before = self._faults.pop(line, None)
        self._faults[line] = Fault(at_s, 1 if before is None else before.count + 1, line)
        if len(self._faults) > self._most:
            del self._faults[next(iter(self._faults))]

    @property
    def all(self) -> tuple[Fault, ...]:
        """All that are remembered, the latest last."""
        return tuple(self._faults.values())
