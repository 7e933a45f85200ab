"""One worker as the scheduler sees it: its state, what it holds, how fast it is. Pure."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum

from loader_service.core.ledger import Limits, require
from loader_service.core.pace import Pace
from loader_service.core.sums import Sums
from loader_service.core.tasks import SMALL_TASK_BYTES, PendingTask
from loader_service.core.worker_times import WorkerTimes

#: Tasks given to a worker at once: one to do, and one to find waiting when that is done; more when they are small,
#: since those that travel together share the cost of a message.
TASKS_OUTSTANDING, SMALL_TASKS_OUTSTANDING = 2, 16

#: Tasks given to a worker at the most, whose reads are slow and which begins those of its next tasks ahead.
MOST_TASKS_OUTSTANDING = 64


class WorkerState(Enum):
    """Where a worker is in its life."""

    STARTING = "starting"
    WORKING = "working"
    DRAINING = "draining"
    STOPPING = "stopping"
    KILLED = "killed"


_WORKING = WorkerState.WORKING  # to look a member up takes a fifth of a microsecond


@dataclass(slots=True)
class Worker:
    """One worker process."""

    worker: int
    state: WorkerState
    deadline: float | None  # when it is killed unless it reports before; None while it owes nothing
    tasks: list[PendingTask] = field(default_factory=list)  # given and not reported, in the order in which it does them
    bytes_given: int = 0  # of those tasks: their work, as bytes of decoded pixels
    times: WorkerTimes = field(default_factory=WorkerTimes)
    pace: Pace = field(default_factory=Pace)
    straggles: bool = False  # owns no files while it is far slower than the others
    late: bool = False  # its tasks are being done again by others, and it gets no more until it has ended one
    leaves: bool = False  # works until another one has taken its place
    depth: int = TASKS_OUTSTANDING  # tasks that it asks for at a time
    decoder: str = ""  # what decodes parts of its JPEGs, in its own words
    cost: int = 1  # what a byte of its files counts
    node: str = ""  # of a remote worker: where it is; such a one comes by itself

    @property
    def slow_tasks(self) -> int:
        """How many tasks it wants to hold since its reads are slow; 0 while they are quick."""
        return self.depth if self.depth > TASKS_OUTSTANDING else 0

    def ask_for(self, tasks: int) -> None:
        """Let it hold so many tasks, within bounds: more where reads are slow, one where its rows cannot all come."""
        self.depth = min(max(tasks, 1 if self.node else TASKS_OUTSTANDING), MOST_TASKS_OUTSTANDING)

    def begin(self, now: float, sums: Sums) -> None:
        """Take note that it comes to a task after it had none; `sums` know for how long wants had no slots."""
        self.pace.begun(now)
        self.times.work(now, sums.short_s)

    def drop(self, number: int, now: float, sums: Sums) -> PendingTask | None:
        """Take out and return a task that it has done, None when it does not hold it; `sums` as for `begin`."""
        for place, task in enumerate(self.tasks):
            if task.task == number:
                del self.tasks[place]
                self.bytes_given -= task.work_bytes
                self.times.done(len(task.rows), task.size_bytes)
                if not self.tasks:
                    self.times.rest(now, sums.short_s)
                return task
        return None

    def busy_s(self, now: float) -> float:
        """Return for how long it is at its present task; 0 without one."""
        return now - self.pace.begun_at if self.tasks and self.pace.begun_at is not None else 0.0

    def overdue_words(self, start_timeout_s: float) -> str:
        """Return what it has not done by its deadline."""
        if not self.tasks:
            return f"was {self.state.value} for more than {start_timeout_s:g} s"
        if self.tasks[0].probe is not None:
            return "took too long to try the transform"
        begun_at = self.pace.begun_at
        given_s = 0.0 if self.deadline is None or begun_at is None else round(self.deadline - begun_at, 1)
        return f"did not finish task {self.tasks[0].task} within {given_s:g} s"

    def late_s(self, now: float) -> float:
        """Return the same for a worker that should have come to the end of that task long ago; 0 for others."""
        is_late = bool(self.tasks) and self.pace.late_at(self.tasks[0].size_bytes) <= now
        return self.busy_s(now) if is_late else 0.0

    def task_ends_by(self, now: float, limits: Limits) -> float:
        """Return until when it may be at the first of its tasks, to which it comes now."""
        return now + (limits.probe_timeout_s if self.tasks[0].probe else limits.task_timeout_s)

    def worth(self, now: float) -> tuple[bool, float, bool, int]:
        """Return what workers are sorted by when some are to leave: the last ones do."""
        return self.state is WorkerState.STARTING, self.late_s(now), self.straggles, self.worker

    @property
    def is_counted(self) -> bool:
        """Whether it is one of those that shall be there: it starts, or takes tasks."""
        return self.state is WorkerState.STARTING or self.state is _WORKING

    @property
    def has_room(self) -> bool:
        """Whether it can be given a task."""
        if self.state is not _WORKING or self.late:
            return False
        if not self.tasks:
            return True
        if self.tasks[0].strikes:
            return False  # a suspect is done alone
        given = len(self.tasks)
        small = self.bytes_given < SMALL_TASK_BYTES and given < SMALL_TASKS_OUTSTANDING and self.depth > 1
        return given < self.depth or small

    def validate(self) -> None:
        """Raise AssertionError where it has what it must not have, or lacks what it must have."""
        busy = self.state in (WorkerState.WORKING, WorkerState.DRAINING, WorkerState.KILLED)
        require(busy or not self.tasks, "has tasks, but does none", self)
        timed = self.state is not WorkerState.KILLED and (bool(self.tasks) or not busy)
        require(timed == (self.deadline is not None), "has no deadline, or one for nothing", self)
