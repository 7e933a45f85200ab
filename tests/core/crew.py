"""A staff alone, at literal times."""

from __future__ import annotations

from loader_service.core.effects import Effect
from loader_service.core.ledger import Ledger, Limits
from loader_service.core.ownership import Ownership
from loader_service.core.staff import Staff
from loader_service.core.tasks import SMALL_TASK_BYTES, PendingTask
from loader_service.core.worker import Worker, WorkerState

LIMITS = Limits(task_timeout_s=60.0, start_timeout_s=30.0, failed_starts=3)


class Crew:
    """A staff with its ledger, at literal times."""

    def __init__(self) -> None:
        self.ledger = Ledger()
        self.ownership = Ownership([100, 100, 100, 100])
        self.staff = Staff(self.ownership, LIMITS, self.ledger)

    def scale(self, count: int, now: float) -> list[Effect]:
        """Ask for a number of workers."""
        self.staff.scale(count, now)
        return self.hire(now)

    def hire(self, now: float) -> list[Effect]:
        """Let the staff do what is due."""
        self.staff.hire(now)
        self.staff.validate()
        return self.ledger.take()

    def tick(self, now: float) -> list[Effect]:
        """Let the clock strike."""
        self.staff.kill_late(now)
        return self.hire(now)

    def start(self, worker: int, now: float = 0.0) -> None:
        """Let a worker say that it waits for tasks."""
        self.staff.started(worker, now)

    def exit(self, worker: int, now: float, cause: str = "exited with 1") -> list[Effect]:
        """Reap a worker."""
        self.staff.exited(worker, cause, now)
        return self.hire(now)

    def give(self, worker: int, task: int, now: float, size: int = SMALL_TASK_BYTES) -> PendingTask:
        """Give a worker a task."""
        given = PendingTask(task=task, stream=1, slot=1, rows=(0,), size_bytes=size, file=0)
        self.staff.give(self.worker(worker), given, now)
        return given

    def work(self, worker: int, task: int, now: float, seconds: float) -> float:
        """Have a worker do a task; return when it is done."""
        self.give(worker, task, now)
        assert self.staff.take_back(worker, task, now + seconds) is not None
        self.staff.validate()
        return now + seconds

    def fill(self, worker: int, size: int, ease: int) -> int:
        """Give a worker tasks for as long as it has room; return how many."""
        while self.worker(worker).has_room:
            task = len(self.worker(worker).tasks)
            given = PendingTask(task=task, stream=1, slot=1, rows=(0,), size_bytes=size, file=0, ease=ease)
            self.staff.give(self.worker(worker), given, 0.0)
        return len(self.worker(worker).tasks)

    def worker(self, number: int) -> Worker:
        """Return a worker that is there."""
        found = self.staff.get(number)
        assert found is not None
        return found

    def states(self) -> dict[int, WorkerState]:
        """Return who is there."""
        return {worker.worker: worker.state for worker in self.staff}
