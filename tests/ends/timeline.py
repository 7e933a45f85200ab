"""Time as a number, and what happens when; knows nothing of what that is."""

from __future__ import annotations

import heapq
from collections.abc import Callable


class Timeline:
    """What will happen, in the order of its times; of the same time, in the order in which it was said."""

    def __init__(self) -> None:
        self.now = 1000.0
        self._coming: list[tuple[float, int, Callable[[], object]]] = []
        self._number = 0

    def after(self, delay_s: float, act: Callable[[], object]) -> float:
        """Have something happen later; return when."""
        return self.at(self.now + delay_s, act)

    def at(self, when: float, act: Callable[[], object]) -> float:
        """Have something happen at a time."""
        self._number += 1
        heapq.heappush(self._coming, (max(when, self.now), self._number, act))
        return when

    def run(self, seconds: float) -> None:
        """Let time pass."""
        end = self.now + seconds
        while self._coming and self._coming[0][0] <= end:
            when, _, act = heapq.heappop(self._coming)
            self.now = when
            act()
        self.now = end
