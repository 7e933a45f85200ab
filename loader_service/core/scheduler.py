"""Decides who decodes what into which slot, and who may read it: pure, with time passed in.

Invariants, checked by `Scheduler.validate` after each event of the tests:

1. A slot is in one state and has one holder.
2. Each row of a step is in one hand: queued once, or with one worker. It passes to another worker only after the first
   was reaped, so no two living processes ever write the same row.
3. A slot is used again only when no task that writes into it is left and no lease on it is out.
4. Every want ends in `Ready`, in `Failed`, or by its client's own will.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, cast

from loader_service.core.events import SegmentsMade
from loader_service.core.ledger import Ledger, Limits, require
from loader_service.core.ownership import Ownership
from loader_service.core.staff import Staff
from loader_service.core.streams import Streams
from loader_service.core.tasks import NOBODY, PendingTask, TaskQueues
from loader_service.core.worker import Worker
from loader_service.protocol import messages as m


class TaskAtHand(NamedTuple):
    """What a worker is at, for `status`."""

    task: int
    stream: int
    busy_s: float  # since it came to the first of its tasks
    epoch: int = 0
    step: int = 0
    samples: tuple[int, ...] = ()  # empty when nobody wants the step any more
    is_probe: bool = False


class Scheduler:
    """The workers and the streams, and who does what for whom.

    What makes no sense in the present state changes nothing. The caller of any method calls `settle` after it.

    Parameters
    ----------
    file_bytes
        Payload of each of the catalog's files, in bytes.
    limits, ledger
        Deadlines and bounds; the effects and counters.

    Attributes
    ----------
    staff, streams, fillings
        The workers, what clients want of them, and what they are at.
    """

    def __init__(self, file_bytes: Sequence[int], limits: Limits, ledger: Ledger) -> None:
        self._ledger = ledger
        self._ownership = Ownership(file_bytes)
        self._queues = TaskQueues(self._ownership)
        self.staff = Staff(self._ownership, limits, self._ledger)
        self.streams = Streams(self._queues, self._ownership, limits, self._ledger)
        self.fillings = self.streams.fillings

    def task_done(self, message: m.TaskDone, now: float) -> None:
        """Take note that a worker has written every row of a task, save the bad ones."""
        task = self.staff.take_back(message.worker, message.task, now, message.waited_s)
        if task is not None:
            self.fillings.ended(task, message.bad)

    def tasks_wanted(self, message: m.TasksWanted) -> None:
        """Take note of how many tasks a worker wants to hold."""
        worker = self.staff.get(message.worker)
        if worker is not None:
            before = worker.slow_tasks
            worker.ask_for(message.count)
            self.staff.vacancies.update(worker)
            self.streams.shares.tasks_wanted += worker.slow_tasks - before

    def time_spent(self, message: m.TimeSpent, now: float) -> None:
        """Take note of what a worker says that its time went into."""
        worker = self.staff.get(message.worker)
        if worker is not None:
            worker.times.told(message, now, is_remote=bool(worker.node))
            for each in message.slow:
                self._ledger.sums.files.slow(each.file, each.count)

    def worker_exited(self, number: int, cause: str, now: float) -> list[PendingTask]:
        """Take note that a worker was reaped: it cannot write anywhere, and its tasks go to others.

        Returns
        -------
        list of PendingTask
            What it leaves behind, the one that it was at first: probes are nothing to the scheduler.
        """
        worker, sums = self.staff.exited(number, cause, now), self._ledger.sums
        if worker is not None:
            sums.worker_left(worker.times.totals(now, sums.short_s), worker.times.spent)
            self.streams.shares.tasks_wanted -= worker.slow_tasks
        tasks = worker.tasks if worker else []
        for place, task in enumerate(tasks):
            if task.probe is None:
                self.fillings.orphaned(task, cause, guilty=place == 0)
        return tasks

    def segments_made(self, event: SegmentsMade, now: float) -> None:
        """Take in slots of an open stream: for a step that a worker is late with, or else for what waits."""
        self.streams.shares.segments_made(event, now)
        self._redo_late(self.staff.overdue(now), now, has_slot=bool(event.slots) and not event.grows)
        self.fillings.use_free_slots(event.stream)

    def settle(self, now: float) -> None:
        """Start who is missing, and give out what waits; to be called after anything has happened."""
        if self.staff.missing > 0:
            self.staff.hire(now)
        if self._queues.tasks:
            self._give_waiting(now)
        if overdue := self.staff.overdue(now):
            self._redo_late(overdue, now)

    def next_deadline(self) -> float | None:
        """Return the time at which `ClockTicked` is due, None when nothing is being waited for."""
        deadline = self.staff.next_deadline()
        vacancies = self.staff.vacancies
        rest_ends = vacancies.next_rest_ends if vacancies.some_rest and self._queues.tasks else None
        if deadline is None or rest_ends is None:
            return rest_ends if deadline is None else deadline
        return min(deadline, rest_ends)

    def _give_waiting(self, now: float) -> None:
        """Give each worker its own next tasks; then let those that have nothing to do take what waits longest.

        Stragglers that have rested come first: the others may never leave anything, and nobody would learn that a
        worker is fast again. Looks only at workers that have got room and at owners that have got tasks since the last
        event: all others have what they can have.
        """
        vacancies, queues = self.staff.vacancies, self._queues
        while vacancies.some_rest and queues.tasks and (number := vacancies.rested(now)) is not None:
            self._give_last_row(self._worker(number), now)
        if not (vacancies.freed or (queues.have_grown and vacancies.some_can_take)):
            return  # as it was when the last event had been acted on
        self._give_own(now)
        if not (queues.tasks and vacancies.some_can_take):
            return
        while queues.tasks and (number := self._helper()) is not None:
            if not self._give(self._worker(number), queues.take_from_longest(), now):
                break  # a suspect that must wait for a worker with nothing else in hand; none is idle
            self._ledger.counters.tasks_stolen += 1
            self._give_own(now)  # what waited behind a suspect
        while self._work_abounds and (number := vacancies.first_idle_straggler()) is not None:
            self._give_last_row(self._worker(number), now)

    def _redo_late(self, overdue: list[Worker], now: float, *, has_slot: bool = False) -> None:
        """Have idle workers do again, in other slots, the steps that a worker is late with.

        A straggler with nothing to do will serve too, since those that are late stand still. None of these gets rows
        of what is done again. A slot that was made for this is used for it, also where those that were idle have got
        something to do since: it would go to a later step, which the client releases after the late one.
        """
        vacancies = self.staff.vacancies
        somebody_is_idle = vacancies.first_idle() is not None or vacancies.first_idle_straggler() is not None
        if not somebody_is_idle and not (has_slot and len(overdue) < self.staff.working):
            return
        redone = [self.fillings.redo(task) for worker in overdue for task in worker.tasks]
        if any(redone):
            for worker in overdue:
                self.staff.distrust(worker)
            self._give_waiting(now)
        for worker in overdue:
            stuck = any(self.fillings.is_stuck(task) for task in worker.tasks)
            self.staff.time_late(worker, now, nobody_can_help=stuck)

    def _give_own(self, now: float) -> None:
        """Give tasks of their own files to workers with room."""
        owners = self._queues.owners
        for number in self._candidates():
            worker = self.staff.get(number)
            while worker and (number in owners or NOBODY in owners) and worker.has_room:
                if not self._give(worker, self._queues.take_own(number), now):
                    break

    def _candidates(self) -> list[int]:
        """Return the workers that may have both room and tasks of their own since the last event."""
        grown, freed = self._queues.take_grown(), self.staff.vacancies.take_freed()
        owners = self._queues.owners
        if NOBODY in grown:
            freed.update(self.staff.vacancies.all())
        if NOBODY not in owners:
            freed &= owners
        return sorted(freed | grown)

    def _helper(self) -> int | None:
        """Return who takes a task from another's queue: an idle worker; one with room when there is work for all."""
        vacancies = self.staff.vacancies
        idle = vacancies.first_idle()
        return vacancies.first_with_room() if idle is None and self._work_abounds else idle

    @property
    def _work_abounds(self) -> bool:
        return len(self._queues.tasks) > self.staff.working

    def _worker(self, number: int) -> Worker:
        worker = self.staff.get(number)
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
        self.staff.give(worker, task, now)
        self._ledger.send(worker.worker, self.fillings.order(task))
        return True

    def _give_last_row(self, worker: Worker, now: float) -> None:
        """Give a straggler the least that there is of what is needed last, so that nobody waits for it."""
        task = self._queues.take_last()
        if task is None:
            return
        rest, last = self.fillings.split(task)
        if rest is not None:
            self._queues.put(rest)
        self._give(worker, last, now)

    # ---- for status, shutdown and tests

    @property
    def idle(self) -> bool:
        """Whether no task is waiting or with a worker."""
        return not self._queues.tasks and not len(self.fillings.held) and not any(worker.tasks for worker in self.staff)

    def worker_status(self, worker: Worker, pid: int, now: float) -> m.WorkerStatus:
        """Return what `status` shows of a worker, whatever it is at."""
        return m.WorkerStatus(
            worker=worker.worker,
            pid=pid,
            state=worker.state.value,
            files=self._ownership.file_count(worker.worker),
            tasks_queued=len(worker.tasks) + self._queues.waiting_for(worker.worker),
            tasks_done=worker.times.tasks,
            straggles=worker.straggles,
            totals=worker.times.totals(now, self._ledger.sums.short_s),
            decoder=worker.decoder,
            node=worker.node,
        )

    def tasks_at_hand(self, worker: Worker, now: float) -> list[TaskAtHand]:
        """Return the tasks of a worker in the order in which it does them.

        It is at the first one, or, where quick ones are done and not reported yet, at a later one.
        """
        busy_s = worker.busy_s(now)
        return [
            TaskAtHand(task.task, task.stream, busy_s, *(self.fillings.place(task) or ()))
            if task.probe is None
            else TaskAtHand(task.task, 0, busy_s, is_probe=True)
            for task in worker.tasks
        ]

    def validate(self) -> None:
        """Raise AssertionError with the story of the object concerned where an invariant does not hold."""
        self.staff.validate()
        wanted, said = self.streams.shares.tasks_wanted, sum(each.slow_tasks for each in self.staff)
        require(wanted == said, "workers whose reads are slow want other tasks than streams know of", said, wanted)
        self.fillings.validate([task for worker in self.staff for task in worker.tasks if task.probe is None])
