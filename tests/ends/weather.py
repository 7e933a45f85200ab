"""What becomes of messages between clients and service: lost, doubled, late, so overtaken. Knows no message."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

#: Returns a number from 0 to one less than its argument.
Pick = Callable[[int], int]


@dataclass(frozen=True)
class Weather:
    """How a channel is."""

    lost: int = 0  # of a hundred messages
    doubled: int = 0
    late: int = 0
    latest_s: float = 0.0

    def fates(self, pick: Pick) -> list[float]:
        """Return after how many seconds a message comes: never, once or twice."""
        if pick(100) < self.lost:
            return []
        return [self._delay(pick) for _ in range(2 if pick(100) < self.doubled else 1)]

    def _delay(self, pick: Pick) -> float:
        return self.latest_s * (1 + pick(100)) / 100 if pick(100) < self.late else 0.0005


CALM = Weather()
LOSSLESS = (CALM, Weather(doubled=20), Weather(late=30, latest_s=0.2), Weather(0, 10, 30, 3.0))
LOSSY = (CALM, Weather(lost=10), Weather(10, 10, 30, 3.0))
