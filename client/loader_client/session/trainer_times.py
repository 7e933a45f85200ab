"""How long the trainer waited for steps of each stream, since the service opened it; for the heartbeats. Pure."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TypeVar

from loader_client.session.stream_wants import StreamWants
from loader_service.protocol.totals import TrainerTimes
from loader_service.stopwatch import Stopwatch

_Effects = TypeVar("_Effects")


@dataclass
class _Watched:
    stream: StreamWants
    number: int  # as the service has it
    opened_at: float
    waits: Stopwatch = field(default_factory=Stopwatch)


class TrainerWatch:
    """The waiting for all streams of a session that are open, each since the present run of the service opened it."""

    def __init__(self) -> None:
        self._watched: dict[int, _Watched] = {}  # by key

    def opened(self, stream: StreamWants, number: int, now: float) -> None:
        """Begin with a stream that the service knows by a number."""
        self._watched[stream.key] = _Watched(stream, number, now)
        self.noted(stream, None, now)

    def closed(self, key: int) -> None:
        """Forget a stream."""
        self._watched.pop(key, None)

    def noted(self, stream: StreamWants, effects: _Effects, now: float) -> _Effects:
        """Return the effects of what a stream was told; take note of whether anybody waits for its steps after that."""
        watched = self._watched.get(stream.key)
        if watched is not None:
            watched.waits.set(bool(stream.awaited), now)
        return effects

    def of(self, key: int, now: float) -> TrainerTimes | None:
        """Return what is known of one stream; None of one that the service has not opened."""
        each = self._watched.get(key)
        return None if each is None else TrainerTimes(each.number, each.waits.seconds(now), now - each.opened_at)

    def times(self, now: float) -> tuple[TrainerTimes, ...]:
        """Return what the service is told."""
        for each in self._watched.values():
            each.waits.set(bool(each.stream.awaited), now)  # a wait that was given up is noticed here
        return tuple(
            TrainerTimes(each.number, each.waits.seconds(now), max(0.0, now - each.opened_at))
            for each in self._watched.values()
        )
