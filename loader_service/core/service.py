"""The whole service as a state machine: messages and events in, messages and deeds out, time passed in. Pure.

The daemon's one thread calls `Service.receive` with each message, `Service.happened` with each event, carries out the
effects in their order, and calls `happened` with `ClockTicked` when `next_deadline` is due. What makes no sense in the
present state is refused, or changes nothing.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from typing import Any

from loader_service.core import events as e
from loader_service.core.clients import Client, Clients
from loader_service.core.deadlines import Deadlines
from loader_service.core.effects import Effect, LookAtWorkers, Note, NoteKind, Peer, RemoveSegments
from loader_service.core.ledger import Ledger, Limits
from loader_service.core.lifetime import Lifetime
from loader_service.core.openings import Openings
from loader_service.core.planned import Planner
from loader_service.core.probes import Probes
from loader_service.core.remote_staff import RemoteStaff
from loader_service.core.scheduler import Scheduler
from loader_service.core.sizing import Sizing
from loader_service.core.status import About, Reporter
from loader_service.core.worker import WorkerState
from loader_service.errors import ConfigError, LoaderError
from loader_service.protocol import messages as m
from loader_service.worker_bounds import WorkerBounds, WorkersGiven

#: What each step takes: these concern the streams and their workers only.
_OF_STEPS = frozenset((m.Want, m.Release, m.Forget, m.TaskDone))


class Service:
    """The state machine.

    Parameters
    ----------
    about
        What it says of itself.
    planner
        Makes streams of specs.
    file_bytes
        Payload of each of the catalog's files, in bytes.
    limits
        Deadlines and bounds.
    workers
        How many there shall be at first, or bounds within which the service sizes itself.
    now
        When it begins.

    Attributes
    ----------
    counters
        What happened since the start.
    """

    def __init__(
        self,
        about: About,
        planner: Planner,
        file_bytes: Sequence[int],
        limits: Limits,
        workers: WorkersGiven | WorkerBounds,
        now: float,
    ) -> None:
        self._about = about
        self._limits = limits
        self._ledger = ledger = Ledger()
        self._sums, self.counters = ledger.sums, ledger.counters
        self.scheduler = Scheduler(file_bytes, limits, ledger)
        self.clients = Clients(limits.client_timeout_s, ledger)
        self.probes = Probes(self.scheduler.staff, ledger, limits.probe_timeout_s)
        self.openings = Openings(planner, self.probes, self.scheduler.streams, self.clients, ledger)
        self._reporter = Reporter(about, self.scheduler, self.clients, ledger, now)
        self._adopted: dict[int, m.AdoptFile] = {}
        staff, streams = self.scheduler.staff, self.scheduler.streams
        self.remote = RemoteStaff(staff, limits.most_remote, ledger)
        self.sizing = Sizing(WorkerBounds.of(workers, least=0), limits, (staff, self.remote), streams, ledger)
        self.sizing.begin(now)
        self._lifetime = Lifetime(limits.drain_s, ledger)
        self._deadlines = Deadlines(
            (self.scheduler, self.clients, streams.shares), (self.probes, self.openings, self._lifetime, self.sizing)
        )
        self._of_stream: dict[type, Callable[[bytes, Any, float], None]]
        self._of_stream = {m.Want: streams.want, m.Release: streams.release, m.Forget: streams.forget}
        self._of_client = self._handlers_of_clients()
        self._of_worker: dict[type, Callable[[Any, float], None]] = {
            m.TaskDone: self.scheduler.task_done,
            m.WorkerReady: self._worker_ready,
            m.Probed: self._probed,
            m.TasksWanted: lambda message, _: self.scheduler.tasks_wanted(message),
            m.TimeSpent: self.scheduler.time_spent,
            m.CopyRead: lambda message, _: self._ledger.copy_read(message),
        }
        self._of_event = self._handlers_of_events()

    def receive(
        self, peer: Peer, message: m.FromClient | m.FromWorker, now: float, *, more: bool = False
    ) -> list[Effect]:
        """Do as `happened` does for a message; where `more` follow at once, tasks are given out after the last."""
        self._sums.now = now
        if isinstance(peer, int):
            self._of_worker[type(message)](message, now)
        elif isinstance(message, m.Hello):
            self._hello(peer, message, now)
        else:
            self._hear(peer, message, now)
        if type(message) not in _OF_STEPS:
            return self._settle(now)
        if not more:
            self.scheduler.settle(now)
        return self._ledger.take()

    def happened(self, event: e.Event, now: float) -> list[Effect]:
        """Take in an event at time `now` (seconds, monotonic) and return what to do about it, in order."""
        self._sums.now = now
        self._of_event[type(event)](event, now)
        return self._settle(now)

    def next_deadline(self) -> float | None:
        """Return when `ClockTicked` is due, None while nothing is waited for."""
        return self._deadlines.next()

    @property
    def workers_wanted(self) -> int:
        """How many workers there should be."""
        return self.sizing.number

    # ---- what acts on what

    def _handlers_of_clients(self) -> dict[type, Callable[[Client, Any, float], None]]:
        return {
            m.Heartbeat: self._beat,
            m.Goodbye: lambda client, _, now: self._lose(client.address, "has said goodbye", now, in_peace=True),
            m.OpenStream: self._open,
            m.CloseStream: self._close,
            m.GetStatus: lambda client, ask, _: self._ledger.add(LookAtWorkers(client.address, ask.request)),
            m.GetCatalog: self._tell_catalog,
            m.GetRecentSteps: lambda who, ask, _: self._ledger.send(who.address, self._reporter.recent(ask.request)),
            m.Scale: self.sizing.scale,
            m.ScaleRemote: self.sizing.scale_remote,
            m.Stop: self._stop_asked,
            m.Restart: self._restart,
        }

    def _handlers_of_events(self) -> dict[type, Callable[[Any, float], None]]:
        return {
            e.SegmentsMade: self._segments_made,
            e.ClientEnded: lambda event, now: self._lose(event.client, "has ended", now),
            e.ClientUnreachable: lambda event, now: self.clients.miss(event.client, now),
            e.ClientsDisconnected: self._clients_disconnected,
            e.Malformed: self._malformed,
            e.RemoteCame: self.remote.came,
            e.ReceiverSeen: self.remote.receiver_seen,
            e.WorkerExited: self._worker_exited,
            e.WorkerOverweight: self._worker_overweight,
            e.WorkersSeen: self._workers_seen,
            e.MachineSeen: self.sizing.machine_seen,
            e.ScaleWanted: self.sizing.scale_wanted,
            e.StopWanted: lambda event, now: self._stop(event.reason, now),
            e.FileChecked: self._file_checked,
            e.ClockTicked: lambda _, now: self._tick(now),
        }

    # ---- time

    def _settle(self, now: float) -> list[Effect]:
        """Give out what waits, see whether all have come or gone, and return all that is to be done."""
        self._deadlines.forget()
        self.scheduler.settle(now)
        self.probes.dispatch(now)
        if self._lifetime.is_changing:
            staff = self.scheduler.staff
            self._lifetime.settle(now, all_there=staff.working_here >= self.sizing.number, none_left=not len(staff))
        return self._ledger.take()

    def _tick(self, now: float) -> None:
        self.scheduler.staff.kill_late(now)
        for client, why in self.clients.lost(now):
            self._lose(client.address, why, now)
        for answer in self.probes.late(now):
            self.openings.concluded(answer, now)
        self.openings.tick(now)
        self.scheduler.streams.shares.tick(now)
        self.sizing.tick(now)

    # ---- clients

    def _hello(self, address: bytes, hello: m.Hello, now: float) -> None:
        try:
            client, is_new = self.clients.welcome(address, hello, now)
        except ConfigError as error:
            self._ledger.refuse_request(address, 0, error)
            return
        if is_new:
            self._ledger.add(Note(f"{client} connected", NoteKind.CLIENT, is_fault=False))
        self._ledger.send(address, self._about.welcome)

    def _hear(self, address: bytes, message: Any, now: float) -> None:
        client = self.clients.heard(address, now)
        if client is None:
            self._ledger.send(address, m.Stranger())
            return
        act = self._of_stream.get(type(message))
        if act is not None:
            act(address, message, now)
            return
        try:
            self._of_client[type(message)](client, message, now)
        except LoaderError as error:
            self._ledger.refuse_request(address, getattr(message, "request", 0), error)

    def _beat(self, client: Client, message: m.Heartbeat, now: float) -> None:
        self._ledger.send(client.address, m.Heartbeat())
        self.scheduler.streams.told_times(client.address, message.streams, now)
        self.scheduler.streams.repeat_sizes(client.address)

    def _open(self, client: Client, message: m.OpenStream, now: float) -> None:
        if message.instance in ("", self._about.welcome.instance):
            self.openings.ask(client, message, now)
        else:  # it has not heard yet who welcomed it; its streams will be asked for under other numbers
            self._ledger.send(client.address, self._about.welcome)

    def _close(self, client: Client, message: m.CloseStream, now: float) -> None:
        if self.scheduler.streams.close(client.address, message.stream):
            self.openings.closed(message.stream)
            self.openings.memory_returns(now)

    def _lose(self, address: bytes, why: str, now: float, *, in_peace: bool = False) -> None:
        client = self.clients.get(address)
        if client is None:
            return
        held = 0 if in_peace else self.scheduler.streams.leased(address)
        lost = f"; {held} batches that it held are given up" if held else ""
        self._ledger.add(Note(f"{client} {why}{lost}", NoteKind.CLIENT, is_fault=bool(held)))
        for each in (self.clients, self.probes, self._lifetime):
            each.forget(address)
        self.openings.lose(address, now)
        if self.scheduler.streams.lose(address):
            self.openings.memory_returns(now)

    def _clients_disconnected(self, event: e.ClientsDisconnected, now: float) -> None:
        """Give all clients up: as strangers they ask again at once for what was lost, and not when they miss it."""
        self._ledger.add(Note(event.why))
        for client in self.clients:
            self._lose(client.address, "was disconnected with all others", now)

    def _malformed(self, event: e.Malformed, _now: float) -> None:
        self._ledger.counters.messages_malformed += 1
        if isinstance(event.peer, int):
            self._ledger.add(Note(f"a worker's message was refused: {event.message}", NoteKind.MALFORMED))
            return
        self._ledger.add(Note(f"a message was refused: {event.message}", NoteKind.MALFORMED, is_fault=False))
        self._ledger.send(event.peer, m.Refused(0, event.error, event.message))

    # ---- what clients ask of the service

    def _workers_seen(self, event: e.WorkersSeen, now: float) -> None:
        self._ledger.send(event.client, self._reporter.status(event, self.sizing, now))

    def _tell_catalog(self, client: Client, message: m.GetCatalog, _now: float) -> None:
        self._ledger.send(client.address, dataclasses.replace(self._about.catalog, request=message.request))

    def _stop_asked(self, client: Client, message: m.Stop, now: float) -> None:
        self._ledger.send(client.address, m.Done(message.request, f"service {self._about.welcome.pid} is stopping"))
        self._stop(f"asked by {client.name} (pid {client.pid})", now, asker=client.address)

    def _restart(self, client: Client, message: m.Restart, now: float) -> None:
        if self._about.why_no_restart:
            raise ConfigError(self._about.why_no_restart)
        if self._lifetime.is_stopping:
            raise ConfigError("the service is stopping; start it when it has ended")
        self._ledger.send(client.address, m.Done(message.request, f"service {self._about.welcome.pid} is restarting"))
        self._stop(f"asked to restart by {client.name} (pid {client.pid})", now, again=True, asker=client.address)

    def _stop(self, reason: str, now: float, *, again: bool = False, asker: bytes = b"") -> None:
        """Let workers finish what they are at, for a while, and then end; begin anew if nobody says otherwise."""
        if not self._lifetime.stop(reason, now, again=again, asker=asker):
            return
        self.openings.stopping = self.sizing.stopping = True
        for client in self.clients:
            self._ledger.send(client.address, m.Stopping(reason))
        self.scheduler.staff.scale(0, now)
        self.remote.close(now)

    # ---- workers

    def _worker_ready(self, message: m.WorkerReady, now: float) -> None:
        """Give a worker that is ready what it needs; one that has ended since is not known any more."""
        worker = self.scheduler.staff.get(message.worker)
        if worker is None or worker.state is not WorkerState.STARTING:
            return
        self._ledger.connected.add(message.worker)
        worker.decoder = message.decoder
        for adoption in self._adopted.values():
            self._ledger.send(message.worker, adoption)
        for stream in self.scheduler.streams:
            self._ledger.send(message.worker, stream.prepare)
        self.scheduler.staff.started(message.worker, now)
        worker.times.rest(now, self._ledger.sums.short_s)

    def _probed(self, message: m.Probed, now: float) -> None:
        file, answer = self.probes.answered(message, now)
        if file >= 0:
            self._ledger.check_file(file)
        if answer is not None:
            self.openings.concluded(answer, now)

    def _worker_exited(self, event: e.WorkerExited, now: float) -> None:
        worker = self.scheduler.staff.get(event.worker)
        if worker is not None and worker.state is not WorkerState.STOPPING:
            self._ledger.add(Note(f"worker {event.worker} {event.cause}"))
        self._ledger.connected.discard(event.worker)
        for place, task in enumerate(self.scheduler.worker_exited(event.worker, event.cause, now)):
            if (answer := self.probes.orphaned(task, event.cause, guilty=place == 0)) is not None:
                self.openings.concluded(answer, now)

    def _worker_overweight(self, event: e.WorkerOverweight, _now: float) -> None:
        if self.scheduler.staff.replace(event.worker):
            self._ledger.counters.workers_recycled += 1

    # ---- memory and files

    def _segments_made(self, event: e.SegmentsMade, now: float) -> None:
        if self.openings.segments_made(event, now):
            return
        if self.scheduler.streams.get(event.stream) is not None:
            self.scheduler.segments_made(event, now)
        elif event.slots:  # for a stream that is gone
            self._ledger.add(RemoveSegments(event.slots))
            self.openings.memory_returns(now)

    def _file_checked(self, event: e.FileChecked, now: float) -> None:
        self._ledger.files_asked.discard(event.file)
        if event.adoption is not None:
            self._adopted[event.file] = event.adoption
            self._ledger.tell_workers(event.adoption)
        for answer in self.probes.checked(event.file, event.message):
            self.openings.concluded(answer, now)
        self.scheduler.fillings.checked(event.file, event.message)

    def validate(self) -> None:
        """Raise AssertionError where an invariant does not hold."""
        self.scheduler.validate()
        self._deadlines.validate()
