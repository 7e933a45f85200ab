"""When each worker is late with its task, and when it is killed; found without looking at all of them. Pure."""

from __future__ import annotations

from loader_service.core.ranking import Ranking
from loader_service.core.worker import Worker, WorkerState

_KILLED = WorkerState.KILLED


class Clocks:
    """The two times of each worker that owes something: when that is late, and when it is given up."""

    def __init__(self) -> None:
        self._deadlines: Ranking[float] = Ranking()
        self._late_at: Ranking[float] = Ranking()  # workers with tasks
        self._overdue: set[int] = set()  # whose time has come there

    def next(self) -> float | None:
        """Return when the first one is late or has to be killed, None when nobody owes anything."""
        late, deadline = self._late_at.first(), self._deadlines.first()
        if late is None or deadline is None:
            first = late or deadline
            return first[0] if first else None
        return min(late[0], deadline[0])

    def owe(self, worker: Worker, deadline: float | None) -> None:
        """Set when a worker must have reported; None while it owes nothing."""
        worker.deadline = deadline
        if deadline is None:
            self._deadlines.discard(worker.worker)
        else:
            self._deadlines.put(worker.worker, deadline)

    def watch(self, worker: Worker) -> None:
        """Set when the task that a worker has come to is late."""
        self._overdue.discard(worker.worker)
        late_at = worker.pace.late_at(worker.tasks[0].size_bytes) if worker.tasks else None
        if late_at is None or worker.state is _KILLED:
            self._late_at.discard(worker.worker)
        else:
            self._late_at.put(worker.worker, late_at)

    def forget(self, worker: Worker) -> None:
        """Drop a worker that is gone."""
        self.owe(worker, None)
        self._late_at.discard(worker.worker)
        self._overdue.discard(worker.worker)

    def overdue(self, now: float) -> list[int]:
        """Return the workers that take far longer for a task than they should need; each until it ends one."""
        while (first := self._late_at.first()) and first[0] <= now:
            self._late_at.discard(first[1])
            self._overdue.add(first[1])
        return sorted(self._overdue) if self._overdue else []

    def expired(self, now: float) -> int | None:
        """Return a worker whose deadline has passed, None when there is none."""
        first = self._deadlines.first()
        return first[1] if first and first[0] <= now else None
