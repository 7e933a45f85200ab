"""The one loop: what sockets, processes and the clock bring becomes events; what the scheduler says becomes deeds."""

from __future__ import annotations

import logging
import time
from collections import deque
from collections.abc import Callable

import zmq

from loader_service import failpoints
from loader_service.core import actions, events
from loader_service.core.ledger import Limits
from loader_service.core.scheduler import Scheduler
from loader_service.daemon.crew import Crew
from loader_service.daemon.journal import Journal, Kind
from loader_service.daemon.parts import Parts
from loader_service.daemon.rechecks import Rechecks, adoption
from loader_service.daemon.requests import Requests
from loader_service.daemon.sockets import Received
from loader_service.errors import LoaderError, ProtocolError, WorkerDied
from loader_service.protocol import messages as m

_LOG = logging.getLogger(__name__)

#: How long a stopping service waits for its workers to finish the tasks they are at, in seconds.
DRAIN_S = 10.0

#: How often the daemon looks for a flood, in seconds: a peer fills 3 GB in one. 10 µs a look.
_LOOK_EVERY_S = 0.1

#: How often it looks at the memory of its workers, in seconds.
_WEIGH_EVERY_S = 0.5


class Daemon:
    """The service's one thread.

    Parameters
    ----------
    parts
        Sockets, processes, memory.
    announce
        Called once, when all workers are there.

    Attributes
    ----------
    scheduler
        Decides; asked by others how things stand, and told what happens here only.
    workers_wanted
        How many workers there should be.
    """

    def __init__(self, parts: Parts, announce: Callable[[], None]) -> None:
        self._parts = parts
        self._announce: Callable[[], None] | None = announce
        self._journal = Journal()
        self._crew = Crew(parts.pool, parts.worker_socket, parts.config, self._journal)
        self._requests = Requests(parts, self._crew, self._journal, self)
        self._rechecks = Rechecks(parts.watched, parts.catalog, parts.scan_options, self._journal.note)
        self.scheduler = Scheduler(parts.catalog.file_bytes.tolist(), Limits(task_timeout_s=parts.config.task_timeout))
        self.workers_wanted = parts.config.worker_count
        self._pending: deque[events.Event] = deque()  # the first one is being acted on
        self._drain_deadline: float | None = None
        self._again = False  # after the end
        self._failure: LoaderError | None = None
        self._next_look = self._next_weighing = time.monotonic()
        self._next_beat: float | None = self._next_look
        self._poller = zmq.Poller()
        for each in (parts.client_socket.socket, parts.worker_socket.socket, parts.watched.fileno()):
            self._poller.register(each, zmq.POLLIN)

    def run(self) -> bool:
        """Serve until told to stop; return whether to begin anew.

        Raises
        ------
        WorkerDied
            When no worker can be started.
        """
        try:
            self._serve()
        finally:
            self._rechecks.close()
        self._journal.close()
        if self._failure is not None:
            raise self._failure
        return self._again

    def _serve(self) -> None:
        self.happens(events.WorkersWanted(self.workers_wanted))
        while not self._is_over():
            ready = dict(self._poller.poll(self._patience_ms()))
            if self._parts.worker_socket.socket in ready:
                for received in self._parts.worker_socket.receive():
                    self._hear_worker(received)
            if self._parts.client_socket.socket in ready:
                for heard in self._parts.client_socket.receive():
                    self._requests.hear(heard)
            if self._parts.watched.fileno() in ready:
                self._look_after()
            self._tick()
            self._flush()

    # ---- time and the end

    @property
    def is_stopping(self) -> bool:
        """Whether the service is about to end."""
        return self._drain_deadline is not None

    def stop(self, reason: str, *, again: bool = False) -> None:
        """Let workers finish the tasks they are at, for a while, and then end; begin anew if nobody says otherwise."""
        if self._drain_deadline is not None:
            self._again = self._again and again
            return
        self._again = again
        _LOG.info("stopping: %s", reason)
        self._parts.notifier.stopping()
        self._drain_deadline = time.monotonic() + DRAIN_S
        self._requests.tell_all(m.Stopping(reason))
        self.happens(events.WorkersWanted(0))

    def scale(self, workers: int) -> None:
        """Have another number of workers."""
        self.workers_wanted = workers
        self.happens(events.WorkersWanted(workers))

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
            self.scheduler.next_deadline(),
            self._requests.next_deadline(),
            self._journal.next_deadline(),
            self._rechecks.next_deadline(),
            self._drain_deadline,
        ]
        deadline = min(each for each in candidates if each is not None)
        return max(0, int((deadline - time.monotonic()) * 1000) + 1)

    def _tick(self) -> None:
        now = time.monotonic()
        deadline = self.scheduler.next_deadline()
        if deadline is not None and deadline <= now:
            self.happens(events.ClockTicked())
        self._requests.tick(now)
        self._journal.tick(now)
        recheck = self._rechecks.next_deadline()
        if recheck is not None and recheck <= now:
            self._recheck(set())
        if self._next_beat is not None and self._next_beat <= now:
            self._beat(now)
        if self._next_look <= now:
            self._next_look = now + _LOOK_EVERY_S
            self._shed()
        if self._next_weighing <= now:
            self._next_weighing = now + _WEIGH_EVERY_S
            for worker in self._crew.overweight(now):  # HDF5 does not give back all that it takes
                self.happens(events.WorkerOverweight(worker))

    def _shed(self) -> None:
        """Drop the clients' connections when they have taken too much of this process, until that is given back."""
        alarm, door = self._parts.flood_guard.alarm(self.workers_wanted), self._parts.client_socket
        if alarm is not None and not door.socket.closed:
            self._journal.note(f"{alarm}; all clients are disconnected, and honest ones come back")
            self._poller.unregister(door.socket)
            door.shut()
            self._requests.lose_all("was disconnected with all others")
            self._parts.flood_guard.rest()
        elif alarm is None and door.socket.closed:
            door.reopen()
            self._poller.register(door.socket, zmq.POLLIN)

    def _beat(self, now: float) -> None:
        """Tell systemd that the loop turns, when it waits to be told."""
        self._parts.notifier.alive()
        beat_s = self._parts.notifier.beat_s
        self._next_beat = None if beat_s is None else now + beat_s

    def _flush(self) -> None:
        """Send what this turn of the loop had to say."""
        for peer in self._parts.worker_socket.flush():
            # It has ended or is about to: its pidfd tells, and its tasks are given to others.
            self._journal.say(f"{peer.decode('ascii', 'replace')} could not be reached", Kind.UNREACHABLE)
        for peer in self._parts.client_socket.flush():
            self._requests.miss_peer(peer)

    # ---- what processes do, and what workers say

    def _look_after(self) -> None:
        """Take note of signals, of the ends of processes, and of what workers wrote to their standard error."""
        ready = {descriptor for descriptor, _ in self._parts.watched.poll(0)}
        stop = self._parts.signals.take(ready)
        if stop:
            self.stop(stop)
        for worker, cause in self._crew.ended():
            self.happens(events.WorkerExited(worker, cause))
            self._requests.worker_ended(worker, cause)
        self._requests.try_transforms()
        self._requests.lose_ended(ready)
        self._recheck(ready)

    def check(self, file: int) -> None:
        """Have a file looked at whose time or inode has changed."""
        self._rechecks.want(file, time.monotonic())

    def _recheck(self, ready: set[int]) -> None:
        """Tell the workers of files that have kept their content, and the scheduler what came of those that waited."""
        for checked in self._rechecks.turn(ready, time.monotonic()):
            if checked.status is not None:
                self._crew.tell_all(adoption(checked.file, checked.status))
            self._requests.checked(checked.file, checked.message)
            self.happens(events.FileChecked(checked.file, checked.message))

    def _hear_worker(self, received: Received[m.FromWorker]) -> None:
        match received.message:
            case m.WorkerReady(worker):
                if self._crew.arrived(worker):
                    self._begin(worker)
            case m.TaskDone(worker, task, bad):
                failpoints.passing("daemon.task_reported")
                self._requests.worker_spoke(worker)
                self.happens(events.TaskEnded(worker, task, bad))
            case m.Probed():
                self._requests.tried(received.message)
            case Exception() as error:
                self._journal.messages_malformed += 1
                self._journal.note(f"a worker's message was refused: {error}", Kind.MALFORMED)

    def _begin(self, worker: int) -> None:
        """Give a worker that is ready what it needs; say that the service is ready when all are."""
        for file, status in self._rechecks.adopted.items():
            self._crew.tell(worker, adoption(file, status))
        self._requests.prepare(worker)
        self.happens(events.WorkerStarted(worker))
        self._requests.try_transforms()
        if self._announce is not None and self.scheduler.working >= self.workers_wanted:
            self._announce()
            self._announce = None

    # ---- what the scheduler says

    def happens(self, event: events.Event) -> None:
        """Let the scheduler act on an event; one that comes up while its actions are carried out waits for the rest."""
        self._pending.append(event)
        if len(self._pending) > 1:
            return
        while self._pending:
            for action in self.scheduler.handle(self._pending[0], time.monotonic()):
                self._carry_out(action)
            self._pending.popleft()

    def _carry_out(self, action: actions.Action) -> None:
        match action:
            case actions.SendTask(worker, task, stream, epoch, slot, rows, samples, positions, offsets, lengths, room):
                order = m.Task(task, stream, epoch, slot, rows, samples, positions, offsets, lengths, room)
                self._crew.tell(worker, order)
            case actions.SendReady(client, stream, want, slot, lease, rows, frames, substituted):
                failpoints.passing("daemon.step_ready")
                self._requests.tell(client, m.Ready(stream, want, slot, lease, rows, frames, substituted))
            case actions.SendFailed(client, stream, want, error, message):
                self._requests.tell(client, m.Failed(stream, want, error, message))
            case actions.NoteBadSample(stream, message):
                self._journal.note(f"bad sample in stream {stream}: {message}", Kind.BAD_SAMPLE, about=message)
                self._requests.tell_of_bad_sample(stream, message)
            case actions.Refuse(client, message):
                self._requests.tell(client, m.Refused(0, ProtocolError.__name__, message))
            case actions.MakeSlot(stream):
                self.happens(events.SlotMade(stream, self._requests.make_slot(stream)))
            case actions.RetireStream(stream, slots):
                self._requests.retire(stream, slots)
            case actions.CheckFile(file):
                self.check(file)
            case actions.StartWorker(worker):
                why_not = self._crew.start(worker)
                if why_not is not None:
                    self.happens(events.WorkerExited(worker, why_not))
            case actions.StopWorker(worker):
                self._crew.dismiss(worker)
            case actions.KillWorker(worker, reason):
                self._crew.kill(worker, f"worker {worker} {reason}; it is killed, and another takes its tasks")
            case actions.GiveUp(reason):
                self._failure = WorkerDied(reason)
