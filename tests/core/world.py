"""All that surrounds the service, as a model: clients, workers, memory and time. Knows what must never be seen there.

The model never looks at how the service decides; it holds each action against what a living process could do with it.
A worker that is dead, hung or condemned holds its tasks until it is reaped, as real memory would have it.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

from loader_service.core import effects as a
from loader_service.core import events as e
from loader_service.core.effects import Effect, Peer, Send
from loader_service.core.planned import Lengths, PlannedStream
from loader_service.protocol import messages as m
from loader_service.protocol.messages import BadRow
from tests.core.door import FIRST_SIZE, Asked
from tests.core.judge import Judge
from tests.core.model import Process, Promise, Shape
from tests.core.planner import ABOUT, OUTPUTS, spec_of
from tests.core.sources import SpreadSource, sample_of

STEPS_PER_EPOCH = 1000

_CHANGED = "file 'x.h5' has other frames"


class World(Judge):
    """The service, and all that clients, workers, memory and time can do to it."""

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
            channel.promises[want] = Promise(stream, want, asked.epoch, step, tuple(rows))
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


def _drained(answers: list[Effect]) -> set[Peer]:
    """Return the workers that are told to go."""
    return {each.peer for each in answers if isinstance(each, Send) and isinstance(each.message, m.Drain)}
