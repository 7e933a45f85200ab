"""A scheduler to tell stories to, and short words for what happens to it and what it answers."""

from __future__ import annotations

from typing import Any

from loader_service.core import actions as a
from loader_service.core import events as e
from loader_service.core.ledger import Limits
from loader_service.core.scheduler import Scheduler
from loader_service.protocol.messages import BadRow
from tests.core.sources import ListedSource

MIB = 2**20
LIMITS = Limits(task_timeout_s=60.0, start_timeout_s=30.0, strikes=3, failed_starts=3, wants_per_slot=4, least_wants=4)


class Desk:
    """A scheduler that is checked after each event, and words for what happens to it.

    Its files 0 and 1 have 100 bytes each; of two workers the first owns file 1, the second file 0.
    """

    def __init__(self, workers: int, files: int = 2) -> None:
        self.scheduler = Scheduler([100] * files, LIMITS)
        self.now = 0.0
        self.happen(e.WorkersWanted(workers))
        for worker in range(1, workers + 1):
            self.happen(e.WorkerStarted(worker))

    def happen(self, event: e.Event) -> list[a.Action]:
        """Tell the scheduler of an event."""
        answers = self.scheduler.handle(event, self.now)
        self.scheduler.validate()
        return answers

    def open(
        self,
        stream: int = 1,
        client: str = "train",
        slots: int = 1,
        files: tuple[int, ...] = (0, 1),
        substitutes: int = 0,
        **options: Any,
    ) -> None:
        """Open a stream of large rows, so each step is cut by owner; its slots are ten times its number, and on."""
        numbers = tuple(range(10 * stream, 10 * stream + slots))
        source = ListedSource(files, options.pop("frames", ()))
        opened = e.StreamOpened(client, stream, source, 100, numbers, 3 * MIB, substitutes, **options)
        assert self.happen(opened) == []

    def want(self, want: int, stream: int = 1, client: str = "train") -> list[a.Action]:
        """Ask for a step: the one with the number of the want, in epoch 0."""
        return self.happen(e.StepWanted(client, stream, want, 0, want))

    def forget(self, want: int) -> list[a.Action]:
        """Take a want back."""
        return self.happen(e.WantForgotten("train", 1, want))

    def release(self, lease: int, stream: int = 1, client: str = "train") -> list[a.Action]:
        """Return a lease."""
        return self.happen(e.LeaseReleased(client, stream, lease))

    def end(self, worker: int, task: int, *bad: int) -> list[a.Action]:
        """Report a task, with its bad rows."""
        return self.happen(e.TaskEnded(worker, task, tuple(BadRow(row, "DecodeError", f"row {row}") for row in bad)))

    def exit(self, worker: int) -> list[a.Action]:
        """Reap a worker."""
        return self.happen(e.WorkerExited(worker, "was killed by SIGKILL"))

    def tick(self, now: float) -> list[a.Action]:
        """Let the clock strike."""
        self.now = now
        return self.happen(e.ClockTicked())


def send(worker: int, task: int, rows: tuple[int, ...], samples: tuple[int, ...] = (), slot: int = 10) -> a.SendTask:
    """Return the order of some rows, whose samples have their numbers unless said otherwise."""
    return a.SendTask(worker, task, slot // 10, 0, slot, rows, samples or rows)


def ready(want: int, lease: int, slot: int = 10, rows: int = 2, frames: int = 0, substituted: int = 0) -> a.SendReady:
    """Return the announcement of a step."""
    return a.SendReady("train", slot // 10, want, slot, lease, rows, frames, substituted)
