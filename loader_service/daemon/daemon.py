"""The one loop: poll, decode, ask the core, carry out what it says, send; decides nothing itself."""

from __future__ import annotations

import logging
import select
import time
from collections.abc import Callable
from contextlib import ExitStack
from typing import Any, cast

import zmq

from loader_service import failpoints
from loader_service.core import effects as do
from loader_service.core import events as e
from loader_service.core.service import Service
from loader_service.daemon.claimed_frames import ClaimedFrames
from loader_service.daemon.client_processes import ClientProcesses
from loader_service.daemon.flood import FloodGuard
from loader_service.daemon.machine_load import MachineLoad
from loader_service.daemon.rechecks import Rechecks, adoption
from loader_service.daemon.remote_workers import FROM_RECEIVER, RemoteWorkers
from loader_service.daemon.segment_maker import SegmentMaker
from loader_service.daemon.service_log import ServiceLog
from loader_service.daemon.side_programs import SidePrograms
from loader_service.daemon.signals import StopSignals
from loader_service.daemon.sockets import Received, Router
from loader_service.daemon.systemd_notifier import SystemdNotifier
from loader_service.daemon.web_page import WebPage
from loader_service.daemon.workers import Workers
from loader_service.errors import ConfigError, ProtocolError, WorkerDied
from loader_service.protocol import messages as m
from loader_service.protocol.remote_messages import FromReceiver
from loader_service.record_class import record

_LOG = logging.getLogger(__name__)

#: How often the daemon looks for a flood, in seconds: a peer fills 3 GB in one. 10 µs a look.
_LOOK_EVERY_S = 0.1

#: How often it looks at the memory of its workers, in seconds.
_WEIGH_EVERY_S = 0.5

#: Where tests kill the daemon.
_FAILPOINTS: dict[type, str] = {
    m.Want: "daemon.step_wanted",
    m.TaskDone: "daemon.task_reported",
    m.Ready: "daemon.step_ready",
}


@record(frozen=True)
class World:
    """What the daemon acts on; the caller closes it."""

    watched: select.epoll
    clients: Router[m.FromClient]
    workers_socket: Router[m.FromWorker | FromReceiver]
    client_processes: ClientProcesses
    workers: Workers
    load: MachineLoad
    memory: SegmentMaker
    rechecks: Rechecks
    signals: StopSignals
    notifier: SystemdNotifier
    flood_guard: FloodGuard
    log: ServiceLog
    beside: SidePrograms
    frames: ClaimedFrames | None = None
    web: WebPage | None = None


class Daemon:
    """The service's one thread.

    Parameters
    ----------
    core
        Decides.
    world
        Sockets, processes, memory.
    announce
        Called once, when all workers are there.
    """

    def __init__(self, core: Service, world: World, announce: Callable[[], None]) -> None:
        self._core = core
        self._world = world
        self._announce = announce
        self._events: list[e.Event] = []  # that came of deeds, and are not told yet
        self._again: bool | None = None  # after the end; None before it
        self._next_look = self._next_weighing = time.monotonic()
        self._next_beat: float | None = self._next_look
        self._poller = zmq.Poller()
        for each in (world.clients.socket, world.workers_socket.socket, world.watched.fileno()):
            self._poller.register(each, zmq.POLLIN)

    def run(self) -> bool:
        """Serve until told to stop; return whether to begin anew.

        Raises
        ------
        WorkerDied
            When no worker can be started.
        """
        world = self._world
        with ExitStack() as stack:
            stack.callback(world.log.close)
            stack.callback(world.rechecks.close)
            while self._again is None:
                ready = dict(self._poller.poll(self._patience_ms()))
                if world.workers_socket.socket in ready:
                    for received in world.workers_socket.receive():
                        self._hear_worker(received)
                if world.clients.socket in ready:
                    for heard in world.clients.receive():
                        self._hear(heard.peer, heard.message, more=heard.more)
                self._look_after({fd for fd, _ in world.watched.poll(0)} if world.watched.fileno() in ready else set())
                self._tick(time.monotonic())
                self._tell_events()
                self._flush()
        return self._again

    # ---- what comes

    def _hear_worker(self, received: Received[Any]) -> None:
        message, remote = received.message, self._world.workers.remote
        if remote is not None and isinstance(message, FROM_RECEIVER):
            self._events += remote.hear(message, time.monotonic())
            return
        worker = 0 if isinstance(message, Exception) else message.worker
        if isinstance(message, m.WorkerReady):
            self._world.workers.arrived(worker, time.monotonic())
        self._hear(worker, message, more=received.more)

    def _hear(self, peer: do.Peer, message: Any, *, more: bool) -> None:
        if isinstance(message, Exception):
            kind = ConfigError if isinstance(message, ConfigError) else ProtocolError
            self._act(self._core.happened(e.Malformed(peer, kind.__name__, str(message)), time.monotonic()))
            return
        _pass(message)
        self._act(self._core.receive(peer, message, time.monotonic(), more=more))
        self._tell_events()  # at once, so that it counts as time spent on this message

    def _look_after(self, ready: set[int]) -> None:
        """Take note of signals, of the ends of processes, and of files that were looked at."""
        world, now = self._world, time.monotonic()
        recheck = world.rechecks.next_deadline()
        if ready:
            stop = world.signals.take(ready)
            if stop:
                self._events.append(e.StopWanted(stop))
            self._events += [e.WorkerExited(worker, cause) for worker, cause in world.workers.ended()]
            self._events += [e.ClientEnded(client) for client in world.client_processes.ended(ready)]
        beside = world.beside.next_deadline()
        if ready or (beside is not None and beside <= now):
            for line in world.beside.turn(now):
                world.log.write(do.Note(line))
        if ready or world.memory.next_deadline() is not None:  # it may say so again when nothing is waited for
            self._events += world.memory.made(ready, now)
        if ready or (recheck is not None and recheck <= now):
            for checked in world.rechecks.turn(ready, now):
                news = None if checked.status is None else adoption(checked.file, checked.status)
                self._events.append(e.FileChecked(checked.file, checked.message, news))

    def _tell_events(self) -> None:
        """Tell the core what has happened, also in consequence of what it said."""
        while self._events:
            self._act(self._core.happened(self._events.pop(0), time.monotonic()))

    # ---- time

    def _patience_ms(self) -> int:
        candidates = [
            self._next_beat,
            self._next_look,
            self._core.next_deadline(),
            self._world.log.next_deadline(),
            self._world.rechecks.next_deadline(),
            self._world.memory.next_deadline(),
            self._world.beside.next_deadline(),
            None if self._world.workers.remote is None else self._world.workers.remote.next_deadline(),
        ]
        deadline = min(each for each in candidates if each is not None)
        return max(0, int((deadline - time.monotonic()) * 1000) + 1)

    def _tick(self, now: float) -> None:
        deadline = self._core.next_deadline()
        if deadline is not None and deadline <= now:
            self._events.append(e.ClockTicked())
        self._world.log.tick(now)
        if self._world.workers.remote is not None:
            self._world.workers.remote.tick(now)
        if self._next_beat is not None and self._next_beat <= now:
            self._beat(now)
        if self._next_look <= now:
            self._next_look = now + _LOOK_EVERY_S
            self._shed()
        if self._next_weighing <= now:
            self._next_weighing = now + _WEIGH_EVERY_S
            # HDF5 does not give back all that it takes.
            self._events += [e.WorkerOverweight(worker) for worker in self._world.workers.overweight(now)]

    def _shed(self) -> None:
        """Drop the clients' connections when they have taken too much of this process, until that is given back."""
        alarm, door = self._world.flood_guard.alarm(self._core.workers_wanted), self._world.clients
        if alarm is not None and not door.socket.closed:
            self._poller.unregister(door.socket)
            door.shut()
            self._events.append(
                e.ClientsDisconnected(f"{alarm}; all clients are disconnected, and honest ones come back")
            )
            self._world.flood_guard.rest()
        elif alarm is None and door.socket.closed:
            door.reopen()
            self._poller.register(door.socket, zmq.POLLIN)

    def _beat(self, now: float) -> None:
        """Tell systemd that the loop turns, when it waits to be told."""
        self._world.notifier.alive()
        beat_s = self._world.notifier.beat_s
        self._next_beat = None if beat_s is None else now + beat_s

    # ---- what the core says

    def _act(self, effects: list[do.Effect]) -> None:
        for effect in effects:
            self._carry_out(effect)

    def _carry_out(self, effect: do.Effect) -> None:
        world = self._world
        if not isinstance(effect, (do.Send, do.Note)):
            _LOG.debug("%s", effect)
        match effect:
            case do.Send(int() as worker, message):
                world.workers.tell(worker, cast("m.ToWorker", message))
            case do.Send(peer, message):
                _pass(message)
                world.clients.post(cast("bytes", peer), message)
            case do.StartWorker(worker):
                if why_not := world.workers.start(worker):
                    self._events.append(e.WorkerExited(worker, why_not))
            case do.KillWorker(worker):
                world.workers.kill(worker)
            case do.PlaceRemote() | do.AdmitRemote() | do.DismissRemote():
                self._events += cast("RemoteWorkers", world.workers.remote).carry_out(effect)
            case do.MakeSegments():
                world.memory.ask(effect, self._core.workers_wanted, time.monotonic())
            case do.RemoveSegments(slots):
                world.memory.remove(slots)
            case do.CheckFile(file):
                world.rechecks.want(file, time.monotonic())
            case do.Note():
                world.log.write(effect)
            case do.WatchClient(client, pid):
                world.client_processes.watch(client, pid)
            case do.UnwatchClient(client):
                world.client_processes.unwatch(client)
            case do.LookAtWorkers(client, request):
                faults = world.log.faults
                frames = world.frames.status() if world.frames else None
                self._events.append(e.WorkersSeen(client, request, world.workers.seen(), faults, frames))
            case do.LookAtMachine():
                self._events.append(world.load.look(time.monotonic()))
            case do.Announce("ready"):
                self._announce()
            case do.Announce():
                self._announce_end()
            case do.End(again):
                self._again = again
            case do.GiveUp(reason):
                raise WorkerDied(reason)

    def _announce_end(self) -> None:
        self._world.notifier.stopping()
        if self._world.workers.remote is not None:
            self._world.workers.remote.stopping()

    def _flush(self) -> None:
        """Send what this turn of the loop had to say."""
        for peer in self._world.workers_socket.flush():
            # It has ended or is about to: its pidfd tells, and its tasks are given to others.
            line = f"{peer.decode('ascii', 'replace')} could not be reached"
            self._world.log.write(do.Note(line, do.NoteKind.UNREACHABLE, is_fault=False))
        for peer in self._world.clients.flush():
            self._events.append(e.ClientUnreachable(peer))


def _pass(message: object) -> None:
    name = _FAILPOINTS.get(type(message))
    if name is not None:
        failpoints.passing(name)
