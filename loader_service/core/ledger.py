"""What the rooms of the core write to in common: effects to carry out, counts of what happened. Pure."""

from __future__ import annotations

from dataclasses import dataclass, field

from loader_service.core.effects import CheckFile, Effect, Peer, Send
from loader_service.core.sums import Sums
from loader_service.errors import LoaderError, ProtocolError
from loader_service.protocol import messages as m
from loader_service.record_class import record


@record(frozen=True)
class Limits:
    """Deadlines and bounds, in seconds and counts."""

    task_timeout_s: float = 60.0  # a worker that takes longer for one task is hung
    start_timeout_s: float = 60.0  # a worker that takes longer to start, or to stop when asked to, is hung
    strikes: int = 3  # workers that one row may kill before it is a bad sample
    failed_starts: int = 3  # workers in a row that may fail to start, while none works, before the service gives up
    wants_per_slot: int = 4  # wants a stream may have open; a client has one per slot, and one for each thread of its
    client_timeout_s: float = 60.0  # a client that is silent for longer is lost
    probe_timeout_s: float = 25.0  # to find out what a transform returns; less than clients wait for a stream to open
    drain_s: float = 10.0  # a stopping service waits so long for its workers to finish what they are at
    idle_s: float = 30.0  # a stream that wants nothing for so long gives its memory back
    least_wants: int = 64  # … or so many, where slots are few: each thread of a client waits for one
    most_workers: int = 1024  # that the host bears
    cores: int = 1  # that the service may use
    most_remote: int = 0  # remote workers; none where the service has no cluster


@dataclass
class Counters:
    """How often each thing happened since the start."""

    workers_lost: int = 0
    workers_recycled: int = 0
    rows_reassigned: int = 0
    tasks_stolen: int = 0
    steps_redone: int = 0  # in another slot, since a worker was late with rows of them
    samples_bad: int = 0
    samples_substituted: int = 0
    messages_refused: int = 0
    messages_malformed: int = 0  # what came over a socket and was no message
    requests_refused: int = 0  # what clients asked for and could not have
    copy_hits: int = 0  # blocks of objects that the local copy had
    copy_misses: int = 0  # … that were fetched, since it had them not
    copy_hit_bytes: int = 0  # of the hits
    receiver_cpu_ms: int = 0  # that taking in the rows of remote workers took on this host
    received_bytes: int = 0  # of their rows


@dataclass
class Ledger:
    """The effects of what is being acted on, the counters and the sums."""

    effects: list[Effect] = field(default_factory=list)
    connected: set[int] = field(default_factory=set)  # workers that can be told something
    files_asked: set[int] = field(default_factory=set)  # to be looked at
    counters: Counters = field(default_factory=Counters)
    sums: Sums = field(default_factory=Sums)

    def add(self, effect: Effect) -> None:
        """Ask the shell for something."""
        self.effects.append(effect)

    def send(self, peer: Peer, message: m.ToClient | m.ToWorker) -> None:
        """Say something to a client or a worker."""
        self.effects.append(Send(peer, message))

    def tell_workers(self, message: m.ToWorker) -> None:
        """Say something to all workers that are there."""
        for worker in sorted(self.connected):
            self.send(worker, message)

    def refuse(self, client: bytes, message: str) -> None:
        """Tell a client that its message makes no sense now."""
        self.counters.messages_refused += 1
        self.send(client, m.Refused(0, ProtocolError.__name__, message))

    def refuse_request(self, client: bytes, request: int, error: LoaderError) -> None:
        """Tell a client that it cannot have what it asked for."""
        self.counters.requests_refused += 1
        self.send(client, m.Refused(request, type(error).__name__, str(error)))

    def copy_read(self, message: m.CopyRead) -> None:
        """Count what a worker had of the local copy of objects, and what it fetched."""
        self.counters.copy_hits += message.hits
        self.counters.copy_misses += message.misses
        self.counters.copy_hit_bytes += message.hit_bytes

    def check_file(self, file: int) -> None:
        """Have a file looked at, unless that is under way."""
        if file not in self.files_asked:
            self.files_asked.add(file)
            self.add(CheckFile(file))

    def take(self) -> list[Effect]:
        """Return the effects and begin anew."""
        taken, self.effects = self.effects, []
        return taken


def require(condition: bool, story: str, *about: object) -> None:
    """Raise AssertionError with `story` and `about` unless `condition` holds; also under ``python -O``."""
    if not condition:
        raise AssertionError(f"{story}: {about}" if about else story)
