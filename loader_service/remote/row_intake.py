"""Who may write what: connections, the workers that they are, and the tasks whose rows are on their way. Pure.

    (unknown) ──hello──▶ ARRIVED ──admitted──▶ WORKER ──fenced──▶ (unknown)
                            └───────dismissed, silent, gone──────────▲

A worker is fenced when it is silent, gone, wrong or not wanted. It is taken out first, and said to have ended after
that; so from then on nothing that its connection brings finds a task, and nothing of it is written. The bytes of a task
come in order, and only while the task is open: rows that are doubled, late or not asked for end the connection.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from loader_service.errors import ServiceUnavailable
from loader_service.protocol import messages as m
from loader_service.protocol import remote_messages as r
from loader_service.protocol.fields import SlotLayout
from loader_service.protocol.numbers import NumberColumn
from loader_service.remote.remote_options import differences
from loader_service.remote.remote_reports import LONGEST_CAUSE, wrong_in_done, wrong_in_hello, wrong_in_times
from loader_service.remote.slot_pieces import Piece, cut, slot_pieces, total

#: A connection that has said nothing for so long is dead, in seconds: six beats. A training pauses for as long at most.
SILENCE_S = 1.5

#: Longer between two turns of the receiver, in seconds, and it stood still itself: what peers said lies unread.
_STOOD_STILL_S = 0.5

#: Connections that have arrived and are no workers yet; the daemon answers within milliseconds.
MOST_ARRIVALS = 1024


class Tell(NamedTuple):
    """Say something to a connection."""

    connection: bytes
    message: r.ToRemote


class Report(NamedTuple):
    """Say something to the daemon as the receiver."""

    message: r.FromReceiver


class Speak(NamedTuple):
    """Say something to the daemon as a worker."""

    worker: int
    message: m.FromWorker


class Attach(NamedTuple):
    """Be this worker to the daemon from now on."""

    worker: int


class Detach(NamedTuple):
    """Be this worker no more."""

    worker: int


class Unmap(NamedTuple):
    """Let go of slots."""

    slots: tuple[int, ...]


Act = Tell | Report | Speak | Attach | Detach | Unmap


@dataclass(slots=True)
class _Incoming:
    """A task whose rows are on their way."""

    stream: int
    slot: int
    pieces: list[Piece] | None  # of the slot; None: its stream is gone, and all rows are dropped
    size_bytes: int
    numbers: NumberColumn
    received: int = 0
    why_bad: str = ""  # why none of its rows could be written


@dataclass(slots=True)
class _Peer:
    """One connection that said hello."""

    connection: bytes
    hello: r.RemoteHello
    arrival: int
    last_heard: float
    worker: int = 0  # 0: none yet
    tasks: dict[int, _Incoming] = field(default_factory=dict)

    def __str__(self) -> str:
        return f"on node {self.hello.node} (pid {self.hello.pid})"


class RowIntake:
    """All connections of one receiver, and the slots that they may write into.

    Parameters
    ----------
    expected
        What a hello must say: `version`, `decoder` and `catalog`.
    files
        How many the catalog has.
    first_arrival
        Number of the first arrival; those of another receiver are others.
    now
        When it begins, in seconds, monotonic.
    """

    def __init__(self, expected: Mapping[str, str], files: int, first_arrival: int, now: float) -> None:
        self._expected = expected
        self._files = files
        self._next_arrival = first_arrival
        self._peers: dict[bytes, _Peer] = {}
        self._workers: dict[int, _Peer] = {}
        self._layouts: dict[int, SlotLayout] = {}
        self._slots: dict[int, set[int]] = {}  # of each stream, those that were written into
        self._last_turn = now

    @property
    def connections(self) -> tuple[bytes, ...]:
        """All connections that said hello."""
        return tuple(self._peers)

    @property
    def workers(self) -> tuple[int, ...]:
        """All that are workers."""
        return tuple(self._workers)

    # ---- what connections say

    def heard(self, connection: bytes, message: r.FromRemote, proof: str, now: float) -> list[Act]:
        """Take in a message; `proof` is what a welcome on this connection has to show."""
        if isinstance(message, r.RemoteHello):
            return self._hello(connection, message, proof, now)
        peer = self._peers.get(connection)
        if peer is None:
            return [Tell(connection, r.RemoteLeave(comes_again=True))]
        peer.last_heard = now
        acts: list[Act] = []
        match message:
            case m.TaskDone() if peer.worker:
                acts = self._done(peer, message)
            case m.TimeSpent() if peer.worker:
                acts = self._told(peer, message)
            case r.RemoteLeaving(cause):
                acts = self._end(peer, cause[:LONGEST_CAUSE] or "has left", comes_again=False)
            case r.RemoteBeat():
                pass
            case _:
                acts = self._end(peer, f"said {type(message).__name__} before it was a worker", comes_again=False)
        return acts

    def rows(
        self, connection: bytes, task: int, begin: int, size: int, now: float
    ) -> tuple[int, list[Piece], list[Act]]:
        """Take in bytes of a task's rows.

        Returns
        -------
        tuple
            The slot; the pieces of it that the bytes go to, in order, none when they are dropped; what else to do.
        """
        peer = self._peers.get(connection)
        if peer is None:
            return 0, [], [Tell(connection, r.RemoteLeave(comes_again=True))]
        peer.last_heard = now
        incoming = peer.tasks.get(task)
        if incoming is None:
            return 0, [], self._end(peer, f"sent rows of task {task}, which it does not hold", comes_again=True)
        if begin != incoming.received or begin + size > incoming.size_bytes:
            cause = f"sent bytes {begin} to {begin + size} of task {task}, which has {incoming.received} so far"
            return 0, [], self._end(peer, cause, comes_again=True)
        incoming.received += size
        if incoming.pieces is None:
            return 0, [], []
        self._slots.setdefault(incoming.stream, set()).add(incoming.slot)
        return incoming.slot, list(cut(incoming.pieces, begin, size)), []

    def malformed(self, connection: bytes, why: str) -> list[Act]:
        """Take note that what a connection said is no message: it says no more."""
        peer = self._peers.get(connection)
        if peer is None:
            return [
                Tell(connection, r.RemoteRefused(why)),
                Report(r.RemoteRejected(f"a connection was refused: {why}")),
            ]
        return self._end(peer, f"sent what is no message: {why}", comes_again=False)

    def unreachable(self, connection: bytes) -> list[Act]:
        """Take note that a connection is closed."""
        peer = self._peers.get(connection)
        return [] if peer is None else self._end(peer, "is gone: its connection was closed", comes_again=True)

    def cannot_attach(self, worker: int, why: str) -> list[Act]:
        """Take note that the receiver cannot be a worker to the daemon."""
        return self._end(self._workers[worker], f"could not be taken in: {why}", comes_again=True)

    def tick(self, now: float) -> list[Act]:
        """Let go of who is silent; asked each turn, after all that lay unread was taken in."""
        gap, self._last_turn = now - self._last_turn, now
        if gap > _STOOD_STILL_S:
            for peer in self._peers.values():
                peer.last_heard += gap
        silent = [peer for peer in self._peers.values() if now - peer.last_heard >= SILENCE_S]
        return [
            act for peer in silent for act in self._end(peer, f"said nothing for {SILENCE_S:g} s", comes_again=True)
        ]

    # ---- what the daemon says

    def told(self, message: r.ToReceiver) -> list[Act]:
        """Take in what the daemon decided."""
        match message:
            case r.AdmitArrival(arrival, worker):
                return self._admit(arrival, worker)
            case r.DismissArrival(arrival):
                peer = self._arrived(arrival)
                return [] if peer is None else self._end(peer, "", comes_again=False)
            case r.FenceRemote(worker):
                known = self._workers.get(worker)
                if known is not None:
                    return self._end(known, "was let go", comes_again=False)
                return [Report(r.RemoteEnded(worker, "had ended"))]

    def given(self, worker: int, message: m.ToWorker) -> list[Act]:
        """Take in what the daemon told a worker, before it is passed on."""
        acts: list[Act] = []
        peer = self._workers.get(worker)
        match message:
            case m.PrepareStream(stream, spec, fields, frames):
                self._layouts[stream] = SlotLayout(fields, spec.batch_size, frames)
            case m.Task() if peer is not None:
                peer.tasks[message.task] = self._incoming(message)
            case m.DropStream(stream):
                acts += self._drop(stream)
            case m.DropSlots(stream, slots):
                self._slots.get(stream, set()).difference_update(slots)
                acts.append(Unmap(slots))
        return [*acts, Tell(peer.connection, message)] if peer is not None else acts

    def worker_of(self, connection: bytes) -> int:
        """Return the worker that a connection is; 0 when it is none."""
        peer = self._peers.get(connection)
        return peer.worker if peer else 0

    def size_of(self, stream: int) -> int:
        """Return the bytes of a slot of a stream; 0 when it is gone."""
        layout = self._layouts.get(stream)
        return layout.size_bytes if layout else 0

    def stream_of(self, connection: bytes, task: int) -> int:
        """Return the stream of an open task; 0 when there is none."""
        peer = self._peers.get(connection)
        incoming = peer.tasks.get(task) if peer else None
        return incoming.stream if incoming else 0

    def cannot_map(self, connection: bytes, task: int, why: str) -> None:
        """Take note that the slot of an open task cannot be written: all its rows are bad."""
        peer = self._peers.get(connection)
        incoming = peer.tasks.get(task) if peer else None
        if incoming is not None:
            incoming.pieces, incoming.why_bad = None, why

    # ---- inside

    def _hello(self, connection: bytes, hello: r.RemoteHello, proof: str, now: float) -> list[Act]:
        if connection in self._peers:
            return self._end(self._peers[connection], "said hello twice", comes_again=False)
        if why := wrong_in_hello(hello):
            return self.malformed(connection, why)
        theirs = {"version": hello.version, "decoder": hello.decoder, "catalog": hello.catalog}
        wrong = differences(self._expected, theirs)
        if wrong or len(self._peers) >= MOST_ARRIVALS:
            why = f"it has {'; '.join(wrong)}: install the same versions" if wrong else "too many workers have come"
            line = f"a remote worker on node {hello.node} (pid {hello.pid}) is refused: {why}"
            return [Tell(connection, r.RemoteRefused(line)), Report(r.RemoteRejected(line))]
        arrival, self._next_arrival = self._next_arrival, self._next_arrival + 1
        self._peers[connection] = _Peer(connection, hello, arrival, now)
        welcome = Tell(connection, r.RemoteWelcome(proof))
        return [welcome, Report(r.RemoteArrived(arrival, hello.node, hello.pid))]

    def _arrived(self, arrival: int) -> _Peer | None:
        return next((each for each in self._peers.values() if each.arrival == arrival and not each.worker), None)

    def _admit(self, arrival: int, worker: int) -> list[Act]:
        peer = self._arrived(arrival)
        if peer is None:
            return [Report(r.RemoteEnded(worker, "was gone before it had a task"))]
        peer.worker = worker
        self._workers[worker] = peer
        return [Attach(worker), Speak(worker, m.WorkerReady(worker))]

    def _incoming(self, task: m.Task) -> _Incoming:
        layout = self._layouts.get(task.stream)
        if layout is None:  # it was closed while this was on its way, and another worker has said so
            return _Incoming(task.stream, task.slot, None, 2**63, task.rows.numbers)
        pieces = slot_pieces(layout, task.rows)
        return _Incoming(task.stream, task.slot, pieces, total(pieces), task.rows.numbers)

    def _done(self, peer: _Peer, done: m.TaskDone) -> list[Act]:
        incoming = peer.tasks.pop(done.task, None)
        if incoming is None:
            return self._end(peer, f"reported task {done.task}, which it does not hold", comes_again=True)
        if incoming.pieces is not None and incoming.received != incoming.size_bytes:
            cause = f"reported task {done.task} after {incoming.received} of {incoming.size_bytes} bytes"
            return self._end(peer, cause, comes_again=True)
        if wrong := wrong_in_done(done, incoming.numbers):
            return self._end(peer, wrong, comes_again=False)
        bad = tuple(m.BadRow(row, ServiceUnavailable.__name__, incoming.why_bad) for row in incoming.numbers)
        return [Speak(peer.worker, replace(done, worker=peer.worker, bad=bad if incoming.why_bad else done.bad))]

    def _told(self, peer: _Peer, spent: m.TimeSpent) -> list[Act]:
        wrong = wrong_in_times(spent, self._files)
        if wrong:
            return self._end(peer, wrong, comes_again=False)
        return [Speak(peer.worker, replace(spent, worker=peer.worker))]

    def _drop(self, stream: int) -> list[Act]:
        """Let go of a stream: rows of it that are on their way still are counted, and dropped."""
        self._layouts.pop(stream, None)
        for peer in self._workers.values():
            for incoming in peer.tasks.values():
                if incoming.stream == stream:
                    incoming.pieces = None
        return [Unmap(tuple(sorted(self._slots.pop(stream, ()))))]

    def _end(self, peer: _Peer, cause: str, *, comes_again: bool) -> list[Act]:
        """Fence a connection, and say so after that."""
        del self._peers[peer.connection]
        acts: list[Act] = [Tell(peer.connection, r.RemoteLeave(comes_again))]
        if peer.worker:
            del self._workers[peer.worker]
            acts += [Detach(peer.worker), Report(r.RemoteEnded(peer.worker, f"{peer} {cause}"))]
        return acts
