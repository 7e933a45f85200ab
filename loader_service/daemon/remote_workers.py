"""Workers on other hosts as the loop deals with them: receiver and placement are two of its children."""

from __future__ import annotations

import math
import os
import select
import subprocess
import typing
from collections.abc import Iterator
from dataclasses import replace

from loader_service.children import ONE_THREAD, command, environment
from loader_service.core import effects as do
from loader_service.core import events as e
from loader_service.core.effects import Note
from loader_service.daemon.placement import Placement
from loader_service.daemon.service_log import ServiceLog
from loader_service.daemon.sockets import Router
from loader_service.daemon.watched_child import WatchedChild
from loader_service.protocol import remote_messages as r
from loader_service.remote.remote_options import ARRIVALS, ReceiverOptions, line_of

#: The messages of a receiver, for `isinstance`.
FROM_RECEIVER = typing.get_args(r.FromReceiver)

#: How long a receiver may be silent, in seconds, before it counts as hung and is killed; it speaks each second.
_SILENCE_S = 10.0

#: Memory of messages is not given back to the kernel after each, to come again page by page: a third of the CPU.
KEEPS_MEMORY = {"MALLOC_MMAP_THRESHOLD_": str(64 * 2**20), "MALLOC_TRIM_THRESHOLD_": str(64 * 2**20)}

#: The pause before a receiver that ended is started again: at first, and at the most, in seconds.
_FIRST_PAUSE_S, _LAST_PAUSE_S = 0.0, 5.0


class RemoteWorkers:
    """Remote workers, and the processes that they need on this host. Used by the daemon's one thread.

    A context manager that leaves no process behind; the kernel ends them when the daemon's own ends.

    Parameters
    ----------
    watched
        Becomes ready when `ended` has something to say.
    socket
        Carries the messages of the receiver, beside those of the workers.
    options
        What receivers are told; the number of each is put in.
    placement
        Where the workers are placed.
    log
        Gets what goes wrong.
    now
        When it begins, in seconds, monotonic.

    Raises
    ------
    OSError
        When the system has no process or memory left for a receiver.
    """

    def __init__(
        self,
        watched: select.epoll,
        socket: Router[typing.Any],
        options: ReceiverOptions,
        placement: Placement,
        log: ServiceLog,
        now: float,
    ) -> None:
        self._watched = watched
        self._socket = socket
        self._options = options
        self._placement = placement
        self._log = log
        self._workers: dict[int, r.RemoteArrived] = {}
        self._arrived: dict[int, r.RemoteArrived] = {}  # and not admitted yet
        self._heard_at = now
        self._pause_s = _FIRST_PAUSE_S
        self._start_at: float | None = None  # when a receiver is started again; None while there is one
        self._load_before = self._load = e.ReceiverSeen(0, 0)
        self._receiver: WatchedChild | None = self._start()

    def __enter__(self) -> RemoteWorkers:
        return self

    def __exit__(self, *_: object) -> None:
        if self._receiver is not None:
            self._receiver.close()

    def has(self, worker: int) -> bool:
        """Return whether a worker is a remote one that has not ended."""
        return worker in self._workers

    def seen(self) -> dict[int, e.Sight]:
        """Return what can be seen of each."""
        return {worker: e.Sight(came.pid) for worker, came in self._workers.items()}

    # ---- the receiver

    def hear(self, message: r.FromReceiver, now: float) -> list[e.Event]:
        """Take in what a receiver says; what one says that has ended means nothing."""
        match message:
            case r.RemoteArrived(arrival):
                if arrival // ARRIVALS != self._options.receiver or self._receiver is None:
                    return []
                self._arrived[arrival] = message
                return [e.RemoteCame(arrival, message.node)]
            case r.RemoteEnded(worker, cause):
                known = self._workers.pop(worker, None)
                return [] if known is None else [e.WorkerExited(worker, cause)]
            case r.RemoteRejected(line):
                self._log.write(Note(line))
                return []
            case r.ReceiverLoad(cpu_ms, received_bytes):
                self._heard_at, self._pause_s = now, _FIRST_PAUSE_S
                before = self._load_before
                self._load = e.ReceiverSeen(before.cpu_ms + cpu_ms, before.received_bytes + received_bytes)
                return [self._load]

    def carry_out(self, effect: do.PlaceRemote | do.AdmitRemote | do.DismissRemote) -> list[e.Event]:
        """Do what the core says; return what comes of it at once."""
        match effect:
            case do.PlaceRemote(workers):
                self._placement.place(workers)
            case do.AdmitRemote(arrival, worker):
                came = self._arrived.pop(arrival, None)
                if came is None:  # its receiver has ended since
                    return [e.WorkerExited(worker, "was gone before it had a task")]
                self._workers[worker] = came
                self._say(r.AdmitArrival(arrival, worker))
            case do.DismissRemote(arrival):
                if self._arrived.pop(arrival, None) is not None:
                    self._say(r.DismissArrival(arrival))
        return []

    def stopping(self) -> None:
        """Take note that the service ends."""
        self._placement.stopping()

    def fence(self, worker: int) -> None:
        """Have a worker let go; its end is reported by `hear`, or by `ended`."""
        self._say(r.FenceRemote(worker))

    def ended(self) -> Iterator[tuple[int, str]]:
        """Yield the workers that have ended with their receiver, each with its cause; looks after both children."""
        self._placement.listen()
        receiver = self._receiver
        if receiver is None:
            return
        receiver.log_words()
        if receiver.code is None:
            return
        cause = receiver.bury()
        self._receiver, self._start_at = None, self._heard_at + self._pause_s
        self._pause_s = min(max(0.2, 2 * self._pause_s), _LAST_PAUSE_S)
        self._load_before = self._load
        self._arrived.clear()
        lost, self._workers = list(self._workers), {}
        if not lost:
            self._log.write(Note(f"the receiver of remote workers' rows {cause}"))
        for worker in lost:
            yield worker, f"was lost with the receiver of its rows, which {cause}"

    def next_deadline(self) -> float | None:
        """Return when `tick` has something to do."""
        own = self._start_at if self._receiver is None else self._heard_at + _SILENCE_S
        deadline = min(math.inf if own is None else own, self._placement.next_deadline() or math.inf)
        return None if deadline == math.inf else deadline

    def tick(self, now: float) -> None:
        """Start what has ended, and kill what hangs."""
        self._placement.tick(now)
        if self._receiver is None and self._start_at is not None and self._start_at <= now:
            self._options = replace(self._options, receiver=self._options.receiver + 1)
            self._heard_at = now
            try:
                self._receiver = self._start()
            except OSError as error:
                self._start_at = now + _LAST_PAUSE_S
                self._log.write(Note(f"the receiver of remote workers' rows cannot be started: {error}"))
        elif self._receiver is not None and now - self._heard_at > _SILENCE_S:
            self._heard_at = now
            self._log.write(Note(f"the receiver of remote workers' rows was silent for {_SILENCE_S:g} s; it is killed"))
            self._receiver.kill()

    # ---- inside

    def _say(self, message: r.ToReceiver) -> None:
        self._socket.post(b"receiver-%d" % self._options.receiver, message)

    def _start(self) -> WatchedChild:
        child = WatchedChild(
            command("loader_service.remote.receiver", str(os.getpid())),
            environment(**ONE_THREAD, **KEEPS_MEMORY),
            "receiver",
            self._watched,
            stdin=subprocess.PIPE,
            pass_fds=(self._options.descriptor,),
        )
        os.write(child.stdin, line_of(self._options))
        return child
