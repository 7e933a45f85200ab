"""Measures by how much each waiting task is passed by other streams, and holds that against the bound of fair turns.

Knows of the scheduler only its queues and its owners.
"""

from __future__ import annotations

from collections import Counter

from loader_service.core.actions import SendTask
from loader_service.core.events import StreamOpened
from loader_service.core.scheduler import Scheduler
from tests.core.sources import MOST_FRAMES, meaning


class Passing:
    """The fairness between streams, as a task in a queue feels it.

    While files keep their owners, a task can be passed in its owner's queue by what another stream had waiting when it
    came (that stream's slots at most), by as much later work as its own stream had waiting (its own slots at most), and
    by one step that began before its turn.
    """

    def __init__(self, scheduler: Scheduler) -> None:
        self._scheduler = scheduler
        self._changes = 0
        self._passed: dict[int, Counter[int]] = {}  # by waiting task: bytes that passed it, by stream

    def begin_anew(self) -> None:
        """Forget all, because work that was given before will be given again."""
        self._passed.clear()

    def note(self, given: SendTask) -> None:
        """Count a task that is given to a worker against those that wait where it waited."""
        if self._changes != self._scheduler._ownership.changes:
            self._changes = self._scheduler._ownership.changes
            self.begin_anew()
        streams = {each.opened.stream: each.opened for each in self._scheduler._streams}
        first = meaning(given.samples[0])
        worker = self._scheduler._staff.get(given.worker)
        if first.attempt or (worker and worker.straggles):
            return  # the turn of a substitute was counted before; a straggler's work keeps nobody from any
        stream = streams[given.stream]
        planned = stream.source.rows_of(given.samples, given.positions or (None,) * len(given.samples))
        owner = self._scheduler._ownership.owner(planned[0].file)
        waiting = [task for task in self._scheduler._queues if self._scheduler._ownership.owner(task.file) == owner]
        for task in waiting:
            if task.stream != given.stream:
                passed = self._passed.setdefault(task.task, Counter())
                passed[given.stream] += len(given.rows) * stream.row_bytes + sum(given.lengths) * stream.frame_bytes
                self._hold_against_bound(task.task, streams[task.stream], stream)

    def _hold_against_bound(self, task: int, own: StreamOpened, other: StreamOpened) -> None:
        own_step, other_step = (largest_step_bytes(each) for each in (own, other))
        bound = len(own.slots) * own_step + (len(other.slots) + 1) * other_step
        passed = self._passed[task][other.stream]
        assert passed <= bound, f"task {task} was passed by {passed} bytes of stream {other.stream}; at most {bound}"


def largest_step_bytes(opened: StreamOpened) -> int:
    """Return how much output a step of a `SpreadSource` is at the most."""
    return len(opened.source.rows(0, 0)) * (opened.row_bytes + MOST_FRAMES * opened.frame_bytes)
