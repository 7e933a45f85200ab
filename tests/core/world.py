"""All that surrounds the scheduler, as a model: clients, workers, memory and time. Knows what must never be seen there.

The model never looks at how the scheduler decides; it holds each action against what a living process could do with it.
A worker that is dead, hung or condemned holds its tasks until it is reaped, as real memory would have it.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

from loader_service.core import actions as a
from loader_service.core import events as e
from loader_service.core.ledger import Limits
from loader_service.core.pace import LATE_S
from loader_service.core.scheduler import Scheduler
from loader_service.core.tasks import PendingTask
from loader_service.protocol.messages import BadRow
from tests.core.model import Channel, Made, Process, Promise, Shape
from tests.core.passing import Passing
from tests.core.places import frames_of, laid_out, laid_out_in
from tests.core.sources import SpreadSource, is_irreplaceable, meaning, sample_of

STEPS_PER_EPOCH = 1000

_CHANGED = "file 'x.h5' has other frames"


class World:
    """The scheduler, and all that it talks to.

    Parameters
    ----------
    file_bytes
        Payload of each file.
    limits
        Of the scheduler.
    """

    def __init__(self, file_bytes: Sequence[int], limits: Limits) -> None:
        self.scheduler = Scheduler(file_bytes, limits)
        self.limits = limits
        self.file_count = len(file_bytes)
        self.now = 100.0
        self.events = 0
        self.wanted_workers = 0
        self.failed_starts = 0  # in a row
        self.gave_up = False
        self.answered = 0
        self.processes: dict[int, Process] = {}
        self.channels: dict[int, Channel] = {}
        self.slots_to_make: list[int] = []  # streams
        self.files_to_check: list[int] = []
        self.passing = Passing(self.scheduler)
        self._last_stream = self._last_slot = self._last_epoch = 0
        self._seen: set[tuple[str, int]] = set()  # numbers that must not come twice

    # ---- what clients do

    def open(self, client: str, slots: int, row_count: int, shape: Shape) -> None:
        """Open a stream."""
        self._last_stream += 1
        numbers = tuple(range(self._last_slot + 1, self._last_slot + slots + 1))
        self._last_slot += slots
        source = SpreadSource(row_count, self.file_count, varying=shape.lengths is not e.Lengths.ALIKE)
        opened = e.StreamOpened(
            client, self._last_stream, source, STEPS_PER_EPOCH, numbers, **dataclasses.asdict(shape)
        )
        self.channels[opened.stream] = Channel(opened, row_count)
        self.happen(opened)

    def want(self, client: str, stream: int, want: int, step: int, *, confused: bool = False) -> None:
        """Ask for a step, perhaps again; confused about whether the stream has an index."""
        channel = self._channel_of(client, stream)
        self._last_epoch += 1
        event = e.StepWanted(client, stream, want, self._last_epoch, step)
        if channel and channel.opened.indexed != confused:
            samples = tuple(sample_of(step, row) for row in range(1 + want % channel.row_count))
            event = dataclasses.replace(event, samples=samples, positions=tuple(3 * each for each in samples))
        known = channel.promises.get(want) if channel else None
        slots = len(channel.opened.slots) + len(channel.made) if channel else 0
        most = max(self.limits.least_wants, self.limits.wants_per_slot * slots)
        too_many = channel and len(channel.promises) >= most
        outside = step < 0 or (channel and step >= STEPS_PER_EPOCH and not channel.opened.indexed)
        if channel and known is None and (outside or confused):
            self._want_nonsense(event)
            return
        if channel is None or (known is None and too_many):
            self.happen(event, refused_to=client)
            return
        if known is None:
            source = channel.opened.source
            rows = source.rows_of(event.samples, event.positions) if event.samples else source.rows(event.epoch, step)
            channel.promises[want] = Promise(stream, want, event.epoch, step, rows)
            channel.last_want = max(channel.last_want, want)
        repeated = [known.ready] if known and known.ready else []
        ready = [each for each in self.happen(event) if isinstance(each, a.SendReady) and each.want == want]
        assert ready == repeated, "a want is answered at once exactly when it was answered before"

    def _want_nonsense(self, event: e.StepWanted) -> None:
        """Ask for what is no step: the want fails at once, nothing else happens, and nothing of it stays."""
        self.events += 1
        (answer,) = self.scheduler.handle(event, self.now)
        assert isinstance(answer, a.SendFailed), answer
        assert (answer.client, answer.stream, answer.want) == (event.client, event.stream, event.want)
        assert answer.error == "ConfigError"
        self.scheduler.validate()

    def forget(self, client: str, stream: int, want: int) -> None:
        """Take a want back."""
        channel = self._channel_of(client, stream)
        promise = channel.promises.get(want) if channel else None
        if channel and promise:
            if promise.ready:
                channel.returned.append(promise.ready.lease)
                del channel.promises[want]
            promise.forgotten = True
            self._let_go_if_over(channel, promise)
        self.happen(e.WantForgotten(client, stream, want), refused_to=None if channel else client)

    def release(self, client: str, stream: int, lease: int) -> None:
        """Return a lease, perhaps one that is not out."""
        channel = self._channel_of(client, stream)
        promises = channel.promises.values() if channel else ()
        held = next((each for each in promises if each.ready and each.ready.lease == lease), None)
        if channel and held:
            del channel.promises[held.want]
            channel.returned.append(lease)
        self.happen(e.LeaseReleased(client, stream, lease), refused_to=None if held else client)

    def close(self, client: str, stream: int) -> None:
        """Give a stream up."""
        channel = self._channel_of(client, stream)
        if channel is None:
            self.happen(e.StreamClosed(client, stream), refused_to=client)
            return
        del self.channels[stream]
        self._expect_retired(self.happen(e.StreamClosed(client, stream)), [channel])

    def lose(self, client: str) -> None:
        """End a client."""
        gone = [each for each in self.channels.values() if each.opened.client == client]
        for channel in gone:
            del self.channels[channel.opened.stream]
        self._expect_retired(self.happen(e.ClientLost(client)), gone)

    def make_slot(self, *, fits: bool) -> None:
        """Make a slot that was asked for, or find no memory for it."""
        stream = self.slots_to_make.pop(0)
        self._last_slot += fits
        channel = self.channels.get(stream)
        if channel and fits:
            channel.made.append(self._last_slot)
        answers = self.happen(e.SlotMade(stream, self._last_slot if fits else None))
        if fits and not channel:
            assert answers[0] == a.RetireStream(stream, (self._last_slot,))

    # ---- what workers do

    def start(self, process: Process) -> None:
        """Let a worker say that it waits for tasks."""
        if not (process.started or process.condemned or process.dismissed):
            process.owed_since = None
            self.failed_starts = 0
        process.started = True
        self._relieve()
        self.happen(e.WorkerStarted(process.number))

    def end(self, process: Process, place: int, bad_rows: Sequence[int], touched: Sequence[int] = ()) -> None:
        """Let a worker report one of its tasks; it did not read the touched rows, whose files have another time."""
        task = process.tasks.pop(place)
        process.reported.append(task.task)
        process.owed_since = self.now if process.tasks else None
        bad = tuple(BadRow(row, "DecodeError", f"row {row}") for row in bad_rows)
        bad += tuple(BadRow(row, "FileTouched", "touched") for row in touched)
        channel, promise = self._promise_of(task)
        if channel and promise:
            made = promise.made[task.slot]
            for row in set(task.rows) - set(bad_rows) - set(touched):
                made.done[row] = made.done.get(row, 0) + 1
            if not promise.ready and not promise.forgotten:
                made.held.update((row, self._file_of(channel, promise, made, row)) for row in touched)
            for row in set(bad_rows) & set(task.rows):
                self._fail_row(channel, promise, made, row)
            self._let_go_if_over(channel, promise)
        self.happen(e.TaskEnded(process.number, task.task, bad))

    def check_file(self, *, same: bool) -> None:
        """Look at a file again that was touched."""
        file = self.files_to_check.pop(0)
        for channel in self.channels.values():
            for promise in channel.promises.values():
                for made in promise.made.values():
                    rows = [row for row, waits_for in made.held.items() if waits_for == file]
                    for row in rows:
                        del made.held[row]
                    if not same:
                        made.changed.update(rows)
                        made.beyond_help.update(rows)
        self.happen(e.FileChecked(file, "" if same else _CHANGED))

    def repeat(self, process: Process, task: int) -> None:
        """Let a worker report a task that is not its own any more, or never was."""
        answers = self.happen(e.TaskEnded(process.number, task, ()))
        assert not any(isinstance(each, a.SendReady | a.SendFailed) for each in answers), "a report counts once"

    def reap(self, process: Process) -> None:
        """Report the end of a process."""
        del self.processes[process.number]
        process.alive = False
        if not (process.condemned or process.dismissed or process.draining):
            self.failed_starts = 0 if process.started else self.failed_starts + 1
        self.passing.begin_anew()
        for place, task in enumerate(process.tasks):
            channel, promise = self._promise_of(task)
            if channel and promise:
                for row in task.rows if place == 0 else ():
                    self._strike(channel, promise, promise.made[task.slot], row)
                self._let_go_if_over(channel, promise)
        self.happen(e.WorkerExited(process.number, "was killed by SIGKILL"))

    def grow(self, process: Process) -> None:
        """Report that a worker has too much memory; it goes when another has taken its place."""
        process.leaving = process.leaving or (process.started and process in self._standing())
        answers = self.happen(e.WorkerOverweight(process.number))
        assert not any(isinstance(each, a.StopWorker | a.KillWorker) for each in answers), "no gap"

    # ---- what people and time do

    def scale(self, count: int) -> None:
        """Ask for a number of workers."""
        self.wanted_workers = count
        self.failed_starts = 0
        surplus = self._surplus(count)
        for process in surplus:
            process.draining = process.started
        self._relieve()
        dismissed = {each.worker for each in self.happen(e.WorkersWanted(count)) if isinstance(each, a.StopWorker)}
        gone = {each.number for each in self.processes.values() if each.draining and not each.tasks} | dismissed
        assert gone >= dismissed >= {each.number for each in surplus if not each.tasks}

    def _surplus(self, count: int) -> list[Process]:
        """Return who leaves: those that start, then those that are late and stragglers, then those that came last."""
        staying = [each for each in self._standing() if not each.leaving]
        workers = {each.worker: each for each in self.scheduler._staff}
        staying.sort(
            key=lambda each: (
                not each.started,
                workers[each.number].late_s(self.now),  # how late is late depends on its pace, which is not modelled
                workers[each.number].straggles,
                each.number,
            )
        )
        for each in staying:
            assert workers[each.number].busy_s(self.now) == (self.now - (each.owed_since or 0.0) if each.tasks else 0.0)
        return staying[count:]

    def tick(self, seconds: float) -> None:
        """Let time pass; the scheduler is called when it asked to be."""
        end = self.now + seconds
        while (deadline := self.scheduler.next_deadline()) is not None and deadline <= end:
            self.now = max(self.now, deadline)
            self.happen(e.ClockTicked())
            following = self.scheduler.next_deadline()
            assert following is None or following > self.now, "the daemon's loop would spin"
            late = [each for each in self.processes.values() if not each.condemned and self._is_late(each)]
            assert not late, f"not killed at their deadlines: {late}"
        self.now = end

    # ---- what the scheduler answers

    def happen(self, event: e.Event, refused_to: str | None = None) -> list[a.Action]:
        """Tell the scheduler of an event, and hold its actions against the model."""
        self.events += 1
        redone, late = self.scheduler.counters.steps_redone, self._someone_is_late()
        answers = self.scheduler.handle(event, self.now)
        assert late or self.scheduler.counters.steps_redone == redone, "done again, though nobody is late"
        refusals = [each.client for each in answers if isinstance(each, a.Refuse)]
        assert refusals == ([refused_to] if refused_to else []), f"{event} was answered by {answers}"
        for action in answers:
            self._carry_out(action)
        self.scheduler.validate()
        self._no_one_idles_while_tasks_wait()
        return answers

    def _carry_out(self, action: a.Action) -> None:
        match action:
            case a.StartWorker(worker):
                self._fresh("worker", worker)
                self.processes[worker] = Process(worker, self.now)
                assert not self.gave_up
                staying = [each for each in self._standing() if not each.leaving]
                assert len(staying) <= self.wanted_workers, "more workers than were asked for"
            case a.StopWorker(worker):
                process = self.processes[worker]
                assert process.may_stop, process
                process.dismissed, process.owed_since = True, self.now
            case a.KillWorker(worker):
                self._condemn(self.processes[worker])
            case a.SendTask():
                self._send_task(action)
            case a.SendReady():
                self._send_ready(action)
            case a.SendFailed():
                self._send_failed(action)
            case a.MakeSlot(stream):
                self.slots_to_make.append(stream)
            case a.CheckFile(file):
                assert file not in self.files_to_check, "asked for twice"
                self.files_to_check.append(file)
            case a.GiveUp():
                assert not self.gave_up, "said twice"
                assert self.failed_starts >= self.limits.failed_starts
                assert not any(each.started for each in self._standing()), "while others worked"
                self.gave_up = True

    def _condemn(self, process: Process) -> None:
        assert not process.condemned, "killed twice"
        worker = self.scheduler._staff.get(process.number)
        early = worker is not None and worker.late_s(self.now) > 0
        assert early or self._is_late(process), "killed before its time"
        if not (process.dismissed or process.draining):
            self.failed_starts = 0 if process.started else self.failed_starts + 1
        process.condemned = True

    def _send_task(self, task: a.SendTask) -> None:
        self._fresh("task", task.task)
        process, (channel, promise) = self.processes[task.worker], self._promise_of(task)
        assert process.started, process
        assert process in self._standing(), process
        assert channel, f"no stream for {task}"
        assert promise, f"nobody wanted {task}"
        assert promise.unanswered, f"nobody wants {task} any more: {promise}"
        assert task.slot in (*channel.opened.slots, *channel.made)
        if task.slot not in promise.made:
            self._no_one_has_slot(task.slot)
            assert len(promise.made) < 2, f"a third slot is filled for {promise}"
            promise.made[task.slot] = Made(task.slot)
        made = promise.made[task.slot]
        assert laid_out(task) == laid_out_in(promise.rows, channel.opened.lengths, task.rows)
        for row, sample in zip(task.rows, task.samples, strict=True):
            told = meaning(sample)
            assert (told.step, told.row, told.attempt) == (promise.step, row, made.attempts.get(row, 0))
            assert not made.done.get(row), f"row {row} of {promise} is done already"
            assert row not in made.beyond_help
            assert row not in made.held, f"nobody has looked at the file of row {row} again"
        for other in self._writing_to(task.slot):
            assert not set(other.rows) & set(task.rows), f"two living processes write the same row: {task}, {other}"
        self.passing.note(task)
        process.tasks.append(task)
        process.owed_since = self.now if len(process.tasks) == 1 else process.owed_since

    def _send_ready(self, ready: a.SendReady) -> None:
        channel = self.channels[ready.stream]
        promise = channel.promises[ready.want]
        made = promise.made[ready.slot]
        if promise.ready is None:
            self._fresh("lease", ready.lease)
            promise.ready = self._readiness(promise, made, ready.lease)
            self.answered += 1
        assert ready == promise.ready
        assert not promise.forgotten
        assert made.done == dict.fromkeys(range(len(promise.rows)), 1), f"each row exactly once: {promise}"
        assert not self._writing_to(ready.slot)

    def _send_failed(self, failed: a.SendFailed) -> None:
        channel = self.channels[failed.stream]
        promise = channel.promises.pop(failed.want)
        assert failed.client == channel.opened.client
        assert promise.unanswered, promise
        over = [each for each in promise.made.values() if each.beyond_help and not self._writing_to(each.slot)]
        assert over, f"failed, but no slot is over: {promise}"
        assert any(self._is_error_of(promise, made, failed, channel) for made in over), failed
        self.answered += 1

    def _is_error_of(self, promise: Promise, made: Made, failed: a.SendFailed, channel: Channel) -> bool:
        """Return whether an error is what became of a slot's lowest bad row."""
        row = min(made.beyond_help)
        if row in made.changed:
            return (failed.error, failed.message) == ("CatalogChanged", _CHANGED)
        if failed.error == "WorkerDied":
            sample = promise.rows[row].sample + made.attempts[row] - 1
            fits = failed.message.startswith(f"sample {sample}: {self.limits.strikes} workers died")
        else:
            fits = (failed.error, failed.message.split(";")[0]) == ("DecodeError", f"row {row}")
        others, most = made.attempts[row] - 1, channel.opened.substitutes
        why = (
            "no other sample that fits into its place"
            if others < most
            else f"what was tried in its place, {others} times"
        )
        return fits and (why in failed.message) == (most > 0)

    # ---- what the model knows

    def _relieve(self) -> None:
        """Let the workers go that are too heavy, once enough others have started."""
        working = [each for each in self._standing() if each.started]
        leaving = [each for each in working if each.leaving]
        if len(working) - len(leaving) >= self.wanted_workers:
            for process in leaving:
                process.draining = True

    def _is_late(self, process: Process) -> bool:
        limit = self.limits.task_timeout_s if process.tasks else self.limits.start_timeout_s
        return process.owed_since is not None and process.owed_since + limit <= self.now

    def _standing(self) -> list[Process]:
        """Return the workers that are counted on, the oldest first."""
        away = {each.number for each in self.processes.values() if each.condemned or each.dismissed or each.draining}
        return [each for each in self.processes.values() if each.number not in away]

    def _readiness(self, promise: Promise, made: Made, lease: int) -> a.SendReady:
        channel = self.channels[promise.stream]
        return a.SendReady(
            client=channel.opened.client,
            stream=promise.stream,
            want=promise.want,
            slot=made.slot,
            lease=lease,
            rows=len(promise.rows),
            frames=frames_of(promise.rows, channel.opened.lengths),
            substituted=len(made.attempts),
        )

    def _channel_of(self, client: str, stream: int) -> Channel | None:
        channel = self.channels.get(stream)
        return channel if channel and channel.opened.client == client else None

    def _promise_of(self, task: a.SendTask) -> tuple[Channel | None, Promise | None]:
        channel = self.channels.get(task.stream)
        promises = channel.promises.values() if channel else ()
        return channel, next((each for each in promises if each.epoch == task.epoch), None)

    def _writing_to(self, slot: int | None) -> list[a.SendTask]:
        return [task for process in self.processes.values() for task in process.tasks if task.slot == slot]

    def _no_one_has_slot(self, slot: int) -> None:
        assert not self._writing_to(slot), f"slot {slot} can still be written by a process that was not reaped"
        promises = [each for channel in self.channels.values() for each in channel.promises.values()]
        alive = [each for each in promises if not each.forgotten]
        holders = [each for each in alive if (each.ready.slot == slot if each.ready else slot in each.made)]
        assert not holders, f"slot {slot} belongs to {holders}"

    def _someone_is_late(self) -> bool:
        """Return whether a worker has been at a task for so long that it may be done again elsewhere."""
        since = [each.owed_since for each in self.processes.values() if each.tasks and each.owed_since is not None]
        return any(each + LATE_S <= self.now for each in since)

    def _file_of(self, channel: Channel, promise: Promise, made: Made, row: int) -> int:
        """Return the file of what is in a row by now."""
        sample = promise.rows[row].sample + made.attempts.get(row, 0)
        return channel.opened.source.rows_of((sample,), (0,))[0].file

    def _strike(self, channel: Channel, promise: Promise, made: Made, row: int) -> None:
        made.strikes[row] = made.strikes.get(row, 0) + 1
        if made.strikes[row] >= self.limits.strikes:
            self._fail_row(channel, promise, made, row)

    def _fail_row(self, channel: Channel, promise: Promise, made: Made, row: int) -> None:
        made.strikes[row] = 0
        made.attempts[row] = made.attempts.get(row, 0) + 1
        if made.attempts[row] > channel.opened.substitutes or is_irreplaceable(promise.rows[row].sample):
            made.beyond_help.add(row)

    def _let_go_if_over(self, channel: Channel, promise: Promise) -> None:
        tasks = [task for process in self.processes.values() for task in process.tasks]
        if promise.forgotten and not any(
            (each.stream, each.epoch) == (promise.stream, promise.epoch) for each in tasks
        ):
            channel.promises.pop(promise.want, None)

    def _expect_retired(self, answers: list[a.Action], gone: list[Channel]) -> None:
        retired = [each for each in answers if isinstance(each, a.RetireStream)]
        assert retired == [a.RetireStream(each.opened.stream, (*each.opened.slots, *each.made)) for each in gone]

    def _fresh(self, kind: str, number: int) -> None:
        assert (kind, number) not in self._seen, f"{kind} {number} was there before"
        self._seen.add((kind, number))

    def _no_one_idles_while_tasks_wait(self) -> None:
        waiting: list[PendingTask] = list(self.scheduler._queues)
        free = [each for each in self.scheduler._staff if each.has_room and not (each.tasks or each.straggles)]
        assert not waiting or not free, f"{free} do nothing while {waiting} wait"
