"""Decides who decodes what into which slot, and who may read it: events in, actions out, time passed in.

Invariants, checked by `Scheduler.validate` after each event of the tests:

1. A slot is in one state and has one holder.
2. Each row of a step is in one hand: queued once, or with one worker. It passes to another worker only after the first
   was reaped, so no two living processes ever write the same row.
3. A slot is used again only when no task that writes into it is left and no lease on it is out.
4. Every want ends in `SendReady`, in `SendFailed`, or by its client's own will.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import cast

from loader_service.core import events
from loader_service.core.actions import Action
from loader_service.core.ledger import Counters, Ledger, Limits, require
from loader_service.core.ownership import Ownership
from loader_service.core.slots import SlotState
from loader_service.core.staff import Staff
from loader_service.core.streams import Streams
from loader_service.core.tasks import NOBODY, PendingTask, TaskQueues
from loader_service.core.worker import Worker


@dataclass(frozen=True)
class StreamFigures:
    """Counts of one stream, for `status`."""

    stream: int
    client: str
    steps_per_epoch: int
    steps_done: int
    slots: int
    slots_filling: int
    slots_leased: int
    wants_waiting: int
    samples_substituted: int = 0  # rows that were delivered with another sample than was planned


@dataclass(frozen=True)
class WorkerFigures:
    """Counts of one worker, for `status`."""

    worker: int
    state: str
    files: int
    tasks_queued: int
    tasks_done: int


@dataclass(frozen=True)
class TaskAtHand:
    """What a worker is at, for `status`."""

    task: int
    stream: int
    busy_s: float  # since it came to the first of its tasks
    epoch: int = 0
    step: int = 0
    samples: tuple[int, ...] = ()  # empty when nobody wants the step any more


class Scheduler:
    """The state machine of the daemon.

    The daemon calls `handle` from its one thread for each event, carries out the actions in their order, and calls
    again with `ClockTicked` when `next_deadline` is due. An event that makes no sense in the present state changes
    nothing.

    Parameters
    ----------
    file_bytes
        Payload of each of the catalog's files, in bytes.
    limits
        Deadlines and bounds.
    """

    def __init__(self, file_bytes: Sequence[int], limits: Limits | None = None) -> None:
        self._ledger = Ledger()
        self._ownership = Ownership(file_bytes)
        self._queues = TaskQueues(self._ownership)
        self._staff = Staff(self._ownership, limits or Limits(), self._ledger)
        self._streams = Streams(self._queues, self._ownership, limits or Limits(), self._ledger)

    def handle(self, event: events.Event, now: float) -> list[Action]:
        """Take in an event at time `now` (seconds, monotonic) and return what to do about it, in order."""
        match event:
            case events.StreamOpened():
                self._streams.open(event)
            case events.SlotMade():
                self._streams.slot_made(event)
                self._redo_late(now)
                self._streams.use_free_slots(event.stream)
            case events.StreamClosed(client, stream):
                self._streams.close(client, stream)
            case events.StepWanted():
                self._streams.want(event)
            case events.WantForgotten(client, stream, want):
                self._streams.forget(client, stream, want)
            case events.LeaseReleased(client, stream, lease):
                self._streams.release(client, stream, lease)
            case events.ClientLost(client):
                self._streams.lose(client)
            case events.WorkerStarted(worker):
                self._staff.started(worker, now)
            case events.TaskEnded(worker, number, bad):
                task = self._staff.take_back(worker, number, now)
                if task is not None:
                    self._streams.ended(task, bad)
            case events.WorkerExited(worker, cause):
                self._worker_exited(worker, cause, now)
            case events.WorkerOverweight(worker):
                if self._staff.replace(worker):
                    self._ledger.counters.workers_recycled += 1
            case events.WorkersWanted(count):
                self._staff.scale(count, now)
            case events.FileChecked(file, message):
                self._streams.checked(file, message)
            case events.ClockTicked():
                self._staff.kill_late(now)
        self._staff.hire(now)
        self._dispatch(now)
        return self._ledger.take()

    def next_deadline(self) -> float | None:
        """Return the time at which `ClockTicked` is due, None when nothing is being waited for."""
        deadlines = (self._staff.next_deadline(), self._staff.vacancies.next_rest_ends if len(self._queues) else None)
        return min((each for each in deadlines if each is not None), default=None)

    def _worker_exited(self, number: int, cause: str, now: float) -> None:
        worker = self._staff.exited(number, cause, now)
        for place, task in enumerate(worker.tasks if worker else ()):
            self._streams.orphaned(task, cause, guilty=place == 0)

    def _dispatch(self, now: float) -> None:
        """Give each worker its own next tasks; then let those that have nothing to do take what waits longest.

        Stragglers that have rested come first: the others may never leave anything, and nobody would learn that a
        worker is fast again. Looks only at workers that have got room and at owners that have got tasks since the last
        event: all others have what they can have.
        """
        vacancies = self._staff.vacancies
        while len(self._queues) and (number := vacancies.rested(now)) is not None:
            self._give_last_row(self._worker(number), now)
        self._give_own(now)
        while len(self._queues) and (number := self._helper()) is not None:
            if not self._give(self._worker(number), self._queues.take_from_longest(), now):
                break  # a suspect that must wait for a worker with nothing else in hand; none is idle
            self._ledger.counters.tasks_stolen += 1
            self._give_own(now)  # what waited behind a suspect
        while self._work_abounds and (number := vacancies.idle_stragglers.first()) is not None:
            self._give_last_row(self._worker(number), now)
        self._redo_late(now)

    def _redo_late(self, now: float) -> None:
        """Have idle workers do again, in other slots, the steps that a worker is late with.

        A straggler with nothing to do will serve too, since those that are late stand still. None of these gets rows
        of what is done again.
        """
        overdue, vacancies = self._staff.overdue(now), self._staff.vacancies
        if vacancies.idle.first() is None and vacancies.idle_stragglers.first() is None:
            return
        redone = [self._streams.redo(task) for worker in overdue for task in worker.tasks]
        if any(redone):
            for worker in overdue:
                self._staff.distrust(worker)
            self._dispatch(now)
        for worker in overdue:
            if any(self._streams.is_stuck(task) for task in worker.tasks):
                self._staff.hasten(worker, now)

    def _give_own(self, now: float) -> None:
        """Give tasks of their own files to workers with room."""
        for number in self._candidates():
            worker = self._staff.get(number)
            while worker and worker.has_room and self._queues.has_own(number):
                if not self._give(worker, self._queues.take_own(number), now):
                    break

    def _candidates(self) -> list[int]:
        """Return the workers that may have both room and tasks of their own since the last event."""
        grown, freed = self._queues.take_grown(), self._staff.vacancies.take_freed()
        if NOBODY in grown:
            freed.update(self._staff.vacancies.any.all(), self._staff.vacancies.idle_stragglers.all())
        return sorted(freed | grown)

    def _helper(self) -> int | None:
        """Return who takes a task from another's queue: an idle worker; one with room when there is work for all."""
        vacancies = self._staff.vacancies
        idle = vacancies.idle.first()
        return vacancies.any.first() if idle is None and self._work_abounds else idle

    @property
    def _work_abounds(self) -> bool:
        return len(self._queues) > self._staff.working

    def _worker(self, number: int) -> Worker:
        worker = self._staff.get(number)
        require(worker is not None, f"worker {number} has room, but is not there")
        return cast("Worker", worker)

    def _give(self, worker: Worker, task: PendingTask | None, now: float) -> bool:
        """Give a task that was just taken from its queue; return whether the worker got it.

        A suspect, whose worker died once, goes back unless the worker has nothing else in hand: done alone, it can be
        blamed for the next death, and no other task in its place.
        """
        if task is None:
            return False
        if task.strikes and worker.tasks:
            self._queues.put(task)
            return False
        self._staff.give(worker, task, now)
        self._ledger.add(self._streams.order(worker.worker, task))
        return True

    def _give_last_row(self, worker: Worker, now: float) -> None:
        """Give a straggler the least that there is of what is needed last, so that nobody waits for it."""
        task = self._queues.take_last()
        if task is None:
            return
        rest, last = self._streams.split(task)
        if rest is not None:
            self._queues.put(rest)
        self._give(worker, last, now)

    # ---- for status, shutdown and tests

    @property
    def counters(self) -> Counters:
        """What happened since the start."""
        return self._ledger.counters

    @property
    def working(self) -> int:
        """Workers that take tasks."""
        return self._staff.working

    @property
    def idle(self) -> bool:
        """Whether no task is waiting or with a worker."""
        return not len(self._queues) and not len(self._streams.held) and not any(worker.tasks for worker in self._staff)

    def worker_figures(self) -> list[WorkerFigures]:
        """Return the counts of each worker."""
        return [
            WorkerFigures(
                worker=each.worker,
                state=each.state.value,
                files=self._ownership.file_count(each.worker),
                tasks_queued=len(each.tasks) + self._queues.waiting_for(each.worker),
                tasks_done=each.tasks_done,
            )
            for each in self._staff
        ]

    def tasks_at_hand(self, now: float) -> dict[int, list[TaskAtHand]]:
        """Return the tasks of each worker that has any, by worker, in the order in which it does them.

        It is at the first one, or, where quick ones are done and not reported yet, at a later one.
        """
        return {
            worker.worker: [
                TaskAtHand(task.task, task.stream, worker.busy_s(now), *(self._streams.place(task) or ()))
                for task in worker.tasks
            ]
            for worker in self._staff
            if worker.tasks
        }

    def stream_figures(self) -> list[StreamFigures]:
        """Return the counts of each stream."""
        return [
            StreamFigures(
                stream=each.opened.stream,
                client=each.opened.client,
                steps_per_epoch=each.opened.steps_per_epoch,
                steps_done=each.steps_done,
                slots=len(each.slots.numbers),
                slots_filling=each.slots.count(SlotState.FILLING),
                slots_leased=each.slots.count(SlotState.LEASED),
                wants_waiting=sum(step.waits for step in each.steps.values()),
                samples_substituted=each.samples_substituted,
            )
            for each in self._streams
        ]

    def validate(self) -> None:
        """Raise AssertionError with the story of the object concerned where an invariant does not hold."""
        self._staff.validate()
        self._streams.validate([task for worker in self._staff for task in worker.tasks])
