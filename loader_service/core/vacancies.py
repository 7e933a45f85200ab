"""Which workers have room for a task, found without looking at all of them; pure."""

from __future__ import annotations

from bisect import bisect_left, insort

from loader_service.core.ranking import Ranking
from loader_service.core.worker import Worker


class _Numbers:
    """A sorted set of numbers; a change of one of a thousand takes less than a microsecond."""

    def __init__(self) -> None:
        self._sorted: list[int] = []
        self._members: set[int] = set()

    def set(self, number: int, *, present: bool) -> None:
        """Put a number in, or take it out."""
        if present == (number in self._members):
            return
        if present:
            self._members.add(number)
            insort(self._sorted, number)
        else:
            self._members.discard(number)
            del self._sorted[bisect_left(self._sorted, number)]

    def first(self) -> int | None:
        """Return the lowest number, None when there is none."""
        return self._sorted[0] if self._sorted else None

    def all(self) -> tuple[int, ...]:
        """Return all numbers, the lowest first."""
        return tuple(self._sorted)


class Vacancies:
    """The workers that can be given a task.

    Stragglers are kept apart: they get what can best wait, and only when they have nothing to do.

    Attributes
    ----------
    idle
        Workers with nothing to do, without stragglers.
    any
        Workers with room, idle or not, without stragglers.
    idle_stragglers
        Stragglers with nothing to do.
    """

    def __init__(self) -> None:
        self.idle = _Numbers()
        self.any = _Numbers()
        self.idle_stragglers = _Numbers()
        self._resting: Ranking[float] = Ranking()  # idle stragglers, by when they can be tried again
        self._freed: set[int] = set()
        self._known: dict[int, tuple[bool, bool, bool]] = {}  # of each worker: has room, is idle, straggles

    def update(self, worker: Worker) -> None:
        """Take note of a worker whose tasks, state or pace may have changed."""
        number = worker.worker
        known = has_room, idle, straggles = worker.has_room, not worker.tasks, worker.straggles
        if has_room:
            self._freed.add(number)
        if known == self._known.get(number) and not straggles:
            return
        self._known[number] = known
        self.idle.set(number, present=has_room and idle and not straggles)
        self.any.set(number, present=has_room and not straggles)
        rests = has_room and idle and straggles
        self.idle_stragglers.set(number, present=rests)
        if rests:
            self._resting.put(number, worker.pace.rested_at)
        else:
            self._resting.discard(number)

    def forget(self, worker: Worker) -> None:
        """Drop a worker that is gone."""
        for numbers in (self.idle, self.any, self.idle_stragglers):
            numbers.set(worker.worker, present=False)
        self._resting.discard(worker.worker)
        self._freed.discard(worker.worker)
        self._known.pop(worker.worker, None)

    def take_freed(self) -> set[int]:
        """Return the workers that have got room since this was asked before; some may have none any more."""
        freed, self._freed = self._freed, set()
        return freed

    @property
    def next_rest_ends(self) -> float | None:
        """When the first of the idle stragglers has rested, None when there is none."""
        first = self._resting.first()
        return first[0] if first else None

    def rested(self, now: float) -> int | None:
        """Return a straggler that has rested, None when there is none."""
        first = self._resting.first()
        return first[1] if first and first[0] <= now else None
