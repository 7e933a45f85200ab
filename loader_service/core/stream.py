"""One open stream: its slots, its wants and its leases, and what must be true of them at all times. Pure."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from loader_service.core.events import StepWanted, StreamOpened
from loader_service.core.ledger import require
from loader_service.core.slots import SlotState, SlotTable
from loader_service.core.steps import Filling, Step
from loader_service.core.tasks import PendingTask


@dataclass
class Stream:
    """One open stream."""

    opened: StreamOpened
    slots: SlotTable
    steps: dict[int, Step] = field(default_factory=dict)  # by want
    fillings: dict[int, Filling] = field(default_factory=dict)  # by slot
    waiting: deque[int] = field(default_factory=deque)  # wants without a slot, in the order in which they came
    leases: dict[int, int] = field(default_factory=dict)  # lease → want
    slots_asked: int = 0  # for, beside those that it has, and not made yet
    steps_done: int = 0
    samples_substituted: int = 0  # in the steps that are done

    def objection(self, event: StepWanted) -> str:
        """Return why a want can never be met, "" when it can."""
        opened = self.opened
        if bool(event.samples) != opened.indexed or len(event.samples) != len(event.positions):
            what = "names its samples, and the entry of the index for each" if opened.indexed else "names no samples"
            return f"{len(event.samples)} samples and {len(event.positions)} positions; a want of this stream {what}"
        if event.epoch < 0 or event.step < 0 or (event.step >= opened.steps_per_epoch and not opened.indexed):
            return f"epoch {event.epoch} has no step {event.step}; an epoch has {opened.steps_per_epoch} steps"
        return ""

    def validate(self, tasks: Mapping[int, Sequence[PendingTask]]) -> None:
        """Raise AssertionError where an invariant does not hold.

        Parameters
        ----------
        tasks
            Of each slot, those that wait and those that are with living workers.
        """
        leased = {step.ready.slot for step in self.steps.values() if step.ready}
        for slot in self.slots.numbers:
            held = SlotState.FILLING if slot in self.fillings else SlotState.FREE
            held = SlotState.LEASED if slot in leased else held
            require(self.slots.state(slot) is held, f"stream {self.opened.stream}: slot {slot} is not {held}")
        require(not any(tasks.get(slot) for slot in leased), "leased while tasks still write", leased, tasks)
        for filling in self.fillings.values():
            _validate_filling(filling, tasks.get(filling.slot, ()))
        for step in self.steps.values():
            self._validate_step(step)

    def _validate_step(self, step: Step) -> None:
        about = (self.opened.stream, step)
        require(not (step.fillings and step.ready), "filled and leased at a time", *about)
        require(all(each.abandoned is step.forgotten for each in step.fillings), "waits for what was abandoned", *about)
        require(all(self.fillings.get(each.slot) is each for each in step.fillings), "filled elsewhere", *about)
        require(bool(step.fillings) or not step.forgotten, "forgotten, and nobody is at it", *about)
        require(not (step.waits and self.slots.count(SlotState.FREE)), "waits although a slot is free", *about)


def _validate_filling(filling: Filling, tasks: Sequence[PendingTask]) -> None:
    about = (filling.opened.stream, filling, tasks)
    rows = [row for task in tasks for row in task.rows]
    require({task.task for task in tasks} == filling.open_tasks, "tasks were lost or made up", *about)
    require(len(rows) == len(set(rows)), "a row is in two hands", *about)
    require(bool(tasks), "stuck: a slot, but no task", *about)
