"""Which workers have room for a task, found without looking at all of them; pure."""

from __future__ import annotations

from heapq import heappop, heappush

from loader_service.core.ranking import Ranking
from loader_service.core.worker import Worker


class _Numbers:
    """A set of numbers that knows its lowest one.

    One that is taken out leaves its entry in the heap until that comes first, and finds it there when it comes back.
    """

    __slots__ = ("_heap", "_in_heap", "members")

    def __init__(self) -> None:
        self.members: set[int] = set()
        self._in_heap: set[int] = set()
        self._heap: list[int] = []

    def set(self, number: int, *, present: bool) -> None:
        """Put a number in, or take it out."""
        if not present:
            self.members.discard(number)
            return
        self.members.add(number)
        if number not in self._in_heap:
            self._in_heap.add(number)
            heappush(self._heap, number)

    def first(self) -> int | None:
        """Return the lowest number, None when there is none."""
        heap = self._heap
        while heap and heap[0] not in self.members:
            self._in_heap.discard(heappop(heap))
        return heap[0] if heap else None

    def all(self) -> tuple[int, ...]:
        """Return all numbers, the lowest first."""
        return tuple(sorted(self.members))


#: What a worker can be given: nothing; a task beside those that it has; its only task, usually; or that as a straggler.
_FULL, _HAS_ROOM, _IDLE, _IDLE_STRAGGLER = range(4)


class Vacancies:
    """The workers that can be given a task.

    Stragglers are kept apart: they get what can best wait, and only when they have nothing to do. Workers are sorted
    when somebody asks, and not each time that their tasks change.

    Attributes
    ----------
    freed
        Workers that have got room since `take_freed`.
    some_rest
        Whether there are stragglers with nothing to do, so that somebody need ask for those that have rested.
    """

    def __init__(self) -> None:
        self._idle = _Numbers()
        self._with_room = _Numbers()
        self._idle_stragglers = _Numbers()
        self._resting: Ranking[float] = Ranking()  # idle stragglers, by when they can be tried again
        self.some_rest = False
        self.freed: set[int] = set()
        self._known: dict[int, int] = {}  # of each worker: what it can be given
        self._changed: dict[int, Worker] = {}  # since then

    def update(self, worker: Worker) -> None:
        """Take note of a worker whose tasks, state or pace may have changed."""
        if worker.has_room:
            self.freed.add(worker.worker)
        self._changed[worker.worker] = worker
        if worker.straggles:
            self._sort()  # so that `some_rest` is true as soon as it must be

    def filled(self, worker: Worker) -> None:
        """Take note of a worker that was given a task."""
        self._changed[worker.worker] = worker

    def forget(self, worker: Worker) -> None:
        """Drop a worker that is gone."""
        self._changed.pop(worker.worker, None)
        self._move(worker.worker, _FULL)
        self.freed.discard(worker.worker)
        del self._known[worker.worker]

    def take_freed(self) -> set[int]:
        """Return the workers that have got room since this was asked before; some may have none any more."""
        freed, self.freed = self.freed, set()
        return freed

    @property
    def some_can_take(self) -> bool:
        """Whether a worker has room, or a straggler has nothing to do."""
        if self._changed:
            self._sort()
        return bool(self._with_room.members or self._idle_stragglers.members)

    def first_idle(self) -> int | None:
        """Return a worker with nothing to do that is no straggler, None when there is none."""
        self._sort()
        return self._idle.first()

    def first_with_room(self) -> int | None:
        """Return a worker with room, idle or not, that is no straggler; None when there is none."""
        self._sort()
        return self._with_room.first()

    def first_idle_straggler(self) -> int | None:
        """Return a straggler with nothing to do, None when there is none."""
        self._sort()
        return self._idle_stragglers.first()

    def all(self) -> tuple[int, ...]:
        """Return all workers with room, and all stragglers with nothing to do."""
        self._sort()
        return (*self._with_room.all(), *self._idle_stragglers.all())

    @property
    def next_rest_ends(self) -> float | None:
        """When the first of the idle stragglers has rested, None when there is none."""
        first = self._first_resting()
        return first[0] if first else None

    def rested(self, now: float) -> int | None:
        """Return a straggler that has rested, None when there is none."""
        first = self._first_resting()
        return first[1] if first and first[0] <= now else None

    def _first_resting(self) -> tuple[float, int] | None:
        if not self.some_rest:
            return None
        self._sort()
        return self._resting.first()

    def _sort(self) -> None:
        for number, worker in self._changed.items():
            room = _FULL
            if worker.has_room:
                if not worker.straggles:
                    room = _HAS_ROOM if worker.tasks else _IDLE
                elif not worker.tasks:
                    room = _IDLE_STRAGGLER
                    self._resting.put(number, worker.pace.rested_at)
            if room != self._known.get(number):
                self._move(number, room)
        self._changed.clear()

    def _move(self, number: int, room: int) -> None:
        before, self._known[number] = self._known.get(number), room
        if _IDLE in (before, room):
            self._idle.set(number, present=room == _IDLE)
        self._with_room.set(number, present=room in (_HAS_ROOM, _IDLE))
        if _IDLE_STRAGGLER in (before, room):
            self._idle_stragglers.set(number, present=room == _IDLE_STRAGGLER)
            if room != _IDLE_STRAGGLER:
                self._resting.discard(number)
            self.some_rest = len(self._resting) > 0
