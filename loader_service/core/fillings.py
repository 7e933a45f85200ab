"""Slots on their way from free to whole: which tasks write into them, and what becomes of each. Pure.

A slot is announced or used again only when no task of it is left anywhere, so no living worker could write into it.

A bad sample is replaced by the next of a chain that its stream's source tells, a pure function, when the stream
allows it; else the step fails with the error of its lowest bad row, whichever worker found which first.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from dataclasses import replace

from loader_service.core.effects import Note, NoteKind
from loader_service.core.held import HeldTasks
from loader_service.core.ledger import Ledger, Limits, require
from loader_service.core.ownership import Ownership
from loader_service.core.slot_shares import SlotShares
from loader_service.core.steps import Filling, Step
from loader_service.core.stream_state import StreamState
from loader_service.core.tasks import PendingTask, TaskQueues, cut
from loader_service.errors import CatalogChanged, FileTouched
from loader_service.protocol import messages as m
from loader_service.protocol.messages import BadRow, Ready

#: Slots that are filled for one want at a time: when the second one is late too, its deadline decides.
MOST_FILLINGS = 2

#: Letters of the reason why a sample was bad that its client is told.
_LONGEST_REASON = 1000


class Fillings:
    """All slots that are being filled.

    Parameters
    ----------
    streams, shares
        All open streams, by number; how many slots each has.
    queues
        Gets the tasks.
    ownership
        Says how a step is cut into tasks.
    limits, ledger
        Bounds; the effects and counters.
    """

    def __init__(
        self,
        streams: Mapping[int, StreamState],
        shares: SlotShares,
        queues: TaskQueues,
        ownership: Ownership,
        limits: Limits,
        ledger: Ledger,
    ) -> None:
        self._streams = streams
        self._shares = shares
        self._queues = queues
        self._ownership = ownership
        self._limits = limits
        self._ledger = ledger
        self.held = HeldTasks()
        self._slots_filling = 0
        self._last_task = 0
        self._last_lease = 0

    def order(self, task: PendingTask) -> m.Task:
        """Return what a worker is told of a task."""
        return self._streams[task.stream].fillings[task.slot].order(task)

    def place(self, task: PendingTask) -> tuple[int, int, tuple[int, ...]] | None:
        """Return epoch, step and samples of a task, None when nobody wants its step any more."""
        _, step = self._of(task)
        if step is None:
            return None
        return step.wanted.epoch, step.wanted.step, tuple(step.rows[row].sample for row in task.rows)

    def split(self, task: PendingTask) -> tuple[PendingTask | None, PendingTask]:
        """Cut the last row off a task that was taken from its queue; return what is left of it, and the row."""
        if len(task.rows) == 1:
            return None, task
        filling = self._streams[task.stream].fillings[task.slot]
        self._last_task += 1
        filling.open_tasks.add(self._last_task)
        last_bytes = filling.size_bytes(task.rows[-1:])
        rest = replace(task, rows=task.rows[:-1], size_bytes=task.size_bytes - last_bytes)
        return rest, replace(task, task=self._last_task, rows=task.rows[-1:], size_bytes=last_bytes)

    def ended(self, task: PendingTask, bad: tuple[BadRow, ...]) -> None:
        """Take note that every row of a task is written, save the bad ones."""
        stream, filling = self._of(task)
        if stream is None or filling is None:
            return
        filling.open_tasks.discard(task.task)
        if bad and not filling.abandoned:
            by_row = {each.row: each for each in bad if each.row in task.rows}
            touched = [row for row, error in by_row.items() if error.error == FileTouched.__name__]
            self._hold(filling, touched, task)
            for row, error in by_row.items():
                if row not in touched:
                    self._bad_row(filling, error, task.turn)
        if not filling.open_tasks:
            self._conclude(stream, filling)

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
        _, filling = self._of(task)
        if filling is None or filling.abandoned:
            self.ended(task, ())
            return
        strikes = task.strikes + guilty
        if guilty and strikes >= self._limits.strikes:
            self.ended(task, tuple(_fatal(filling, row, strikes, cause) for row in task.rows))
            return
        self._ledger.counters.rows_reassigned += len(task.rows)
        filling.open_tasks.discard(task.task)
        for rows in [(row,) for row in task.rows] if guilty else [task.rows]:
            self._queues.put(self._make_task(filling, rows, strikes, task.turn))

    def redo(self, task: PendingTask) -> bool:
        """Fill another slot with the step of a task that is late; return whether there was one to fill.

        The first slot stays as it is, since the late worker may still write into it; whichever is whole first, counts.
        """
        stream, filling = self._of(task)
        if stream is None or filling is None or filling.abandoned:
            return False
        step = stream.steps[filling.wanted.want]
        if len(step.fillings) >= MOST_FILLINGS:
            return False
        filling.is_kept = True
        if self._begin(stream, step, task.turn):
            self._ledger.counters.steps_redone += 1
            return True
        self._shares.ask_for_another(stream, filling)
        return False

    def is_stuck(self, task: PendingTask) -> bool:
        """Return whether a late task keeps its client waiting, and there is no memory for a slot to do its step again.

        A step behind one that is on its way keeps nobody waiting yet, and a slot may be free before it does.
        """
        stream, filling = self._of(task)
        if stream is None or filling is None or filling.abandoned or stream.slots_asked:
            return False
        step = stream.steps[filling.wanted.want]
        first = next(each for each in stream.steps.values() if not (each.ready or each.forgotten))
        return len(step.fillings) < MOST_FILLINGS and (first is step or first.waits)

    def use_free_slots(self, number: int) -> None:
        """Give a stream's free slots to what waits."""
        stream = self._streams.get(number)
        if stream is not None:
            self.fill_slots(stream)

    def fill_slots(self, stream: StreamState) -> None:
        """Give free slots to the steps that wait longest, and queue their tasks."""
        while stream.waiting:
            step = stream.steps.get(stream.waiting[0])
            if step is not None and step.waits and not self._begin(stream, step):
                break
            stream.waiting.popleft()  # begun; or forgotten, and perhaps wanted anew
        if stream.take_time(self._ledger.sums.now):
            self._ledger.sums.shortage(begins=stream.clock.short.is_on)

    def abandon(self, stream: StreamState, filling: Filling) -> None:
        """Drop what waits of a filling that nobody wants; its slot is free when no worker writes into it any more."""
        filling.abandoned = True
        open_tasks = list(filling.open_tasks)
        for task in (*self._queues.drop(open_tasks), *self.held.drop(open_tasks)):
            filling.open_tasks.discard(task.task)
        if not filling.open_tasks:
            self._free(stream, filling)
            step = stream.steps.get(filling.wanted.want)
            if step is not None and filling in step.fillings:
                step.fillings.remove(filling)

    def let_go(self, stream: StreamState, step: Step) -> None:
        """Drop a want that was forgotten once no worker is at it any more."""
        if step.forgotten and not step.fillings:
            del stream.steps[step.wanted.want]

    def _of(self, task: PendingTask) -> tuple[StreamState | None, Filling | None]:
        stream = self._streams.get(task.stream)
        return stream, stream.fillings.get(task.slot) if stream else None

    def _begin(self, stream: StreamState, step: Step, turn: int | None = None) -> bool:
        """Begin to fill a free slot for a step; return whether there was one."""
        slot = stream.slots.fill()
        if slot is None:
            return False
        filling = stream.fillings[slot] = Filling(stream.number, stream.plan, step.wanted, slot)
        step.fillings.append(filling)
        self._slots_filling += 1
        plan = stream.plan
        for piece in cut(filling.rows, self._ownership, *plan.work, self._slots_filling):
            self._queues.put(self._make_task(filling, piece, 0, turn))
        return True

    def _hold(self, filling: Filling, rows: list[int], task: PendingTask) -> None:
        """Hold rows until their files were looked at; ask for that where nobody has yet."""
        by_file: dict[int, list[int]] = {}
        for row in rows:
            by_file.setdefault(filling.rows[row].file, []).append(row)
        for these in by_file.values():
            held = self._make_task(filling, tuple(these), task.strikes, task.turn)
            self.held.put(held)
            self._ledger.check_file(held.file)

    def _make_task(self, filling: Filling, rows: tuple[int, ...], strikes: int, turn: int | None) -> PendingTask:
        self._last_task += 1
        filling.open_tasks.add(self._last_task)
        return PendingTask(
            task=self._last_task,
            stream=filling.stream,
            slot=filling.slot,
            rows=rows,
            size_bytes=filling.size_bytes(rows),
            ease=filling.plan.ease,
            file=filling.rows[rows[0]].file,
            strikes=strikes,
            turn=turn,
        )

    def _bad_row(self, filling: Filling, bad: BadRow, turn: int | None) -> None:
        self._ledger.counters.samples_bad += 1
        self._ledger.sums.files.bad(filling.rows[bad.row].file)
        self._note_bad(self._streams[filling.stream], f"{bad.error}: {bad.message}")
        # Another sample is no remedy for files that are not those of the plan.
        if bad.error != CatalogChanged.__name__ and filling.substitute(bad.row):
            self._ledger.counters.samples_substituted += 1
            self._queues.put(self._make_task(filling, (bad.row,), 0, turn))
        else:
            filling.blame(bad)

    def _note_bad(self, stream: StreamState, words: str) -> None:
        """Tell people of a bad sample, and its client, if that has it replaced: the step itself will not say."""
        self._ledger.add(Note(f"bad sample in stream {stream.number}: {words}", NoteKind.BAD_SAMPLE, about=words))
        if stream.plan.substitutes:
            self._ledger.send(stream.client, m.BadSample(stream.number, words[:_LONGEST_REASON]))

    def _conclude(self, stream: StreamState, filling: Filling) -> None:
        """Announce the step of a slot of which no task is left, report its error, or free what nobody wants."""
        step = stream.steps.get(filling.wanted.want)
        if filling.abandoned or step is None:
            self._free(stream, filling)
            if step is not None and filling in step.fillings:
                step.fillings.remove(filling)
                self.let_go(stream, step)
        else:
            others = [each for each in step.fillings if each is not filling]
            step.fillings.clear()
            if filling.error is None:
                self._announce(stream, step, filling)
            else:
                self._report(stream, filling, filling.error)
            for other in others:
                self.abandon(stream, other)
        self.fill_slots(stream)

    def _announce(self, stream: StreamState, step: Step, filling: Filling) -> None:
        """Lease a slot that is whole to the client."""
        del stream.fillings[filling.slot]
        self._slots_filling -= 1
        stream.slots.lease(filling.slot)
        self._last_lease += 1
        ready = step.ready = stream.leases[self._last_lease] = filling.readiness(self._last_lease)
        self._count(stream, ready)
        stream.latest = filling
        stream.samples_substituted += len(filling.planned)
        self._ledger.send(stream.client, ready)

    def _count(self, stream: StreamState, ready: Ready) -> None:
        plan = stream.plan
        size_bytes = ready.rows * plan.row_bytes + ready.frames * plan.frame_bytes
        frames = ready.frames or ready.rows * stream.frames_of_row
        stream.clock.delivered(ready.rows, frames, size_bytes, self._ledger.sums.now)

    def _report(self, stream: StreamState, filling: Filling, error: BadRow) -> None:
        """Tell the client why its step cannot be delivered."""
        stream.clock.failed_steps += 1
        del stream.steps[filling.wanted.want]
        self._free(stream, filling)
        self._ledger.send(stream.client, m.Failed(stream.number, filling.wanted.want, error.error, error.message))

    def _free(self, stream: StreamState, filling: Filling) -> None:
        del stream.fillings[filling.slot]
        self._slots_filling -= 1
        stream.slots.abandon(filling.slot)
        self._shares.shrink(stream)

    def close(self, stream: StreamState) -> None:
        """Drop all that is being filled of a stream that has ended."""
        self._slots_filling -= len(stream.fillings)
        tasks = [task for each in stream.fillings.values() for task in each.open_tasks]
        self._queues.close(stream.number, tasks)
        self.held.drop(tasks)

    def validate(self, given: list[PendingTask]) -> None:
        """Raise AssertionError where an invariant does not hold; `given` are the tasks with living workers."""
        tasks: dict[int, list[PendingTask]] = {}
        for task in itertools.chain(given, self._queues, self.held):
            tasks.setdefault(task.slot, []).append(task)
        filling = sum(len(stream.fillings) for stream in self._streams.values())
        require(filling == self._slots_filling, "slots are said to be filled", self._slots_filling, filling)
        for stream in self._streams.values():
            stream.validate(tasks)


def _fatal(filling: Filling, row: int, strikes: int, cause: str) -> BadRow:
    place = filling.plan.source.describe(filling.rows[row].sample)
    return BadRow(row, "WorkerDied", f"{place}: {strikes} workers died while they were at it; the last one {cause}")
