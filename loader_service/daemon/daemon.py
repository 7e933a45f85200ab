"""The one loop: what sockets, processes and the clock bring becomes events; what the scheduler says becomes deeds."""

from __future__ import annotations

import logging
import os
import select
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass

import zmq

from loader_service import failpoints
from loader_service.catalog.columns import Catalog
from loader_service.config import ServiceConfig
from loader_service.core import actions, events
from loader_service.core.ledger import Limits
from loader_service.core.scheduler import Scheduler
from loader_service.daemon.clients import Client, Clients
from loader_service.daemon.memory import GROWTH_BYTES, MemoryGuard, own_bytes
from loader_service.daemon.notes import Notes
from loader_service.daemon.notify import Notifier
from loader_service.daemon.openings import Opening, StreamOpener
from loader_service.daemon.pool import Pool
from loader_service.daemon.probing import Answer, Probes
from loader_service.daemon.reports import Reporter, Traffic
from loader_service.daemon.segments import SegmentStore
from loader_service.daemon.signals import StopSignals
from loader_service.daemon.sockets import Received, Router
from loader_service.daemon.weights import Weights
from loader_service.errors import ConfigError, LoaderError, ProtocolError, WorkerDied
from loader_service.protocol import messages as m

_LOG = logging.getLogger(__name__)

#: How often a client should be heard, in seconds; a tenth of the shortest sensible client timeout.
HEARTBEAT_S = 1.0

#: How long a stopping service waits for its workers to finish the tasks they are at, in seconds.
DRAIN_S = 10.0

#: How long it may take to find out what a transform returns, in seconds; less than clients wait for a stream to open.
PROBE_S = 25.0

#: How often the daemon looks at its memory and that of its workers, in seconds.
_LOOK_EVERY_S = 0.5

#: Streams open at a time, of one client and of all. Each has a plan of its own here and in every worker.
MOST_STREAMS_OF_ONE, MOST_STREAMS = 64, 1024

#: Faults that `status` still shows.
_NOTES_KEPT = 50


@dataclass(frozen=True)
class Parts:
    """What a daemon is made of; whoever made them closes them."""

    endpoint: str
    config: ServiceConfig
    catalog: Catalog
    watched: select.epoll
    clients: Clients
    pool: Pool
    segments: SegmentStore
    client_socket: Router[m.FromClient]
    worker_socket: Router[m.FromWorker]
    signals: StopSignals
    notifier: Notifier


class Daemon:
    """The service's one thread.

    Parameters
    ----------
    parts
        Sockets, processes, memory.
    announce
        Called once, when all workers are there.
    """

    def __init__(self, parts: Parts, announce: Callable[[], None]) -> None:
        self._parts = parts
        self._announce: Callable[[], None] | None = announce
        self._opener = StreamOpener(parts.catalog, parts.segments, parts.config.memory)
        self._openings: dict[int, Opening] = {}
        self._probes = Probes(self._tell_worker, min(parts.config.task_timeout, PROBE_S))
        self._reporter = Reporter(
            parts.endpoint,
            parts.catalog,
            parts.segments,
            self._opener,
            heartbeat_s=HEARTBEAT_S,
            transform=parts.config.transform or "",
        )
        limits = Limits(task_timeout_s=parts.config.task_timeout)
        self._scheduler = Scheduler(parts.catalog.file_bytes.tolist(), limits)
        self._workers_wanted = parts.config.worker_count
        self._connected: set[int] = set()  # workers that can be sent messages
        self._dismissed: set[int] = set()  # workers that were told to leave: their end is no fault
        self._weights = Weights(parts.config.worker_memory)
        self._runs_users_code = parts.config.source is not None or parts.config.transform is not None
        self._messages_malformed = 0
        self._requests_refused = 0
        self._pending: deque[events.Event] = deque()  # the first one is being acted on
        self._notes = Notes(_NOTES_KEPT)
        self._started = time.monotonic()
        self._drain_deadline: float | None = None
        self._failure: LoaderError | None = None
        self._next_beat: float | None = self._started
        self._guard = MemoryGuard(GROWTH_BYTES)
        self._next_look = self._started
        self._poller = zmq.Poller()
        for each in (parts.client_socket.socket, parts.worker_socket.socket, parts.watched.fileno()):
            self._poller.register(each, zmq.POLLIN)

    def run(self) -> None:
        """Serve until told to stop.

        Raises
        ------
        WorkerDied
            When no worker can be started.
        """
        self._happens(events.WorkersWanted(self._workers_wanted))
        while not self._is_over():
            ready = dict(self._poller.poll(self._patience_ms()))
            if self._parts.worker_socket.socket in ready:
                for received in self._parts.worker_socket.receive():
                    self._hear_worker(received)
            if self._parts.client_socket.socket in ready:
                for heard in self._parts.client_socket.receive():
                    self._hear_client(heard)
            if self._parts.watched.fileno() in ready:
                self._look_after()
            self._tick()
            self._flush()
        if self._failure is not None:
            raise self._failure

    # ---- time and the end

    def _is_over(self) -> bool:
        if self._failure is not None:
            return True
        if self._drain_deadline is None:
            return False
        return not len(self._parts.pool) or time.monotonic() >= self._drain_deadline

    def _patience_ms(self) -> int:
        candidates = [
            self._next_beat,
            self._next_look,
            self._scheduler.next_deadline(),
            self._parts.clients.next_deadline(),
            self._probes.next_deadline(),
            self._drain_deadline,
        ]
        deadline = min(each for each in candidates if each is not None)
        return max(0, int((deadline - time.monotonic()) * 1000) + 1)

    def _tick(self) -> None:
        now = time.monotonic()
        deadline = self._scheduler.next_deadline()
        if deadline is not None and deadline <= now:
            self._happens(events.ClockTicked())
        silent = self._parts.clients.next_deadline()
        if silent is not None and silent <= now:
            self._bury_clients(set())
        for worker, answer in self._probes.late(now):
            if worker is not None:
                self._note(f"worker {worker} took too long to try the transform; it is killed")
                self._parts.pool.kill(worker)
            if answer is not None:
                self._conclude(answer)
        if self._next_beat is not None and self._next_beat <= now:
            self._beat(now)
        if self._next_look <= now:
            self._next_look = now + _LOOK_EVERY_S
            self._shed()
            self._recycle()

    def _shed(self) -> None:
        """Drop the clients' connections when this process has grown: ZeroMQ keeps unfinished messages without a bound.

        It bounds each frame of a message, but not their number, and shows nothing of a message before its last frame.
        """
        grown = self._guard.grown_bytes()
        if not grown:
            return
        self._note(f"this process has grown by {grown} bytes; all clients are disconnected, and honest ones come back")
        self._poller.unregister(self._parts.client_socket.socket)
        self._parts.client_socket.reopen()
        self._poller.register(self._parts.client_socket.socket, zmq.POLLIN)
        # What was on its way to and from them is lost. As strangers they ask again at once, and not when they miss it.
        for client in self._parts.clients:
            self._lose(client, "was disconnected with all others")
        self._guard.rest()

    def _recycle(self) -> None:
        """Have workers replaced that have grown too large: HDF5 does not give back all that it takes."""
        now = time.monotonic()
        for worker in sorted(self._connected):
            verdict = self._weights.judge(worker, own_bytes(self._parts.pool.pid(worker)), now)
            if verdict is not None:
                self._note(verdict.line)
                if verdict.is_replaced:
                    self._happens(events.WorkerOverweight(worker))

    def _beat(self, now: float) -> None:
        """Tell systemd that the loop turns, when it waits to be told."""
        self._parts.notifier.alive()
        beat_s = self._parts.notifier.beat_s
        self._next_beat = None if beat_s is None else now + beat_s

    def _begin_stop(self, reason: str) -> None:
        if self._drain_deadline is not None:
            return
        _LOG.info("stopping: %s", reason)
        self._parts.notifier.stopping()
        self._drain_deadline = time.monotonic() + DRAIN_S
        for client in self._parts.clients:
            self._tell(client, m.Stopping(reason))
        self._happens(events.WorkersWanted(0))

    def _flush(self) -> None:
        """Send what this turn of the loop had to say."""
        for peer in self._parts.worker_socket.flush():
            # It has ended or is about to: its pidfd tells, and its tasks are given to others.
            _LOG.info("%s could not be reached", peer.decode("ascii", "replace"))
        for peer in self._parts.client_socket.flush():
            client = self._parts.clients.by_peer(peer)
            if client is not None:
                self._lose(client, "cannot be reached")

    # ---- what processes do

    def _look_after(self) -> None:
        """Take note of signals, of the ends of processes, and of what workers wrote to their standard error."""
        ready = {descriptor for descriptor, _ in self._parts.watched.poll(0)}
        stop = self._parts.signals.take(ready)
        if stop:
            self._begin_stop(stop)
        self._parts.pool.listen()
        for worker, cause in self._parts.pool.reap():
            self._connected.discard(worker)
            self._weights.ends(worker)
            if worker not in self._dismissed:
                self._note(f"worker {worker} {cause}")
            self._dismissed.discard(worker)
            self._happens(events.WorkerExited(worker, cause))
            for answer in self._probes.lost(worker, cause):
                self._conclude(answer)
        self._probes.dispatch(self._connected - self._dismissed)
        self._bury_clients(ready)

    def _bury_clients(self, ended: set[int]) -> None:
        for client, why in self._parts.clients.lost(ended, time.monotonic()):
            self._lose(client, why)

    def _lose(self, client: Client, why: str) -> None:
        held = sum(s.slots_leased for s in self._scheduler.stream_figures() if s.client == client.key)
        line = f"client {client.name} (pid {client.pid}) {why}; {held} batches that it held are given up"
        if held:
            self._note(line)
        else:
            _LOG.info("%s", line)
        self._parts.clients.forget(client.key)
        self._probes.forget(client.key)
        self._happens(events.ClientLost(client.key))

    def _note(self, line: str) -> None:
        """Log a fault, and keep it for `status`."""
        _LOG.warning("%s", line)
        self._notes.add(line, time.monotonic() - self._started)

    # ---- what workers say

    def _hear_worker(self, received: Received[m.FromWorker]) -> None:
        match received.message:
            case m.WorkerReady(worker):
                self._connected.add(worker)
                for opening in self._openings.values():
                    self._tell_worker(worker, opening.prepare)
                self._happens(events.WorkerStarted(worker))
                self._probes.dispatch(self._connected - self._dismissed)
                # What a user's code holds from the start is its own affair.
                held = own_bytes(self._parts.pool.pid(worker)) if self._runs_users_code else 0
                self._weights.begins(worker, time.monotonic(), held)
                if self._announce is not None and self._scheduler.working >= self._workers_wanted:
                    self._announce()
                    self._announce = None
            case m.TaskDone(worker, task, bad):
                failpoints.passing("daemon.task_reported")
                self._probes.heard(worker, time.monotonic())
                self._happens(events.TaskEnded(worker, task, bad))
            case m.Probed():
                answer = self._probes.answered(received.message)
                self._probes.heard(received.message.worker, time.monotonic())
                if answer is not None:
                    self._conclude(answer)
            case Exception() as error:
                self._messages_malformed += 1
                self._note(f"a worker's message was refused: {error}")

    def _tell_worker(self, worker: int, message: m.ToWorker) -> None:
        self._parts.worker_socket.post(b"worker-%d" % worker, message)

    # ---- what clients say

    def _hear_client(self, received: Received[m.FromClient]) -> None:
        peer, message = received.peer, received.message
        if isinstance(message, Exception):
            self._refuse_malformed(peer, message)
            return
        now = time.monotonic()
        if isinstance(message, m.Hello):
            self._welcome(peer, message, now)
            return
        client = self._parts.clients.by_peer(peer)
        if client is None:
            self._tell_peer(peer, m.Stranger())
            return
        client.last_heard = now
        try:
            self._obey(client, message)
        except LoaderError as error:
            self._requests_refused += 1
            self._tell(client, m.Refused(getattr(message, "request", 0), type(error).__name__, str(error)))

    def _welcome(self, peer: bytes, hello: m.Hello, now: float) -> None:
        try:
            self._parts.clients.welcome(peer, hello.name, hello.pid, now)
        except ConfigError as error:
            self._requests_refused += 1
            self._tell_peer(peer, m.Refused(0, ConfigError.__name__, str(error)))
            return
        self._tell_peer(peer, self._reporter.welcome())

    def _obey(self, client: Client, message: m.FromClient) -> None:
        match message:
            case m.Want():
                failpoints.passing("daemon.step_wanted")
                self._want(client, message)
            case m.Release(stream, lease):
                self._happens(events.LeaseReleased(client.key, stream, lease))
            case m.Forget(stream, want):
                self._happens(events.WantForgotten(client.key, stream, want))
            case m.Heartbeat():
                self._tell(client, message)
            case m.Goodbye():
                self._lose(client, "has said goodbye")
            case m.OpenStream():
                self._open(client, message)
            case m.CloseStream(stream):
                self._happens(events.StreamClosed(client.key, stream))
            case m.GetStatus(request):
                traffic = Traffic(self._parts.clients, self._parts.pool, self._openings, self._notes.lines)
                refused = {
                    "messages_malformed": self._messages_malformed,
                    "requests_refused": self._requests_refused,
                }
                self._tell(client, self._reporter.status(request, self._scheduler, traffic, refused))
            case m.GetCatalog(request):
                self._tell(client, self._reporter.summary(request))
            case m.Scale(request, workers):
                self._scale(client, request, workers)
            case m.Stop(request):
                self._tell(client, m.Done(request, f"service {os.getpid()} is stopping"))
                self._begin_stop(f"asked by {client.name} (pid {client.pid})")

    def _want(self, client: Client, want: m.Want) -> None:
        opening = self._openings.get(want.stream)
        if opening is not None and opening.event.client == client.key:
            try:
                opening.check(want)
            except ConfigError as error:  # said to the want itself: its client waits for that
                self._requests_refused += 1
                self._tell(client, m.Failed(want.stream, want.want, type(error).__name__, str(error)))
                return
        asked = events.StepWanted(
            client.key, want.stream, want.want, want.epoch, want.step, want.samples, want.positions
        )
        self._happens(asked)

    def _refuse_malformed(self, peer: bytes, error: Exception) -> None:
        self._messages_malformed += 1
        _LOG.info("a message was refused: %s", error)
        kind = "ConfigError" if isinstance(error, ConfigError) else ProtocolError.__name__
        self._tell_peer(peer, m.Refused(0, kind, str(error)))

    def _open(self, client: Client, asked: m.OpenStream) -> None:
        self._check_room(client)
        said_before = self._find_opening(client, asked.request)
        if said_before is not None:
            self._tell(client, said_before.opened)
        elif self._parts.config.transform is None:
            self._begin(client, self._opener.open(client.key, asked.request, asked.spec))
        else:
            self._probes.begin(client.key, asked, self._opener.inputs(asked.spec), time.monotonic())
            self._probes.dispatch(self._connected - self._dismissed)

    def _conclude(self, answer: Answer) -> None:
        """Open the stream whose transform was tried, or say why not."""
        client = self._parts.clients.by_key(answer.client)
        if client is None:
            return
        try:
            if answer.error is not None:
                raise answer.error
            self._check_room(client)  # there was time for other streams, or for the end to begin
            self._begin(client, self._opener.open(client.key, answer.asked.request, answer.asked.spec, answer.fields))
        except LoaderError as error:
            self._requests_refused += 1
            self._tell(client, m.Refused(answer.asked.request, type(error).__name__, str(error)))

    def _begin(self, client: Client, opening: Opening) -> None:
        number = opening.opened.stream
        self._openings[number] = opening
        for worker in self._connected:
            self._tell_worker(worker, opening.prepare)
        self._happens(opening.event)
        self._tell(client, opening.opened)
        _LOG.info("client %s opened stream %d: %s", client.name, number, opening.prepare.spec)

    def _find_opening(self, client: Client, request: int) -> Opening | None:
        """Return the stream that a request has opened: one whose answer was lost is asked for again."""
        mine = (each for each in self._openings.values() if each.event.client == client.key)
        return next((each for each in mine if each.opened.request == request), None)

    def _check_room(self, client: Client) -> None:
        if self._drain_deadline is not None:
            raise ConfigError("the service is stopping and opens no streams")
        owners = [opening.event.client for opening in self._openings.values()]
        if owners.count(client.key) >= MOST_STREAMS_OF_ONE or len(owners) >= MOST_STREAMS:
            raise ConfigError(
                f"{owners.count(client.key)} streams of this client and {len(owners)} in all are open, the most are "
                f"{MOST_STREAMS_OF_ONE} and {MOST_STREAMS}; close those that are not needed"
            )

    def _scale(self, client: Client, request: int, workers: int) -> None:
        if not 1 <= workers <= 1024:
            raise ConfigError(f"workers={workers!r}; give 1 to 1024")
        self._tell(client, m.Done(request, f"{self._workers_wanted} → {workers} workers"))
        _LOG.info("client %s scales from %d to %d workers", client.name, self._workers_wanted, workers)
        self._workers_wanted = workers
        self._happens(events.WorkersWanted(workers))

    def _tell(self, client: Client, message: m.ToClient) -> None:
        self._tell_peer(client.peer, message)

    def _tell_peer(self, peer: bytes, message: m.ToClient) -> None:
        self._parts.client_socket.post(peer, message)

    # ---- what the scheduler says

    def _happens(self, event: events.Event) -> None:
        """Let the scheduler act on an event; one that comes up while its actions are carried out waits for the rest."""
        self._pending.append(event)
        if len(self._pending) > 1:
            return
        while self._pending:
            for action in self._scheduler.handle(self._pending[0], time.monotonic()):
                self._carry_out(action)
            self._pending.popleft()

    def _carry_out(self, action: actions.Action) -> None:
        match action:
            case actions.SendTask(worker, task, stream, epoch, slot, rows, samples, positions, offsets, lengths, room):
                order = m.Task(task, stream, epoch, slot, rows, samples, positions, offsets, lengths, room)
                self._tell_worker(worker, order)
            case actions.SendReady(client, stream, want, slot, lease, rows, frames, substituted):
                failpoints.passing("daemon.step_ready")
                self._tell_key(client, m.Ready(stream, want, slot, lease, rows, frames, substituted))
            case actions.SendFailed(client, stream, want, error, message):
                self._tell_key(client, m.Failed(stream, want, error, message))
            case actions.NoteBadSample(stream, message):
                self._note(f"bad sample in stream {stream}: {message}")
            case actions.Refuse(client, message):
                self._tell_key(client, m.Refused(0, ProtocolError.__name__, message))
            case actions.RetireStream(stream, slots):
                self._retire(stream, slots)
            case actions.StartWorker(worker):
                self._start(worker)
            case actions.StopWorker(worker):
                self._stop(worker)
            case actions.KillWorker(worker, reason):
                self._note(f"worker {worker} {reason}; it is killed, and another takes its tasks")
                self._parts.pool.kill(worker)
            case actions.GiveUp(reason):
                self._failure = WorkerDied(reason)

    def _tell_key(self, key: str, message: m.ToClient) -> None:
        client = self._parts.clients.by_key(key)
        if client is not None:
            self._tell(client, message)

    def _start(self, worker: int) -> None:
        try:
            self._parts.pool.start(worker)
        except OSError as error:
            self._note(f"worker {worker} could not be started: {error}")
            self._happens(events.WorkerExited(worker, f"could not be started: {error}"))

    def _stop(self, worker: int) -> None:
        self._dismissed.add(worker)
        if worker in self._connected:
            self._tell_worker(worker, m.Drain())
        else:
            self._parts.pool.kill(worker)

    def _retire(self, stream: int, slots: tuple[int, ...]) -> None:
        self._openings.pop(stream, None)
        self._parts.segments.remove(slots)
        for worker in self._connected:
            self._tell_worker(worker, m.DropStream(stream))
