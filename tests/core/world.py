"""All that surrounds the service, as a model: clients, workers, memory and time. Knows what must never be seen there.

The model never looks at how the service decides; it holds each action against what a living process could do with it.
A worker that is dead, hung or condemned holds its tasks until it is reaped, as real memory would have it.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence

from loader_service.core import effects as a
from loader_service.core import events as e
from loader_service.core.effects import Effect, Peer, Send
from loader_service.core.ledger import Limits
from loader_service.core.pace import LATE_S
from loader_service.core.planned import Lengths, PlannedStream
from loader_service.core.service import Service
from loader_service.core.tasks import PendingTask
from loader_service.protocol import messages as m
from loader_service.protocol.messages import BadRow
from tests.core.door import FIRST_SIZE, Asked, Door
from tests.core.model import Channel, Made, OpenStream, Process, Promise, Shape
from tests.core.passing import Passing
from tests.core.places import frames_of, laid_out, laid_out_in
from tests.core.planner import ABOUT, OUTPUTS, ScriptedPlanner, spec_of
from tests.core.sources import SpreadSource, is_irreplaceable, meaning, sample_of

STEPS_PER_EPOCH = 1000

_CHANGED = "file 'x.h5' has other frames"


class World:
    """The service, and all that it talks to.

    Parameters
    ----------
    file_bytes
        Payload of each file.
    limits
        Of the service.
    tries_transforms
        Whether it has a transform.
    """

    def __init__(self, file_bytes: Sequence[int], limits: Limits, *, tries_transforms: bool = False) -> None:
        self.now = 100.0
        self.planner = ScriptedPlanner(tries_transforms=tries_transforms)
        self.service = Service(ABOUT, self.planner, file_bytes, limits, 0, self.now)
        self.scheduler = self.service.scheduler
        self.limits = limits
        self.file_count = len(file_bytes)
        self.events = 0
        self.wanted_workers = 0
        self.failed_starts = 0  # in a row
        self.gave_up = False
        self.answered = 0
        self.processes: dict[int, Process] = {}
        self.channels: dict[int, Channel] = {}
        self.door = Door(limits)
        self.slots_to_make: list[a.MakeSegments] = []  # of streams that are open
        self.files_to_check: list[int] = []
        self.passing = Passing(self.scheduler)
        self._last_plan = self._last_slot = self._last_epoch = 0
        self._unstarted_surplus: set[int] = set()  # workers that the event in hand makes superfluous
        self._made: tuple[int, ...] = ()  # slots that are being reported
        self._gone: list[tuple[int, ...]] = []  # slots that must be removed by the event in hand
        self._dropped: list[int] = []  # streams that end with it
        self._seen: set[tuple[str, int]] = set()  # numbers that must not come twice

    # ---- what clients do

    def hello(self, client: bytes) -> None:
        """Connect a client, or let it say hello again."""
        self.door.connected[client] = self.now
        assert Send(client, ABOUT.welcome) in self.hear(client, m.Hello(client.decode(), 1))

    def beat(self, client: bytes) -> None:
        """Let a client say that it lives."""
        answers = self.hear(client, m.Heartbeat())
        assert Send(client, m.Heartbeat() if client in self.door.connected else m.Stranger()) in answers

    def ask(self, client: bytes, slots: int, row_count: int, shape: Shape) -> None:
        """Ask for a stream."""
        if client not in self.door.connected:
            self.hello(client)
        self._last_plan += 1
        request = self._last_plan
        self.planner.streams[request] = PlannedStream(
            source=SpreadSource(row_count, self.file_count, varying=shape.lengths is not Lengths.ALIKE),
            fields=(),
            steps_per_epoch=STEPS_PER_EPOCH,
            batch_size=64,
            samples=10**7,
            slot_bytes=FIRST_SIZE + request,
            wanted_slots=slots,
            **vars(shape),
        )
        self.door.asked[client, request] = Asked(client, request, row_count, shape, self.now)
        self.ask_again(client, request)

    def ask_again(self, client: bytes, request: int) -> None:
        """Ask for a stream, perhaps once more."""
        asked = self.door.asked[client, request]
        answers = self.hear(client, m.OpenStream(request, spec_of(request)))
        if asked.opened is not None:
            again = [each.message for each in answers if isinstance(each, Send) and isinstance(each.message, m.Opened)]
            assert [each.stream for each in again] == [asked.stream]

    def make_segments(self, which: int, *, fits: bool) -> None:
        """Make the first segments of a stream, or find no memory for them."""
        effect = self.door.to_make.pop(which)
        asked = self.door.of_stream(effect.stream)
        if not fits:
            self.happen(e.SegmentsMade(effect.stream, (), e.Shortage("10 bytes are left", "others: 5", "use less")))
            return
        self._made = self._new_slots(effect.wanted)
        if asked is None:
            self._gone.append(self._made)
        self.happen(e.SegmentsMade(effect.stream, self._made))
        assert asked is None or asked.opened is not None

    def _new_slots(self, count: int) -> tuple[int, ...]:
        self._last_slot += count
        return tuple(range(self._last_slot - count + 1, self._last_slot + 1))

    def _open(self, asked: Asked, opened: m.Opened) -> None:
        assert opened.slots == len(self._made)
        source = self.planner.streams[asked.request].source
        shape = asked.shape
        made = OpenStream(
            asked.client, opened.stream, self._made, source, shape.substitutes, shape.lengths, shape.indexed
        )
        self.channels[opened.stream] = Channel(made, asked.row_count)

    def want(self, client: bytes, stream: int, want: int, step: int, *, confused: bool = False) -> None:
        """Ask for a step, perhaps again; confused about whether the stream has an index."""
        channel = self._channel_of(client, stream)
        self._last_epoch += 1
        asked = m.Want(stream, want, self._last_epoch, step)
        if channel and channel.opened.indexed != confused:
            samples = tuple(sample_of(step, row) for row in range(1 + want % channel.row_count))
            asked = dataclasses.replace(asked, samples=samples, positions=tuple(3 * each for each in samples))
        known = channel.promises.get(want) if channel else None
        slots = len(channel.slots) if channel else 0
        most = max(self.limits.least_wants, self.limits.wants_per_slot * slots)
        too_many = channel and len(channel.promises) >= most
        outside = step < 0 or (channel and step >= STEPS_PER_EPOCH and not channel.opened.indexed)
        if channel and known is None and (outside or confused):
            self._want_nonsense(client, asked)
            return
        if channel is None or (known is None and too_many):
            self.hear(client, asked, refused_to=client)
            return
        if known is None:
            source = channel.opened.source
            rows = source.rows_of(asked.samples, asked.positions) if asked.samples else source.rows(asked.epoch, step)
            channel.promises[want] = Promise(stream, want, asked.epoch, step, rows)
            channel.last_want = max(channel.last_want, want)
        repeated = [known.ready] if known and known.ready else []
        told = [each.message for each in self.hear(client, asked) if isinstance(each, Send)]
        ready = [each for each in told if isinstance(each, m.Ready) and each.want == want]
        assert ready == repeated, "a want is answered at once exactly when it was answered before"

    def _want_nonsense(self, client: bytes, asked: m.Want) -> None:
        """Ask for what is no step: the want fails at once, nothing else happens, and nothing of it stays."""
        self.events += 1
        ((peer, answer),) = self.service.receive(client, asked, self.now)  # type: ignore[misc]
        assert isinstance(answer, m.Failed), answer
        assert (peer, answer.stream, answer.want) == (client, asked.stream, asked.want)
        assert answer.error == "ConfigError"
        self.service.validate()
        self.door.heard(client, self.now)

    def forget(self, client: bytes, stream: int, want: int) -> None:
        """Take a want back."""
        channel = self._channel_of(client, stream)
        promise = channel.promises.get(want) if channel else None
        if channel and promise:
            if promise.ready:
                channel.returned.append(promise.ready.lease)
                del channel.promises[want]
            promise.forgotten = True
            self._let_go_if_over(channel, promise)
        self.hear(client, m.Forget(stream, want), refused_to=None if channel else client)

    def release(self, client: bytes, stream: int, lease: int) -> None:
        """Return a lease, perhaps one that is not out."""
        channel = self._channel_of(client, stream)
        promises = channel.promises.values() if channel else ()
        held = next((each for each in promises if each.ready and each.ready.lease == lease), None)
        if channel and held:
            del channel.promises[held.want]
            channel.returned.append(lease)
        self.hear(client, m.Release(stream, lease), refused_to=None if held else client)

    def close(self, client: bytes, stream: int) -> None:
        """Give a stream up."""
        channel = self._channel_of(client, stream)
        if channel is not None:
            self._retire(channel)
            asked = self.door.of_stream(stream)
            assert asked
            del self.door.asked[asked.client, asked.request]
        self.hear(client, m.CloseStream(stream), refused_to=None if channel else client)

    def lose(self, client: bytes, event: e.Event | m.Goodbye) -> None:
        """End a client, in one of the ways that there are."""
        self.door.ending.add(client)
        if isinstance(event, m.Goodbye):
            self.hear(client, event)
        else:
            self.happen(event)
        assert client not in self.door.connected
        self.door.ending.clear()

    def miss(self, client: bytes) -> None:
        """Fail to send something to a client."""
        if client in self.door.connected:
            self.door.missed.setdefault(client, self.now)
        self.happen(e.ClientUnreachable(client))

    def make_slot(self, *, fits: bool) -> None:
        """Make a slot that was asked for, or find no memory for it."""
        asked = self.slots_to_make.pop(0)
        stream = asked.stream
        channel = self.channels.get(stream)
        made = self._new_slots(asked.wanted) if fits else ()
        if channel:
            channel.made += made
        elif made:
            self._gone.append(made)
        self.happen(e.SegmentsMade(stream, made, None if fits else e.Shortage("none is left"), asked.grows))

    def _retire(self, channel: Channel) -> None:
        """Let a stream be gone, whose slots must go with the event in hand."""
        del self.channels[channel.opened.stream]
        self._gone.append(channel.slots)
        self._dropped.append(channel.opened.stream)

    # ---- what workers do

    def start(self, process: Process) -> None:
        """Let a worker say that it waits for tasks."""
        if not (process.started or process.condemned or process.dismissed):
            process.connected = True
            process.owed_since = None
            self.failed_starts = 0
        process.started = True
        self._relieve()
        prepared = {
            each.message.stream
            for each in self.hear(process.number, m.WorkerReady(process.number))
            if isinstance(each, Send) and isinstance(each.message, m.PrepareStream)
        }
        assert prepared == (set(self.channels) if process.connected else set())

    def end(self, process: Process, place: int, bad_rows: Sequence[int], touched: Sequence[int] = ()) -> None:
        """Let a worker report one of its tasks; it did not read the touched rows, whose files have another time."""
        task = process.tasks.pop(place)
        process.reported.append(task.task)
        process.report(task.task, self.now)
        bad = tuple(BadRow(row, "DecodeError", f"row {row}") for row in bad_rows)
        bad += tuple(BadRow(row, "FileTouched", "touched") for row in touched)
        channel, promise = self._promise_of(task)
        if channel and promise:
            made = promise.made[task.slot]
            for row in set(task.rows.numbers) - set(bad_rows) - set(touched):
                made.done[row] = made.done.get(row, 0) + 1
            if not promise.ready and not promise.forgotten:
                made.held.update((row, self._file_of(channel, promise, made, row)) for row in touched)
            for row in set(bad_rows) & set(task.rows.numbers):
                self._fail_row(channel, promise, made, row)
            self._let_go_if_over(channel, promise)
        self.hear(process.number, m.TaskDone(process.number, task.task, bad))

    def probed(self, process: Process, *, error: str = "", file: int = -1) -> None:
        """Let a worker report what came of the first transform that it was to try."""
        probe = process.probes.pop(0)
        process.report(-probe, self.now)
        fields = () if error or file >= 0 else OUTPUTS
        self.hear(process.number, m.Probed(process.number, probe, fields, error, error and "it raised", file))

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
        answers = self.hear(process.number, m.TaskDone(process.number, task, ()))
        assert not any(isinstance(each.message, m.Ready | m.Failed) for each in answers if isinstance(each, Send)), (
            "a report counts once"
        )

    def reap(self, process: Process) -> None:
        """Report the end of a process."""
        del self.processes[process.number]
        process.alive = False
        if not (process.condemned or process.dismissed or process.draining):
            self.failed_starts = 0 if process.started else self.failed_starts + 1
        self.passing.begin_anew()
        for task in process.tasks:
            channel, promise = self._promise_of(task)
            if channel and promise:
                for row in task.rows.numbers if task.task == process.in_hand[0] else ():
                    self._strike(channel, promise, promise.made[task.slot], row)
                self._let_go_if_over(channel, promise)
        self.happen(e.WorkerExited(process.number, "was killed by SIGKILL"))

    def grow(self, process: Process) -> None:
        """Report that a worker has too much memory; it goes when another has taken its place."""
        process.leaving = process.leaving or (process.started and process in self._standing())
        answers = self.happen(e.WorkerOverweight(process.number))
        assert not _drained(answers), "no gap"
        assert not any(isinstance(each, a.KillWorker) for each in answers), "no gap"

    # ---- what people and time do

    def scale(self, count: int) -> None:
        """Ask for a number of workers."""
        self.wanted_workers = count
        self.failed_starts = 0
        surplus = self._surplus(count)
        self._unstarted_surplus = {each.number for each in surplus if not each.started}
        for process in surplus:
            process.draining = process.started
        self._relieve()
        dismissed = _drained(self.happen(e.ScaleWanted(count))) | self._unstarted_surplus
        assert all(self.processes[each].dismissed for each in self._unstarted_surplus)
        self._unstarted_surplus = set()
        gone = {each.number for each in self.processes.values() if each.draining and not each.in_hand} | dismissed
        assert gone >= dismissed >= {each.number for each in surplus if not each.in_hand}

    def _surplus(self, count: int) -> list[Process]:
        """Return who leaves: those that start, then those that are late and stragglers, then those that came last."""
        staying = [each for each in self._standing() if not each.leaving]
        workers = {each.worker: each for each in self.scheduler.staff}
        staying.sort(
            key=lambda each: (
                not each.started,
                workers[each.number].late_s(self.now),  # how late is late depends on its pace, which is not modelled
                workers[each.number].straggles,
                each.number,
            )
        )
        for each in staying:
            busy_s = self.now - (each.owed_since or 0.0) if each.in_hand else 0.0
            assert workers[each.number].busy_s(self.now) == busy_s
        return staying[count:]

    def tick(self, seconds: float) -> None:
        """Let time pass; the scheduler is called when it asked to be."""
        end = self.now + seconds
        while (deadline := self.service.next_deadline()) is not None and deadline <= end:
            self.now = max(self.now, deadline)
            self.happen(e.ClockTicked())
            following = self.service.next_deadline()
            assert following is None or following > self.now, "the daemon's loop would spin"
            late = [each for each in self.processes.values() if not each.condemned and self._is_late(each)]
            assert not late, f"not killed at their deadlines: {late}"
        self.now = end

    # ---- what the scheduler answers

    def happen(self, event: e.Event) -> list[Effect]:
        """Tell the service of an event, and hold its effects against the model."""
        return self._hold_against_model(event, lambda: self.service.happened(event, self.now), None)

    def hear(self, peer: Peer, message: m.FromClient | m.FromWorker, refused_to: bytes | None = None) -> list[Effect]:
        """Give the service a message, and hold its effects against the model."""
        known = isinstance(peer, int) or self.door.heard(peer, self.now)
        answers = self._hold_against_model(
            message, lambda: self.service.receive(peer, message, self.now), refused_to if known else None
        )
        assert known or Send(peer, m.Stranger()) in answers
        return answers

    def _hold_against_model(
        self, what: object, act: Callable[[], list[Effect]], refused_to: bytes | None
    ) -> list[Effect]:
        self.events += 1
        redone, late = self.service.counters.steps_redone, self._someone_is_late()
        answers = act()
        assert late or self.service.counters.steps_redone == redone, "done again, though nobody is late"
        refusals = [
            each.peer
            for each in answers
            if isinstance(each, Send) and isinstance(each.message, m.Refused) and not each.message.request
        ]
        assert refusals == ([refused_to] if refused_to else []), f"{what} was answered by {answers}"
        for effect in answers:
            self._carry_out(effect)
        self._expect_retired(answers)
        self.service.validate()
        self._no_one_idles_while_tasks_wait()
        return answers

    def _carry_out(self, effect: Effect) -> None:
        match effect:
            case a.StartWorker(worker):
                self._fresh("worker", worker)
                self.processes[worker] = Process(worker, self.now)
                assert not self.gave_up
                staying = [each for each in self._standing() if not each.leaving]
                assert len(staying) <= self.wanted_workers, "more workers than were asked for"
            case a.KillWorker(worker):
                self._condemn(self.processes[worker])
            case Send(int() as worker, message):
                self._tell_worker(worker, message)
            case Send(client, m.Ready() as ready):
                self._send_ready(client, ready)
            case Send(client, m.Failed() as failed):
                self._send_failed(client, failed)
            case Send(client, m.Opened() as opened):
                asked = self.door.answered(client, opened)
                if asked is not None:
                    self._open(asked, opened)
            case Send(client, m.Refused() as refused) if refused.request:
                self.door.refused(client, refused)
            case a.UnwatchClient(client):
                self.door.gone(client, self.now)
                for channel in [each for each in self.channels.values() if each.opened.client == client]:
                    self._retire(channel)
            case a.MakeSegments(stream, _, 1) if stream in self.channels:
                assert effect.wanted >= 1
                self.slots_to_make.append(effect)
            case a.MakeSegments():
                self.door.make(effect)
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
        if process.number in self._unstarted_surplus:  # it cannot hear that it is to go
            assert process.may_stop, process
            process.dismissed, process.owed_since = True, self.now
            return
        worker = self.scheduler.staff.get(process.number)
        early = worker is not None and worker.late_s(self.now) > 0
        assert early or self._is_late(process), "killed before its time"
        if not (process.dismissed or process.draining):
            self.failed_starts = 0 if process.started else self.failed_starts + 1
        process.condemned = True

    def _tell_worker(self, worker: int, message: object) -> None:
        process = self.processes[worker]
        match message:
            case m.Task():
                self._send_task(process, message)
            case m.Drain():
                assert process.may_stop, process
                process.dismissed, process.owed_since = True, self.now
            case m.ProbeStream(probe, spec):
                assert process.connected
                assert process in self._standing(), process
                asked = next(each for each in self.door.asked.values() if each.request == spec.seed)
                assert asked.stream == 0, "it was tried"
                others = [each for each in self.processes.values() if probe in each.probes]
                assert not others, f"{others} are at it"
                process.probes.append(probe)
                process.take(-probe, self.now)
            case m.PrepareStream(stream):
                assert process.connected, f"stream {stream}"
            case m.DropStream(stream):
                assert process.started
                assert stream not in self.channels

    def _send_task(self, process: Process, task: m.Task) -> None:
        self._fresh("task", task.task)
        channel, promise = self._promise_of(task)
        assert process.started, process
        assert process in self._standing(), process
        assert channel, f"no stream for {task}"
        assert promise, f"nobody wanted {task}"
        assert promise.unanswered, f"nobody wants {task} any more: {promise}"
        assert task.slot in channel.slots
        if task.slot not in promise.made:
            self._no_one_has_slot(task.slot)
            assert len(promise.made) < 2, f"a third slot is filled for {promise}"
            promise.made[task.slot] = Made(task.slot)
        made = promise.made[task.slot]
        assert laid_out(task) == laid_out_in(promise.rows, channel.opened.lengths, task.rows.numbers)
        for row, sample in zip(task.rows.numbers, task.rows.samples, strict=True):
            told = meaning(sample)
            assert (told.step, told.row, told.attempt) == (promise.step, row, made.attempts.get(row, 0))
            assert not made.done.get(row), f"row {row} of {promise} is done already"
            assert row not in made.beyond_help
            assert row not in made.held, f"nobody has looked at the file of row {row} again"
        for other in self._writing_to(task.slot):
            assert not set(other.rows.numbers) & set(task.rows.numbers), (
                f"two living processes write the same row: {task}, {other}"
            )
        self.passing.note(process.number, task)
        process.tasks.append(task)
        process.take(task.task, self.now)

    def _send_ready(self, client: Peer, ready: m.Ready) -> None:
        channel = self.channels[ready.stream]
        assert client == channel.opened.client
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

    def _send_failed(self, client: Peer, failed: m.Failed) -> None:
        channel = self.channels[failed.stream]
        promise = channel.promises.pop(failed.want)
        assert client == channel.opened.client
        assert promise.unanswered, promise
        over = [each for each in promise.made.values() if each.beyond_help and not self._writing_to(each.slot)]
        assert over, f"failed, but no slot is over: {promise}"
        assert any(self._is_error_of(promise, made, failed, channel) for made in over), failed
        self.answered += 1

    def _is_error_of(self, promise: Promise, made: Made, failed: m.Failed, channel: Channel) -> bool:
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
        limit = self.limits.start_timeout_s
        if process.in_hand:
            limit = self.limits.probe_timeout_s if process.in_hand[0] < 0 else self.limits.task_timeout_s
        return process.owed_since is not None and process.owed_since + limit <= self.now

    def _standing(self) -> list[Process]:
        """Return the workers that are counted on, the oldest first."""
        away = {each.number for each in self.processes.values() if each.condemned or each.dismissed or each.draining}
        return [each for each in self.processes.values() if each.number not in away]

    def _readiness(self, promise: Promise, made: Made, lease: int) -> m.Ready:
        channel = self.channels[promise.stream]
        return m.Ready(
            stream=promise.stream,
            want=promise.want,
            slot=made.slot,
            lease=lease,
            rows=len(promise.rows),
            frames=frames_of(promise.rows, channel.opened.lengths),
            substituted=len(made.attempts),
        )

    def _channel_of(self, client: bytes, stream: int) -> Channel | None:
        channel = self.channels.get(stream)
        return channel if channel and channel.opened.client == client else None

    def _promise_of(self, task: m.Task) -> tuple[Channel | None, Promise | None]:
        channel = self.channels.get(task.stream)
        promises = channel.promises.values() if channel else ()
        return channel, next((each for each in promises if each.epoch == task.epoch), None)

    def _writing_to(self, slot: int | None) -> list[m.Task]:
        return [task for process in self.processes.values() for task in process.tasks if task.slot == slot]

    def _no_one_has_slot(self, slot: int) -> None:
        assert not self._writing_to(slot), f"slot {slot} can still be written by a process that was not reaped"
        promises = [each for channel in self.channels.values() for each in channel.promises.values()]
        alive = [each for each in promises if not each.forgotten]
        holders = [each for each in alive if (each.ready.slot == slot if each.ready else slot in each.made)]
        assert not holders, f"slot {slot} belongs to {holders}"

    def _someone_is_late(self) -> bool:
        """Return whether a worker has been at a task for so long that it may be done again elsewhere."""
        since = [each.owed_since for each in self.processes.values() if each.in_hand and each.owed_since is not None]
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

    def _expect_retired(self, answers: list[Effect]) -> None:
        """Hold against the model which slots are removed, and what workers are told of streams that have ended."""
        gone, self._gone = self._gone, []
        dropped, self._dropped = self._dropped, []
        removed = [each.slots for each in answers if isinstance(each, a.RemoveSegments)]
        removed = [each for each in removed if not self._is_given_up(each, answers)]
        assert sorted(map(sorted, removed)) == sorted(map(sorted, gone))
        told = [
            (each.peer, each.message.stream)
            for each in answers
            if isinstance(each, Send) and isinstance(each.message, m.DropStream)
        ]
        there = [each.number for each in self.processes.values() if each.connected]
        assert sorted(told) == sorted((number, stream) for stream in dropped for number in there)

    def _is_given_up(self, slots: tuple[int, ...], answers: list[Effect]) -> bool:
        """Return whether slots are taken from a stream that lives: then they are nobody's, and all are told."""
        channel = next((each for each in self.channels.values() if set(slots) <= set(each.slots)), None)
        if channel is None:
            return False
        number = channel.opened.stream
        for slot in slots:
            self._no_one_has_slot(slot)
            channel.removed.append(slot)
        told = [each.message for each in answers if isinstance(each, Send) and each.peer == channel.opened.client]
        assert any(isinstance(each, m.Resized) and each.removed == slots for each in told)
        dropped = [
            each.peer for each in answers if isinstance(each, Send) and each.message == m.DropSlots(number, slots)
        ]
        assert dropped == [each.number for each in self.processes.values() if each.connected]
        lent = sum(each.ready is not None for each in channel.promises.values())
        assert len(channel.slots) >= max(2, lent + 1), "a slot must be left to fill"
        return True

    def _fresh(self, kind: str, number: int) -> None:
        assert (kind, number) not in self._seen, f"{kind} {number} was there before"
        self._seen.add((kind, number))

    def _no_one_idles_while_tasks_wait(self) -> None:
        waiting: list[PendingTask] = list(self.scheduler._queues)
        free = [each for each in self.scheduler.staff if each.has_room and not (each.tasks or each.straggles)]
        assert not waiting or not free, f"{free} do nothing while {waiting} wait"


def _drained(answers: list[Effect]) -> set[Peer]:
    """Return the workers that are told to go."""
    return {each.peer for each in answers if isinstance(each, Send) and isinstance(each.message, m.Drain)}
