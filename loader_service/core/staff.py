"""The workers as the scheduler sees them: who is there, who is late, who must be started or let go. Pure.

    STARTING ──started──▶ WORKING ──scaled down──▶ DRAINING ──owes nothing──▶ STOPPING
        │                    │                        │                          │
        └─────────────late───┴────────────▶ KILLED ◀──┴─────────late─────────────┤
                                               └────────────▶ (exited) ◀─────────┘

Only its exit ends a worker: until it is reaped it may still write, so its tasks stay its own.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from enum import Enum

from loader_service.core.actions import GiveUp, KillWorker, StartWorker, StopWorker
from loader_service.core.ledger import Ledger, Limits, require
from loader_service.core.ownership import Ownership
from loader_service.core.pace import Pace, stragglers
from loader_service.core.tasks import SMALL_TASK_BYTES, PendingTask

#: Tasks given to a worker at once: one to do, and one to find waiting when that is done; more when they are small,
#: since those that travel together share the cost of a message.
TASKS_OUTSTANDING, SMALL_TASKS_OUTSTANDING = 2, 8

#: A worker is late when it is at one task for so long, in seconds, and for so many times what that should take it.
LATE_S, LATE_TIMES = 2.0, 4.0

#: Pause before a worker is started after one failed to start: doubles from the first to the last, in seconds.
FIRST_RETRY_S, LAST_RETRY_S = 0.2, 5.0


class WorkerState(Enum):
    """Where a worker is in its life."""

    STARTING = "starting"
    WORKING = "working"
    DRAINING = "draining"
    STOPPING = "stopping"
    KILLED = "killed"


@dataclass
class Worker:
    """One worker process."""

    worker: int
    state: WorkerState
    deadline: float | None  # when it is killed unless it reports before; None while it owes nothing
    tasks: list[PendingTask] = field(default_factory=list)  # given and not reported, in the order in which it does them
    begun: float | None = None  # when it came to the first of them; None without one
    tasks_done: int = 0
    pace: Pace = field(default_factory=Pace)
    straggles: bool = False  # owns no files while it is far slower than the others
    leaves: bool = False  # works until another one has taken its place

    def busy_s(self, now: float) -> float:
        """Return for how long it is at its present task; 0 without one."""
        return 0.0 if self.begun is None else now - self.begun

    def late_s(self, now: float) -> float:
        """Return the same for a worker that should have come to the end of that task long ago; 0 for others."""
        busy_s = self.busy_s(now)
        expected_s = (self.pace.s_per_byte or 0.0) * self.tasks[0].size_bytes if self.tasks else 0.0
        return busy_s if busy_s >= max(LATE_S, LATE_TIMES * expected_s) else 0.0

    @property
    def has_room(self) -> bool:
        """Whether it can be given a task."""
        given = len(self.tasks)
        if self.state is not WorkerState.WORKING or given >= SMALL_TASKS_OUTSTANDING:
            return False
        if given and self.tasks[0].strikes:
            return False  # a suspect is done alone
        return given < TASKS_OUTSTANDING or sum(task.size_bytes for task in self.tasks) < SMALL_TASK_BYTES


class Staff:
    """All workers, and how many there shall be.

    Parameters
    ----------
    ownership
        Told who comes and goes.
    limits
        Deadlines.
    ledger
        Gets the actions.
    """

    def __init__(self, ownership: Ownership, limits: Limits, ledger: Ledger) -> None:
        self._ownership = ownership
        self._limits = limits
        self._ledger = ledger
        self._workers: dict[int, Worker] = {}
        self._wanted = 0
        self._last_number = 0
        self._failed_starts = 0
        self._pause_s = FIRST_RETRY_S
        self._start_not_before = 0.0
        self._last_failure = ""
        self._gave_up = False

    def __iter__(self) -> Iterator[Worker]:
        return iter(list(self._workers.values()))

    def get(self, number: int) -> Worker | None:
        """Return a worker that has not exited."""
        return self._workers.get(number)

    @property
    def working(self) -> int:
        """Workers that take tasks."""
        return self._count(WorkerState.WORKING)

    @property
    def missing(self) -> int:
        """Workers that shall be there and are neither working nor starting; negative when there are too many."""
        return (
            self._wanted
            - self._count(WorkerState.WORKING, WorkerState.STARTING)
            + sum(worker.leaves for worker in self._workers.values())
        )

    def next_deadline(self) -> float | None:
        """Return when `kill_late` or `hire` has something to do, None when neither has."""
        deadlines = [worker.deadline for worker in self if worker.deadline is not None]
        if self.missing > 0 and not self._hopeless:
            deadlines.append(self._start_not_before)
        return min(deadlines, default=None)

    def scale(self, count: int, now: float) -> None:
        """Set how many workers there shall be; the surplus leaves when it has done what it holds.

        Those that still start go first, then those that are late, the one that is longest at its task first, then
        stragglers, and then those that came last.
        """
        self._wanted = count
        self._forgive_failed_starts()
        counted = (WorkerState.STARTING, WorkerState.WORKING)
        staying = [worker for worker in self if worker.state in counted and not worker.leaves]
        staying.sort(key=lambda each: _worth(each, now))
        for worker in reversed(staying[count:]):
            if worker.state is WorkerState.STARTING:
                self._stop(worker, now)
            else:
                self._drain(worker, now)
        self._relieve(now)

    def replace(self, number: int) -> bool:
        """Have a worker leave as soon as another one has started in its place; return whether that is news."""
        worker = self._workers.get(number)
        if worker is None or worker.state is not WorkerState.WORKING or worker.leaves:
            return False
        worker.leaves = True
        return True

    def hire(self, now: float) -> None:
        """Start the workers that are missing, as soon as the last failures allow."""
        if self._hopeless:
            self._give_up_unless_some_still_start()
            return
        if now < self._start_not_before:
            return
        for _ in range(self.missing):
            self._last_number += 1
            deadline = now + self._limits.start_timeout_s
            self._workers[self._last_number] = Worker(self._last_number, WorkerState.STARTING, deadline)
            self._ledger.add(StartWorker(self._last_number))

    def started(self, number: int, now: float) -> None:
        """Note that a worker waits for tasks: it gets its files."""
        worker = self._workers.get(number)
        if worker is None or worker.state is not WorkerState.STARTING:
            return
        worker.state = WorkerState.WORKING
        worker.deadline = None
        self._forgive_failed_starts()
        self._ownership.join(number)
        self._relieve(now)

    def give(self, worker: Worker, task: PendingTask, now: float) -> None:
        """Note that a worker was given a task; the clock runs for the one that it is at."""
        if not worker.tasks:
            worker.deadline = now + self._limits.task_timeout_s
            worker.begun = now
            worker.pace.begun(now)
        worker.tasks.append(task)

    def take_back(self, number: int, task_number: int, now: float) -> PendingTask | None:
        """Return the task that a worker reports as ended, None when it does not hold it (a report said twice)."""
        worker = self._workers.get(number)
        task = next((task for task in worker.tasks if task.task == task_number), None) if worker else None
        if worker is None or task is None:
            return None
        worker.tasks.remove(task)
        worker.begun = now if worker.tasks else None
        worker.tasks_done += 1
        worker.pace.ended(task.size_bytes, now)
        self._judge()
        if worker.state is not WorkerState.KILLED:
            worker.deadline = now + self._limits.task_timeout_s if worker.tasks else None
        self.rest(worker, now)
        return task

    def rest(self, worker: Worker, now: float) -> None:
        """Send a draining worker home once it owes nothing."""
        if worker.state is WorkerState.DRAINING and not worker.tasks:
            self._stop(worker, now)

    def kill_late(self, now: float) -> None:
        """Kill the workers whose deadline has passed."""
        for worker in self:
            if worker.deadline is not None and worker.deadline <= now:
                self._kill(worker, now)

    def exited(self, number: int, cause: str, now: float) -> Worker | None:
        """Take a reaped worker off the list and return it, with the tasks that it leaves behind."""
        worker = self._workers.pop(number, None)
        if worker is None:
            return None
        self._leave(worker, cause, now)
        if worker.state is not WorkerState.STOPPING:
            self._ledger.counters.workers_lost += 1
        return worker

    def validate(self) -> None:
        """Raise AssertionError where a worker has what it must not have, or lacks what it must have."""
        owners = [each.worker for each in self if each.state is WorkerState.WORKING and not each.straggles]
        require(sorted(self._ownership.workers) == sorted(owners), f"owners are not those that should be: {owners}")
        for worker in self:
            busy = worker.state in (WorkerState.WORKING, WorkerState.DRAINING, WorkerState.KILLED)
            require(busy or not worker.tasks, "has tasks, but does none", worker)
            require(bool(worker.tasks) == (worker.begun is not None), "is at a task, or at none, without one", worker)
            timed = worker.state is not WorkerState.KILLED and (bool(worker.tasks) or not busy)
            require(timed == (worker.deadline is not None), "has no deadline, or one for nothing", worker)

    @property
    def _hopeless(self) -> bool:
        """Whether starting yet another worker would be a crash loop."""
        return self._failed_starts >= self._limits.failed_starts and not self.working

    def _leave(self, worker: Worker, cause: str, now: float) -> None:
        """Draw the conclusions from the end of a worker that was counted on."""
        if worker.state is WorkerState.STARTING:
            self._start_failed(cause, now)
        elif worker.state is WorkerState.WORKING:
            self._disown(worker)
            self._forgive_failed_starts()
        worker.leaves = False

    def _forgive_failed_starts(self) -> None:
        """Count failures anew: those that happened while all went well otherwise say nothing about the next start."""
        self._failed_starts = 0
        self._pause_s = FIRST_RETRY_S
        self._start_not_before = 0.0

    def _start_failed(self, cause: str, now: float) -> None:
        self._failed_starts += 1
        self._start_not_before = now + self._pause_s
        self._pause_s = min(2 * self._pause_s, LAST_RETRY_S)
        self._last_failure = cause

    def _give_up_unless_some_still_start(self) -> None:
        if self._gave_up or self._count(WorkerState.STARTING):
            return
        self._gave_up = True
        self._ledger.add(
            GiveUp(f"{self._failed_starts} workers in a row failed to start; the last one {self._last_failure}")
        )

    def _kill(self, worker: Worker, now: float) -> None:
        if worker.tasks:
            reason = f"did not finish task {worker.tasks[0].task} within {self._limits.task_timeout_s:g} s"
        else:
            reason = f"was {worker.state.value} for more than {self._limits.start_timeout_s:g} s"
        self._leave(worker, reason, now)
        worker.state = WorkerState.KILLED
        worker.deadline = None
        self._ledger.add(KillWorker(worker.worker, reason))

    def _stop(self, worker: Worker, now: float) -> None:
        worker.state = WorkerState.STOPPING
        worker.deadline = now + self._limits.start_timeout_s
        self._ledger.add(StopWorker(worker.worker))

    def _drain(self, worker: Worker, now: float) -> None:
        """Let a worker finish what it holds, and go."""
        self._disown(worker)
        worker.state = WorkerState.DRAINING
        worker.leaves = False
        self.rest(worker, now)

    def _relieve(self, now: float) -> None:
        """Let those go whose place has been taken."""
        leaving = [worker for worker in self if worker.leaves]
        if self.working - len(leaving) >= self._wanted:
            for worker in leaving:
                self._drain(worker, now)

    def _judge(self) -> None:
        """Take the files from those that have become far slower than the others; give some to those that recovered."""
        working = [worker for worker in self if worker.state is WorkerState.WORKING]
        paces = {each.worker: each.pace.s_per_byte for each in working}
        known = {number: pace for number, pace in paces.items() if pace is not None}
        slow = stragglers(known, frozenset(each.worker for each in working if each.straggles))
        for worker in working:
            if worker.straggles and worker.worker not in slow:
                worker.straggles = False
                self._ownership.join(worker.worker)
            elif worker.worker in slow and not worker.straggles:
                self._disown(worker)
                worker.straggles = True

    def _disown(self, worker: Worker) -> None:
        if not worker.straggles:
            self._ownership.leave(worker.worker)
        worker.straggles = False

    def _count(self, *states: WorkerState) -> int:
        return sum(worker.state in states for worker in self._workers.values())


def _worth(worker: Worker, now: float) -> tuple[bool, float, bool, int]:
    """Return what workers are sorted by when some are to leave: the last ones do."""
    return worker.state is WorkerState.STARTING, worker.late_s(now), worker.straggles, worker.worker
