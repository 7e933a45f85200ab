"""Tells the service of events and messages, and holds each effect against what a living process could do with it."""

from __future__ import annotations

from collections.abc import Callable

from loader_service.core import effects as a
from loader_service.core import events as e
from loader_service.core.effects import Effect, Peer, Send
from loader_service.protocol import messages as m
from tests.core.mirror import Mirror
from tests.core.model import Channel, Made, Process, Promise
from tests.core.places import laid_out, laid_out_in
from tests.core.sources import meaning

_CHANGED = "file 'x.h5' has other frames"


class Judge(Mirror):
    """The service, and a verdict on each of its effects."""

    def happen(self, event: e.Event) -> list[Effect]:
        """Tell the service of an event, and hold its effects against the model."""
        return self._hold_against_model(event, lambda: self.service.happened(event, self.now), None)

    def hear(self, peer: Peer, message: m.FromClient | m.FromWorker, refused_to: bytes | None = None) -> list[Effect]:
        """Give the service a message, and hold its effects against the model."""
        known = isinstance(peer, int) or self.door.heard(peer, self.now)
        last = self._meaningless(peer, message) if known and not refused_to and self.events % 2 else None

        def act() -> list[Effect]:
            first = self.service.receive(peer, message, self.now, more=last is not None)
            return first if last is None else [*first, *self.service.receive(peer, last, self.now)]

        answers = self._hold_against_model(message, act, refused_to if known else None)
        assert known or Send(peer, m.Stranger()) in answers
        return answers

    def _meaningless(self, peer: Peer, message: m.FromClient | m.FromWorker) -> m.FromClient | m.FromWorker | None:
        """Return what may follow a message of a step in its payload, and changes nothing; None after others."""
        match message:
            case m.TaskDone(worker):
                return m.TaskDone(worker, 2**60, ())
            case m.Want(stream) | m.Release(stream) | m.Forget(stream) if isinstance(peer, bytes):
                return m.Forget(stream, 2**60)
        return None

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
