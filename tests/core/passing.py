"""Measures by how much each waiting task is passed by other streams, and holds that against the bound of fair turns.

Knows of the scheduler only its queues and its owners.
"""

from __future__ import annotations

from collections import Counter

from loader_service.core.scheduler import Scheduler
from loader_service.core.stream_state import StreamState
from loader_service.protocol.messages import Task
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
        self._most_slots: Counter[int] = Counter()  # that each stream ever had: they come and go
        self._given: set[tuple[int, int, int]] = set()  # slot, row, epoch: held rows come again
        self._passed: dict[int, Counter[int]] = {}  # by waiting task: bytes that passed it, by stream

    def begin_anew(self) -> None:
        """Forget all, because work that was given before will be given again."""
        self._passed.clear()

    def note(self, number: int, given: Task) -> None:
        """Count a task that is given to a worker against those that wait where it waited."""
        if self._changes != self._scheduler._ownership.changes:
            self._changes = self._scheduler._ownership.changes
            self.begin_anew()
        streams = {each.number: each for each in self._scheduler.streams}
        for each in streams.values():
            self._most_slots[each.number] = max(self._most_slots[each.number], len(each.slots))
        first = meaning(given.rows.samples[0])
        worker = self._scheduler.staff.get(number)
        if first.attempt or (worker and worker.straggles):
            return  # the turn of a substitute was counted before; a straggler's work keeps nobody from any
        rows = [(given.slot, row, given.epoch) for row in given.rows.numbers]
        if not self._given.isdisjoint(rows):
            return  # held until its file was looked at; its turn was counted before
        self._given.update(rows)
        stream = streams[given.stream]
        planned = stream.plan.source.rows_of(given.rows.samples, given.rows.positions or (0,) * len(rows))
        owner = self._scheduler._ownership.owner(planned[0].file)
        waiting = [task for task in self._scheduler._queues if self._scheduler._ownership.owner(task.file) == owner]
        for task in waiting:
            if task.stream != given.stream:
                passed = self._passed.setdefault(task.task, Counter())
                passed[given.stream] += (
                    len(rows) * stream.plan.row_bytes + sum(given.rows.lengths) * stream.plan.frame_bytes
                )
                self._hold_against_bound(task.task, streams[task.stream], stream)

    def _hold_against_bound(self, task: int, own: StreamState, other: StreamState) -> None:
        own_step, other_step = (largest_step_bytes(each) for each in (own, other))
        slots = self._most_slots
        bound = slots[own.number] * own_step + (slots[other.number] + 1) * other_step
        passed = self._passed[task][other.number]
        assert passed <= bound, f"task {task} was passed by {passed} bytes of stream {other.number}; at most {bound}"


def largest_step_bytes(stream: StreamState) -> int:
    """Return how much output a step of a `SpreadSource` is at the most."""
    return len(stream.plan.source.rows(0, 0)) * (stream.plan.row_bytes + MOST_FRAMES * stream.plan.frame_bytes)
