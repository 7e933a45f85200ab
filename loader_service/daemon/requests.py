"""What clients ask, and what they are told: each message of theirs becomes an event, an answer or a named refusal."""

from __future__ import annotations

import logging
import os
import time
from typing import Protocol

from loader_service import failpoints
from loader_service.config import check_workers
from loader_service.core import events
from loader_service.core.scheduler import Scheduler
from loader_service.daemon.clients import Client
from loader_service.daemon.crew import Crew
from loader_service.daemon.journal import Journal, Kind
from loader_service.daemon.notify import restart_command
from loader_service.daemon.openings import Moment, NoRoom, NotYet, Opening, StreamOpener
from loader_service.daemon.parts import Parts
from loader_service.daemon.probes import Answer, Probes
from loader_service.daemon.reports import Reporter, Traffic, holders
from loader_service.daemon.returning import Returning, Waiting
from loader_service.daemon.sockets import Received
from loader_service.errors import ConfigError, LoaderError, ProtocolError
from loader_service.protocol import messages as m
from loader_service.protocol.fields import Field
from loader_service.sizes import size_text

_LOG = logging.getLogger(__name__)

#: How often a client should be heard, in seconds; a tenth of the shortest sensible client timeout.
HEARTBEAT_S = 1.0

#: How long it may take to find out what a transform returns, in seconds; less than clients wait for a stream to open.
PROBE_S = 25.0

#: Letters of the reason why a sample was bad that its client is told.
_LONGEST_REASON = 1000

#: Streams open at a time, of one client and of all. Each has a plan of its own here and in every worker.
MOST_STREAMS_OF_ONE, MOST_STREAMS = 64, 1024


class Loop(Protocol):
    """What requests need of the daemon's loop, in whose thread they are heard."""

    @property
    def scheduler(self) -> Scheduler:
        """Who knows how things stand."""

    @property
    def workers_wanted(self) -> int:
        """How many workers there should be."""

    @property
    def is_stopping(self) -> bool:
        """Whether the service is about to end."""

    def happens(self, event: events.Event) -> None:
        """Let the scheduler act on an event."""

    def scale(self, workers: int) -> None:
        """Have another number of workers."""

    def stop(self, reason: str, *, again: bool = False) -> None:
        """Begin to end, and to begin anew after that."""

    def check(self, file: int) -> None:
        """Have a file looked at whose time or inode has changed."""


class Requests:
    """All that clients say and are told, and the streams that they have open.

    Parameters
    ----------
    parts
        Clients and their socket, the catalog, the segments.
    crew
        Is told of streams, and tries transforms.
    journal
        Gets faults and refusals.
    loop
        What happens is said to it.
    """

    def __init__(self, parts: Parts, crew: Crew, journal: Journal, loop: Loop) -> None:
        self._parts = parts
        self._clients = parts.clients
        self._crew = crew
        self._journal = journal
        self._loop = loop
        self._opener = StreamOpener(parts.catalog, parts.segments, parts.config.memory)
        self._returning = Returning()
        self._openings: dict[int, Opening] = {}
        self._probes = Probes(crew.tell, min(parts.config.task_timeout, PROBE_S))
        self._reporter = Reporter(
            parts.endpoint,
            parts.catalog,
            parts.segments,
            self._opener,
            heartbeat_s=HEARTBEAT_S,
            transform=parts.config.transform or "",
        )

    def hear(self, received: Received[m.FromClient]) -> None:
        """Act on a message, or on what was none."""
        peer, message = received.peer, received.message
        if isinstance(message, Exception):
            self._refuse_malformed(peer, message)
            return
        now = time.monotonic()
        if isinstance(message, m.Hello):
            self._welcome(peer, message, now)
            return
        client = self._clients.by_peer(peer)
        if client is None:
            self._tell_peer(peer, m.Stranger())
            return
        client.last_heard = now
        try:
            self._obey(client, message)
        except LoaderError as error:
            self._refuse(client, getattr(message, "request", 0), error)

    def tell(self, key: str, message: m.ToClient) -> None:
        """Say something to a client that the scheduler names so, if it is still there."""
        client = self._clients.by_key(key)
        if client is not None:
            self._tell(client, message)

    def tell_of_bad_sample(self, stream: int, message: str) -> None:
        """Tell a stream's client what was bad, if it has that replaced: the step itself will not say."""
        opening = self._openings.get(stream)
        if opening is not None and opening.prepare.spec.on_error == "substitute":
            self.tell(opening.event.client, m.BadSample(stream, message[:_LONGEST_REASON]))

    def tell_all(self, message: m.ToClient) -> None:
        """Say something to all clients."""
        for client in self._clients:
            self._tell(client, message)

    # ---- clients that are gone

    def lose_all(self, why: str) -> None:
        """Give all clients up: as strangers they ask again at once for what was lost, and not when they miss it."""
        for client in self._clients:
            self._lose(client, why)

    def miss_peer(self, peer: bytes) -> None:
        """Give up the client at an address, if it is one, unless its goodbye is found to have come before that."""
        client = self._clients.by_peer(peer)
        if client is not None and client.missed_at is None:
            client.missed_at = time.monotonic()

    def lose_ended(self, ended: set[int]) -> None:
        """Give up the clients whose processes have ended, by their descriptors, and those that are gone otherwise."""
        for client, why in self._clients.lost(ended, time.monotonic()):
            self._lose(client, why)

    def _lose(self, client: Client, why: str, *, in_peace: bool = False) -> None:
        held = sum(s.slots_leased for s in self._loop.scheduler.stream_figures() if s.client == client.key)
        line = f"client {client.name} (pid {client.pid}) {why}"
        if held and not in_peace:
            self._journal.note(f"{line}; {held} batches that it held are given up", Kind.CLIENT)
        else:
            self._journal.say(line, Kind.CLIENT)
        self._clients.forget(client.key)
        self._probes.forget(client.key)
        self._returning.forget(client.key)
        self._loop.happens(events.ClientLost(client.key))

    # ---- time, and workers

    def next_deadline(self) -> float | None:
        """Return when `tick` has something to do; None while there is nothing to wait for."""
        deadlines = (self._clients.next_deadline(), self._probes.next_deadline(), self._returning.next_deadline())
        return min((each for each in deadlines if each is not None), default=None)

    def tick(self, now: float) -> None:
        """Give up who was silent for too long, and transforms that have had their time."""
        silent = self._clients.next_deadline()
        if silent is not None and silent <= now:
            self.lose_ended(set())
        for worker, answer in self._probes.late(now):
            if worker is not None:
                self._crew.kill(worker, f"worker {worker} took too long to try the transform; it is killed")
            if answer is not None:
                self._conclude(answer)
        for each in self._returning.due(now):
            self._conclude(Answer(each.client, each.asked, each.outputs, None))

    def prepare(self, worker: int) -> None:
        """Tell a new worker of all streams."""
        for opening in self._openings.values():
            self._crew.tell(worker, opening.prepare)

    def try_transforms(self) -> None:
        """Give transforms that are to be tried to a worker, if there is one."""
        self._probes.dispatch(self._crew.staying)

    def tried(self, answer: m.Probed) -> None:
        """Act on what a worker says of a transform."""
        if answer.file >= 0 and self._probes.postpone(answer):
            self.worker_spoke(answer.worker)
            self._loop.check(answer.file)
            return
        concluded = self._probes.answered(answer)
        self.worker_spoke(answer.worker)
        if concluded is not None:
            self._conclude(concluded)

    def checked(self, file: int, message: str) -> None:
        """Try the transforms again that waited for a file; refuse their streams when its content has changed."""
        for answer in self._probes.checked(file, message):
            self._conclude(answer)
        self.try_transforms()

    def worker_spoke(self, worker: int) -> None:
        """Take note that a worker has come to the end of something: it was not at a transform meanwhile."""
        self._probes.heard(worker, time.monotonic())

    def worker_ended(self, worker: int, cause: str) -> None:
        """Refuse the streams whose transforms have ended too many workers."""
        for answer in self._probes.lost(worker, cause):
            self._conclude(answer)

    def make_slot(self, stream: int) -> int | None:
        """Make one more slot for a stream; return None where there is no memory for it."""
        opening = self._openings.get(stream)
        if opening is None:
            return None
        try:
            return self._opener.one_more(opening, self._loop.workers_wanted)
        except ConfigError as error:
            self._journal.note(f"stream {stream}: a step that a worker is late with waits for it; {error}")
            return None

    def retire(self, stream: int, slots: tuple[int, ...]) -> None:
        """Drop a stream with its slots."""
        self._openings.pop(stream, None)
        self._parts.segments.remove(slots)
        self._returning.retired(time.monotonic())
        self._crew.tell_all(m.DropStream(stream))

    # ---- what clients say

    def _welcome(self, peer: bytes, hello: m.Hello, now: float) -> None:
        try:
            known = self._clients.by_peer(peer)
            client = self._clients.welcome(peer, hello.name, hello.pid, now)
            if known is None:
                self._journal.say(f"client {client.name} (pid {client.pid}) connected", Kind.CLIENT)
        except ConfigError as error:
            self._journal.requests_refused += 1
            self._tell_peer(peer, m.Refused(0, ConfigError.__name__, str(error)))
            return
        self._tell_peer(peer, self._reporter.welcome())

    def _obey(self, client: Client, message: m.FromClient) -> None:
        match message:
            case m.Want():
                failpoints.passing("daemon.step_wanted")
                self._want(client, message)
            case m.Release(stream, lease):
                self._loop.happens(events.LeaseReleased(client.key, stream, lease))
            case m.Forget(stream, want):
                self._loop.happens(events.WantForgotten(client.key, stream, want))
            case m.Heartbeat():
                self._tell(client, message)
            case m.Goodbye():
                self._lose(client, "has said goodbye", in_peace=True)
            case m.OpenStream():
                self._open(client, message)
            case m.CloseStream(stream):
                self._loop.happens(events.StreamClosed(client.key, stream))
            case m.GetStatus(request):
                probing = self._probes.at(time.monotonic())
                traffic = Traffic(self._clients, self._parts.pool, self._openings, self._journal.faults, probing)
                status = self._reporter.status(request, self._loop.scheduler, traffic, self._journal.refused)
                self._tell(client, status)
            case m.GetCatalog(request):
                self._tell(client, self._reporter.summary(request))
            case m.Scale(request, workers):
                self._scale(client, request, workers)
            case m.Stop(request):
                self._tell(client, m.Done(request, f"service {os.getpid()} is stopping"))
                self._loop.stop(f"asked by {client.name} (pid {client.pid})")
            case m.Restart(request):
                self._restart(client, request)

    def _want(self, client: Client, want: m.Want) -> None:
        opening = self._openings.get(want.stream)
        if opening is not None and opening.event.client == client.key:
            try:
                opening.check(want)
            except ConfigError as error:  # said to the want itself: its client waits for that
                self._journal.requests_refused += 1
                self._tell(client, m.Failed(want.stream, want.want, type(error).__name__, str(error)))
                return
        asked = events.StepWanted(
            client.key, want.stream, want.want, want.epoch, want.step, want.samples, want.positions
        )
        self._loop.happens(asked)

    def _scale(self, client: Client, request: int, workers: int) -> None:
        check_workers(workers)
        before = self._loop.workers_wanted
        self._tell(client, m.Done(request, f"{before} → {workers} workers"))
        _LOG.info("client %s scales from %d to %d workers", client.name, before, workers)
        self._loop.scale(workers)

    def _restart(self, client: Client, request: int) -> None:
        if self._parts.notifier.is_asked:  # whom the end would be told, and who could not be told of a new beginning
            raise ConfigError(f"systemd runs this service; restart it with `{restart_command()}`")
        if self._loop.is_stopping:
            raise ConfigError("the service is stopping; start it when it has ended")
        self._tell(client, m.Done(request, f"service {os.getpid()} is restarting"))
        self._loop.stop(f"asked to restart by {client.name} (pid {client.pid})", again=True)

    # ---- streams

    def _open(self, client: Client, asked: m.OpenStream) -> None:
        said_before = self._find_opening(client, asked.request)
        if said_before is not None:  # its answer was lost: it needs no room, it has it
            self._tell(client, said_before.opened)
            return
        self._check_room(client)
        if self._parts.config.transform is None:
            self._begin(client, asked)
        else:
            self._probes.begin(client.key, asked, self._opener.inputs(asked.spec), time.monotonic())
            self.try_transforms()

    def _conclude(self, answer: Answer) -> None:
        """Open the stream whose transform was tried, or which had to wait for memory, or say why not."""
        client = self._clients.by_key(answer.client)
        if client is None:
            return
        try:
            if answer.error is not None:
                raise answer.error
            self._check_room(client)  # there was time for other streams, or for the end to begin
            self._begin(client, answer.asked, answer.fields)
        except LoaderError as error:
            self._refuse(client, answer.asked.request, error)

    def _begin(self, client: Client, asked: m.OpenStream, outputs: tuple[Field, ...] | None = None) -> None:
        now = time.monotonic()
        moment = Moment(self._loop.workers_wanted, self._returning.since_s(now))
        try:
            opening = self._opener.open(client.key, asked.request, asked.spec, outputs, moment)
        except NotYet:
            self._returning.wait(Waiting(client.key, asked, outputs), now)
            return
        except NoRoom as error:
            raise error.said(holders(self._openings, self._clients, self._parts.segments)) from error
        number = opening.opened.stream
        self._openings[number] = opening
        self._crew.tell_all(opening.prepare)
        self._loop.happens(opening.event)
        self._tell(client, opening.opened)
        slots = f"{opening.opened.slots} of {opening.wanted_slots} slots of {size_text(opening.slot_bytes)}"
        _LOG.info("client %s opened stream %d with %s: %s", client.name, number, slots, opening.prepare.spec)

    def _find_opening(self, client: Client, request: int) -> Opening | None:
        """Return the stream that a request has opened: one whose answer was lost is asked for again."""
        mine = (each for each in self._openings.values() if each.event.client == client.key)
        return next((each for each in mine if each.opened.request == request), None)

    def _check_room(self, client: Client) -> None:
        if self._loop.is_stopping:
            raise ConfigError("the service is stopping and opens no streams")
        owners = [opening.event.client for opening in self._openings.values()]
        if owners.count(client.key) >= MOST_STREAMS_OF_ONE or len(owners) >= MOST_STREAMS:
            raise ConfigError(
                f"{owners.count(client.key)} streams of this client and {len(owners)} in all are open, the most are "
                f"{MOST_STREAMS_OF_ONE} and {MOST_STREAMS}; close those that are not needed"
            )

    # ---- refusals and answers

    def _refuse(self, client: Client, request: int, error: LoaderError) -> None:
        self._journal.requests_refused += 1
        self._tell(client, m.Refused(request, type(error).__name__, str(error)))

    def _refuse_malformed(self, peer: bytes, error: Exception) -> None:
        self._journal.messages_malformed += 1
        self._journal.say(f"a message was refused: {error}", Kind.MALFORMED)
        kind = "ConfigError" if isinstance(error, ConfigError) else ProtocolError.__name__
        self._tell_peer(peer, m.Refused(0, kind, str(error)))

    def _tell(self, client: Client, message: m.ToClient) -> None:
        self._tell_peer(client.peer, message)

    def _tell_peer(self, peer: bytes, message: m.ToClient) -> None:
        self._parts.client_socket.post(peer, message)
