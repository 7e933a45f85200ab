"""When each worker is late with its task, and when it is killed; found without looking at all of them. Pure."""

from __future__ import annotations

from math import inf

from loader_service.core.ranking import Ranking
from loader_service.core.worker import Worker


class Clocks:
    """The two times of each worker that owes something: when that is late, and when the worker is given up.

    Each worker has one entry, for the earlier of the two; when it is late, the other one takes its place.
    """

    def __init__(self) -> None:
        self._next: Ranking[float] = Ranking()
        self._late_at: dict[int, float] = {}  # of workers with tasks that are not late yet
        self._overdue: set[int] = set()  # workers that are
        self._deadlines: dict[int, float] = {}

    def next(self) -> float | None:
        """Return when the first one is late or has to be killed, None when nobody owes anything."""
        first = self._next.first()
        return first[0] if first else None

    def owe(self, worker: Worker, deadline: float | None) -> None:
        """Set when a worker must have reported; None while it owes nothing."""
        self._set(worker, self._late_at.get(worker.worker, inf), inf if deadline is None else deadline)

    def begun(self, worker: Worker, deadline: float) -> None:
        """Take note that a worker has come to its first task, whatever that is by now: it is not late yet."""
        number = worker.worker
        self._overdue.discard(number)
        late_at = self._late_at[number] = worker.pace.late_at(worker.tasks[0].size_bytes)
        worker.deadline = self._deadlines[number] = deadline
        self._next.put(number, min(late_at, deadline))

    def clear(self, worker: Worker) -> None:
        """Take note that a worker owes nothing more: it has no task, or it is gone."""
        self._overdue.discard(worker.worker)
        self._late_at.pop(worker.worker, None)
        self._set(worker, inf, inf)

    def overdue(self, now: float) -> list[int]:
        """Return the workers that take far longer for a task than they should need; each until it ends one."""
        first = self._next.first()
        if first and first[0] <= now:
            self._pass(now)
        return sorted(self._overdue) if self._overdue else []

    def expired(self, now: float) -> int | None:
        """Return a worker whose deadline has passed, None when there is none."""
        self._pass(now)
        first = self._next.first()
        return first[1] if first and first[0] <= now else None

    def _pass(self, now: float) -> None:
        """Note who is late by now, up to the first one whose deadline has passed, if there is one."""
        while (first := self._next.first()) and first[0] <= now and self._late_at.get(first[1], inf) <= now:
            number = first[1]
            del self._late_at[number]
            self._overdue.add(number)
            self._rank(number, self._deadlines.get(number, inf))

    def _set(self, worker: Worker, late_at: float, deadline: float) -> None:
        number = worker.worker
        if deadline == inf:
            worker.deadline = None
            self._deadlines.pop(number, None)
        else:
            worker.deadline = self._deadlines[number] = deadline
        self._rank(number, min(late_at, deadline))

    def _rank(self, number: int, first: float) -> None:
        if first == inf:
            self._next.discard(number)
        else:
            self._next.put(number, first)
