"""A service to tell stories to, and short words for what happens to it and what it answers."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from loader_service.core import events as e
from loader_service.core.effects import (
    Announce,
    Effect,
    KillWorker,
    MakeSegments,
    Note,
    NoteKind,
    Peer,
    RemoveSegments,
    Send,
    UnwatchClient,
)
from loader_service.core.ledger import Limits
from loader_service.core.planned import PlannedStream
from loader_service.core.service import Service
from loader_service.core.worker import WorkerState
from loader_service.protocol import messages as m
from loader_service.protocol.rows import Rows
from tests.core.planner import ABOUT, ScriptedPlanner, spec_of
from tests.core.sources import ListedSource

MIB = 2**20
LIMITS = Limits(
    task_timeout_s=60.0,
    start_timeout_s=30.0,
    strikes=3,
    failed_starts=3,
    wants_per_slot=4,
    least_wants=4,
    client_timeout_s=1e9,
)
TRAIN, EVAL = b"train", b"eval"


class Desk:
    """A service that is checked after each event, and words for what happens to it.

    Its files 0 and 1 have 100 bytes each; of two workers the first owns file 1, the second file 0.
    """

    def __init__(
        self, workers: int, files: int = 2, limits: Limits = LIMITS, *, tries_transforms: bool = False
    ) -> None:
        self.planner = ScriptedPlanner(tries_transforms=tries_transforms)
        self.service = Service(ABOUT, self.planner, [100] * files, limits, workers, 0.0)
        self.scheduler = self.service.scheduler
        self.now = 0.0
        self.happen(e.ClockTicked())
        for client in (TRAIN, EVAL):
            self.hear(client, m.Hello(client.decode(), 1))
        for worker in range(1, workers + 1):
            self.ready(worker)

    def happen(self, event: e.Event) -> list[Effect]:
        """Tell the service of an event."""
        answers = self.service.happened(event, self.now)
        self.service.validate()
        return answers

    def hear(self, peer: Peer, message: m.FromClient | m.FromWorker) -> list[Effect]:
        """Give the service a message."""
        answers = self.service.receive(peer, message, self.now)
        self.service.validate()
        return answers

    def plan(self, stream: int, slots: int, files: tuple[int, ...] = (0, 1), **options: Any) -> None:
        """Have a stream planned of large rows, so each step is cut by owner."""
        source = options.pop("source", None) or ListedSource(files, options.pop("frames", ()))
        usual = {"row_bytes": 3 * MIB, "slot_bytes": 7, "steps_per_epoch": 100, "batch_size": 64, "samples": 10**6}
        self.planner.streams[stream] = PlannedStream(source=source, fields=(), wanted_slots=slots, **usual | options)

    def ask(self, stream: int, client: bytes = TRAIN) -> list[Effect]:
        """Ask for the stream that is planned under a number, which the request has too."""
        return self.hear(client, m.OpenStream(stream, spec_of(stream)))

    def open(self, stream: int = 1, client: bytes = TRAIN, slots: int = 1, **options: Any) -> None:
        """Open a stream whose slots are ten times its number, and on."""
        self.plan(stream, slots, **options)
        assert self.ask(stream, client) == [MakeSegments(stream, slots, 2, 7)]
        opened, note = self.happen(e.SegmentsMade(stream, tuple(range(10 * stream, 10 * stream + slots))))[-2:]
        assert isinstance(opened, Send)
        assert isinstance(opened.message, m.Opened)
        assert (opened.peer, opened.message.stream, opened.message.slots) == (client, stream, slots)
        assert isinstance(note, Note)

    def streams(self) -> list[m.StreamStatus]:
        """Return how the streams stand."""
        return [each.status("", 0, self.now) for each in self.scheduler.streams]

    def want(self, want: int, stream: int = 1, client: bytes = TRAIN) -> list[Effect]:
        """Ask for a step: the one with the number of the want, in epoch 0."""
        return self.hear(client, m.Want(stream, want, 0, want))

    def forget(self, want: int) -> list[Effect]:
        """Take a want back."""
        return self.hear(TRAIN, m.Forget(1, want))

    def release(self, lease: int, stream: int = 1, client: bytes = TRAIN) -> list[Effect]:
        """Return a lease."""
        return self.hear(client, m.Release(stream, lease))

    def close(self, stream: int = 1, client: bytes = TRAIN) -> list[Effect]:
        """Give a stream up."""
        return self.hear(client, m.CloseStream(stream))

    def ready(self, worker: int) -> list[Effect]:
        """Let a worker say that it waits for tasks; return what it is told beside all streams."""
        answers = self.hear(worker, m.WorkerReady(worker))
        streams = [Send(worker, each.prepare) for each in self.scheduler.streams]
        assert answers[: len(streams)] == streams
        return [each for each in answers[len(streams) :] if each != Announce("ready")]

    def end(self, worker: int, task: int, *bad: int, error: str = "DecodeError") -> list[Effect]:
        """Report a task, with its bad rows."""
        return self.hear(worker, m.TaskDone(worker, task, tuple(m.BadRow(row, error, f"row {row}") for row in bad)))

    def exit(self, worker: int) -> list[Effect]:
        """Reap a worker; return what follows beside the note of it, unless it was told to go."""
        known = self.scheduler.staff.get(worker)
        answers = self.happen(e.WorkerExited(worker, "was killed by SIGKILL"))
        if known is None or known.state is WorkerState.STOPPING:
            return answers
        assert answers[0] == Note(f"worker {worker} was killed by SIGKILL")
        return answers[1:]

    def lose(self, client: bytes = TRAIN) -> list[Effect]:
        """End a client; return what follows beside the note of it."""
        note, unwatch, *answers = self.happen(e.ClientEnded(client))
        assert isinstance(note, Note)
        assert unwatch == UnwatchClient(client)
        return answers

    def tick(self, now: float) -> list[Effect]:
        """Let the clock strike."""
        self.now = now
        return self.happen(e.ClockTicked())


def send(worker: int, task: int, rows: tuple[int, ...], samples: tuple[int, ...] = (), slot: int = 10) -> Send:
    """Return the order of some rows, whose samples have their numbers unless said otherwise."""
    return Send(worker, m.Task(task, slot // 10, 0, slot, Rows(rows, samples or rows)))


def ready(want: int, lease: int, slot: int = 10, rows: int = 2, frames: int = 0, substituted: int = 0) -> Send:
    """Return the announcement of a step."""
    return Send(TRAIN, m.Ready(slot // 10, want, slot, lease, rows, frames, substituted))


def failed(want: int, error: str, words: str) -> Send:
    """Return the news that a step of stream 1 failed."""
    return Send(TRAIN, m.Failed(1, want, error, words))


def refused(words: str, client: bytes = TRAIN) -> Send:
    """Return a refusal."""
    return Send(client, m.Refused(0, "ProtocolError", words))


def noted(words: str, *, told: bool = False) -> list[Effect]:
    """Return what is noted of a bad sample of stream 1, and what its client is told when it has that replaced."""
    note = Note(f"bad sample in stream 1: {words}", NoteKind.BAD_SAMPLE, about=words)
    return [note, Send(TRAIN, m.BadSample(1, words))] if told else [note]


def retired(stream: int, *slots: int, workers: tuple[int, ...] = (1, 2)) -> list[Effect]:
    """Return how a stream ends."""
    return [RemoveSegments(slots), *(Send(worker, m.DropStream(stream)) for worker in workers)]


def orders(answers: list[Effect]) -> list[tuple[int, m.Task]]:
    """Return the tasks among some effects, each with its worker."""
    return [
        (each.peer, each.message)
        for each in answers
        if isinstance(each, Send) and isinstance(each.peer, int) and isinstance(each.message, m.Task)
    ]


def announced(answers: list[Effect]) -> list[m.Ready]:
    """Return the announcements of steps among some effects."""
    return [each.message for each in answers if isinstance(each, Send) and isinstance(each.message, m.Ready)]


def at(order: Send, positions: tuple[int, ...]) -> Send:
    """Return an order whose rows have positions."""
    assert isinstance(order.message, m.Task)
    return Send(order.peer, replace(order.message, rows=replace(order.message.rows, positions=positions)))


def killed(worker: int, why: str) -> list[Effect]:
    """Return how a worker is killed."""
    return [Note(f"worker {worker} {why}; it is killed, and another takes its tasks"), KillWorker(worker)]


def told(answers: list[Effect], kind: type) -> list[object]:
    """Return the messages of a kind among some effects."""
    return [each.message for each in answers if isinstance(each, Send) and isinstance(each.message, kind)]
