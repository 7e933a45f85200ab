"""The wants of the clients, from the question to the returned lease. Pure.

A want goes through four stages: *waiting* for a slot, *filling* (its rows are with the workers or in their queues),
*leased* (announced; the client may read), gone. It leaves filling only when no task of it is left anywhere, so a slot
is never announced or used again while a living worker could write into it.

A bad sample is replaced by the next of a chain that its stream's source tells, a pure function, when the stream
allows it; else the step fails with the error of its lowest bad row, whichever worker found which first.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass, field, replace

from loader_service.core.actions import CheckFile, NoteBadSample, RetireStream, SendFailed, SendTask
from loader_service.core.events import StepWanted, StreamOpened
from loader_service.core.held import HeldTasks
from loader_service.core.ledger import Ledger, Limits, require
from loader_service.core.ownership import Ownership
from loader_service.core.slots import SlotState, SlotTable
from loader_service.core.steps import Step
from loader_service.core.tasks import PendingTask, TaskQueues, cut
from loader_service.errors import CatalogChanged, FileTouched
from loader_service.protocol.messages import BadRow


@dataclass
class Stream:
    """One open stream."""

    opened: StreamOpened
    slots: SlotTable
    steps: dict[int, Step] = field(default_factory=dict)  # by want, in the order in which they were wanted
    leases: dict[int, int] = field(default_factory=dict)  # lease → want
    steps_done: int = 0
    samples_substituted: int = 0  # in the steps that are done


class Streams:
    """All open streams.

    Parameters
    ----------
    queues
        Gets the tasks.
    ownership
        Says how a step is cut into tasks.
    limits, ledger
        Bounds; the actions and counters.
    """

    def __init__(self, queues: TaskQueues, ownership: Ownership, limits: Limits, ledger: Ledger) -> None:
        self._queues = queues
        self._ownership = ownership
        self._limits = limits
        self._ledger = ledger
        self._streams: dict[int, Stream] = {}
        self.held = HeldTasks()
        self._last_task = 0
        self._last_lease = 0

    def __iter__(self) -> Iterator[Stream]:
        return iter(self._streams.values())

    # ---- what clients say

    def open(self, opened: StreamOpened) -> None:
        """Let a stream take part; its segments exist."""
        self._streams[opened.stream] = Stream(opened, SlotTable(opened.slots))
        self._queues.open(opened.stream)

    def close(self, client: str, number: int) -> None:
        """Drop a stream that its client gave up."""
        if self._find(client, number) is not None:
            self._retire(number)

    def lose(self, client: str) -> None:
        """Drop the streams of a client that ended. Its slots are retired, never reused: it may yet wake up and read."""
        for number in [number for number, each in self._streams.items() if each.opened.client == client]:
            self._retire(number)

    def want(self, event: StepWanted) -> None:
        """Put a want in the queue for a slot, or repeat the answer when it was answered before.

        One that asks for what is no step fails, and is not kept.
        """
        stream = self._find(event.client, event.stream)
        if stream is None:
            return
        known = stream.steps.get(event.want)
        if known is not None:
            if known.lease is not None:
                self._ledger.add(known.readiness())
            return
        place = f"want {event.want} of stream {event.stream}"
        objection = _objection(stream.opened, event)
        if objection:  # to the want itself: its client waits for that
            self._ledger.counters.messages_refused += 1
            failed = SendFailed(event.client, event.stream, event.want, "ConfigError", f"{place}: {objection}")
            self._ledger.add(failed)
            return
        slots = len(stream.slots.numbers)
        if len(stream.steps) >= self._limits.wants_per_slot * slots:  # it may be asked for again, when there is room
            words = f"{len(stream.steps)} wants are open for {slots} slots; release some first"
            self._ledger.refuse(event.client, f"{place}: {words}")
            return
        stream.steps[event.want] = Step(stream.opened, event)
        self._fill_slots(stream)

    def forget(self, client: str, number: int, want: int) -> None:
        """Let go of a want; one that just failed or was released is gone already, and that is fine."""
        stream = self._find(client, number)
        step = stream.steps.get(want) if stream else None
        if stream is None or step is None:
            return
        if step.lease is not None:
            self._end_lease(stream, step.lease)
            return
        step.forgotten = True
        for task in (*self._queues.drop(number, want), *self.held.drop(number, want)):
            step.open_tasks.discard(task.task)
        self._conclude(stream, step)

    def release(self, client: str, number: int, lease: int) -> None:
        """Take a slot back from a client."""
        stream = self._find(client, number)
        if stream is None:
            return
        if lease in stream.leases:
            self._end_lease(stream, lease)
        else:
            self._ledger.refuse(client, f"lease {lease} of stream {number} is not out: released before, or never given")

    # ---- what becomes of tasks

    def order(self, worker: int, task: PendingTask) -> SendTask:
        """Return the action that gives a task to a worker."""
        return self._streams[task.stream].steps[task.want].order(worker, task)

    def split(self, task: PendingTask) -> tuple[PendingTask | None, PendingTask]:
        """Cut the last row off a task that was taken from its queue; return what is left of it, and the row."""
        if len(task.rows) == 1:
            return None, task
        step = self._streams[task.stream].steps[task.want]
        self._last_task += 1
        step.open_tasks.add(self._last_task)
        last_bytes = step.size_bytes(task.rows[-1:])
        rest = replace(task, rows=task.rows[:-1], size_bytes=task.size_bytes - last_bytes)
        return rest, replace(task, task=self._last_task, rows=task.rows[-1:], size_bytes=last_bytes)

    def ended(self, task: PendingTask, bad: tuple[BadRow, ...]) -> None:
        """Take note that every row of a task is written, save the bad ones."""
        stream, step = self._of(task)
        if stream is None or step is None:
            return
        step.open_tasks.discard(task.task)
        by_row = {each.row: each for each in bad if each.row in task.rows}
        touched = [row for row, error in by_row.items() if error.error == FileTouched.__name__]
        self._hold(stream, step, touched, task)
        for row, error in by_row.items():
            if row not in touched:
                self._bad_row(stream, step, error, task.turn)
        self._conclude(stream, step)

    def checked(self, file: int, message: str) -> None:
        """Queue the rows again that were held for a file, or fail them with what has become of it."""
        for task in self.held.take(file):
            if message:
                self.ended(task, tuple(BadRow(row, CatalogChanged.__name__, message) for row in task.rows))
            else:
                self._queues.put(task)

    def orphaned(self, task: PendingTask, cause: str, *, guilty: bool) -> None:
        """Queue the task of a reaped worker again.

        The task that it was at is cut into single rows and counts the death, so the last strike names one sample.
        """
        stream, step = self._of(task)
        if stream is None or step is None or step.forgotten:
            self.ended(task, ())
            return
        strikes = task.strikes + guilty
        if guilty and strikes >= self._limits.strikes:
            self.ended(task, tuple(self._fatal(stream, step, row, strikes, cause) for row in task.rows))
            return
        self._ledger.counters.rows_reassigned += len(task.rows)
        step.open_tasks.discard(task.task)
        for rows in [(row,) for row in task.rows] if guilty else [task.rows]:
            self._queue(stream, step, rows, strikes, task.turn)

    # ---- inside

    def _find(self, client: str, number: int) -> Stream | None:
        found = self._streams.get(number)
        if found is None or found.opened.client != client:
            self._ledger.refuse(client, f"stream {number} is not open for this client; open a stream first")
            return None
        return found

    def _of(self, task: PendingTask) -> tuple[Stream | None, Step | None]:
        stream = self._streams.get(task.stream)
        return stream, stream.steps.get(task.want) if stream else None

    def _retire(self, number: int) -> None:
        stream = self._streams.pop(number)
        self._queues.close(number)
        self.held.drop(number)
        self._ledger.add(RetireStream(number, stream.slots.numbers))

    def _fill_slots(self, stream: Stream) -> None:
        """Give free slots to the steps that wait longest, and queue their tasks."""
        for step in list(stream.steps.values()):
            if step.slot is None:
                slot = stream.slots.fill()
                if slot is None:
                    return
                step.begin(slot)
                for piece in cut(step.rows, self._ownership, stream.opened.row_bytes, stream.opened.frame_bytes):
                    self._queue(stream, step, piece)

    def _queue(
        self, stream: Stream, step: Step, rows: tuple[int, ...], strikes: int = 0, turn: int | None = None
    ) -> None:
        self._queues.put(self._make_task(stream, step, rows, strikes, turn))

    def _make_task(
        self, stream: Stream, step: Step, rows: tuple[int, ...], strikes: int, turn: int | None
    ) -> PendingTask:
        self._last_task += 1
        step.open_tasks.add(self._last_task)
        return PendingTask(
            task=self._last_task,
            stream=stream.opened.stream,
            want=step.want,
            rows=rows,
            size_bytes=step.size_bytes(rows),
            file=step.rows[rows[0]].file,
            strikes=strikes,
            turn=turn,
        )

    def _hold(self, stream: Stream, step: Step, rows: list[int], task: PendingTask) -> None:
        """Hold rows until their files were looked at; ask for that where nobody has yet."""
        if step.forgotten:
            return
        by_file: dict[int, list[int]] = {}
        for row in rows:
            by_file.setdefault(step.rows[row].file, []).append(row)
        for these in by_file.values():
            held = self._make_task(stream, step, tuple(these), task.strikes, task.turn)
            if self.held.put(held):
                self._ledger.add(CheckFile(held.file))

    def _fatal(self, stream: Stream, step: Step, row: int, strikes: int, cause: str) -> BadRow:
        place = stream.opened.source.describe(step.rows[row].sample)
        return BadRow(row, "WorkerDied", f"{place}: {strikes} workers died while they were at it; the last one {cause}")

    def _bad_row(self, stream: Stream, step: Step, bad: BadRow, turn: int | None) -> None:
        if step.forgotten:
            return
        self._ledger.counters.samples_bad += 1
        self._ledger.add(NoteBadSample(stream.opened.stream, f"{bad.error}: {bad.message}"))
        # Another sample is no remedy for files that are not those of the plan.
        if bad.error != CatalogChanged.__name__ and step.substitute(bad.row):
            self._ledger.counters.samples_substituted += 1
            self._queue(stream, step, (bad.row,), turn=turn)
        else:
            step.blame(bad)

    def _conclude(self, stream: Stream, step: Step) -> None:
        """End the filling of a step that no task is left of: announce it, report its error, or let it go."""
        if step.open_tasks:
            return
        if step.slot is not None and step.error is None and not step.forgotten:
            stream.slots.complete(step.slot)
            stream.slots.lease(step.slot)
            self._last_lease += 1
            step.lease = self._last_lease
            stream.leases[step.lease] = step.want
            stream.steps_done += 1
            stream.samples_substituted += len(step.planned)
            self._ledger.add(step.readiness())
            return
        del stream.steps[step.want]
        if step.slot is not None:
            stream.slots.abandon(step.slot)
        if step.error is not None and not step.forgotten:
            error, opened = step.error, stream.opened
            self._ledger.add(SendFailed(opened.client, opened.stream, step.want, error.error, error.message))
        self._fill_slots(stream)

    def _end_lease(self, stream: Stream, lease: int) -> None:
        step = stream.steps.pop(stream.leases.pop(lease))
        require(step.slot is not None, f"lease {lease} has no slot")
        stream.slots.release(step.slot or 0)
        self._fill_slots(stream)

    # ---- self-check

    def validate(self, given: list[PendingTask]) -> None:
        """Raise AssertionError where an invariant does not hold; `given` are the tasks with living workers."""
        tasks: dict[tuple[int, int], list[PendingTask]] = {}
        for task in itertools.chain(given, self._queues, self.held):
            tasks.setdefault((task.stream, task.want), []).append(task)
        for number, stream in self._streams.items():
            held = [step.slot for step in stream.steps.values() if step.slot is not None]
            require(len(held) == len(set(held)), f"stream {number}: two steps hold one slot: {held}")
            for slot in set(stream.slots.numbers) - set(held):
                require(stream.slots.state(slot) is SlotState.FREE, f"slot {slot} is busy, but no step holds it")
            for step in stream.steps.values():
                self._validate_step(stream, step, tasks.get((number, step.want), []))

    def _validate_step(self, stream: Stream, step: Step, tasks: list[PendingTask]) -> None:
        about = (stream.opened.stream, step, tasks)
        rows = [row for task in tasks for row in task.rows]
        require({task.task for task in tasks} == step.open_tasks, "tasks were lost or made up", *about)
        require(len(rows) == len(set(rows)), "a row is in two hands", *about)
        if step.slot is None:
            require(not tasks and step.lease is None, "tasks without a slot", *about)
            require(not stream.slots.count(SlotState.FREE), "waits although a slot is free", *about)
        elif step.lease is None:
            require(stream.slots.state(step.slot) is SlotState.FILLING, "slot is not FILLING", *about)
            require(bool(tasks), "stuck: a slot, but no task", *about)
        else:
            require(stream.slots.state(step.slot) is SlotState.LEASED, "slot is not LEASED", *about)
            require(not tasks, "leased while tasks still write into it", *about)


def _objection(opened: StreamOpened, event: StepWanted) -> str:
    """Return why a want can never be met, "" when it can."""
    if bool(event.samples) != opened.indexed or len(event.samples) != len(event.positions):
        what = "names its samples, and the entry of the index for each" if opened.indexed else "names no samples"
        return f"{len(event.samples)} samples and {len(event.positions)} positions; a want of this stream {what}"
    if event.epoch < 0 or event.step < 0 or (event.step >= opened.steps_per_epoch and not opened.indexed):
        return f"epoch {event.epoch} has no step {event.step}; an epoch has {opened.steps_per_epoch} steps"
    return ""
