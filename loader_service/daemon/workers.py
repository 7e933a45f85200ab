"""The workers as the loop deals with them: started, told things, weighed, killed and reaped."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from loader_service.core.effects import Note
from loader_service.core.events import Sight
from loader_service.daemon.pool import Pool
from loader_service.daemon.remote_workers import RemoteWorkers
from loader_service.daemon.service_log import ServiceLog
from loader_service.daemon.sockets import Router
from loader_service.protocol import messages as m
from loader_service.record_class import record

#: A worker that is as heavy as the one before it within this time, in seconds, shows what its work takes, not a leak.
_LEAST_LIFE_S = 60.0


class Workers:
    """The workers' processes, and what is said to them. Used by the daemon's one thread.

    Parameters
    ----------
    pool
        The processes.
    socket
        Carries the messages.
    limit_bytes
        What each may have of its own, at first.
    runs_users_code
        Whether they run a user's code, and so may hold memory from the start.
    log
        Gets what goes wrong with them.
    remote
        Those on other hosts; None without a cluster.
    """

    def __init__(
        self,
        pool: Pool,
        socket: Router[Any],
        limit_bytes: int,
        log: ServiceLog,
        *,
        runs_users_code: bool,
        remote: RemoteWorkers | None = None,
    ) -> None:
        self._pool = pool
        self.remote = remote
        self._socket = socket
        self._log = log
        self._runs_users_code = runs_users_code
        self._weights = Weights(limit_bytes)

    def __len__(self) -> int:
        return len(self._pool)

    def tell(self, worker: int, message: m.ToWorker) -> None:
        """Say something to a worker with the next flush of the socket."""
        self._socket.post(b"worker-%d" % worker, message)

    def start(self, worker: int) -> str:
        """Start a worker; return why that was not possible, "" when it was."""
        try:
            self._pool.start(worker)
        except OSError as error:
            return f"could not be started: {error}"
        return ""

    def arrived(self, worker: int, now: float) -> None:
        """Begin to weigh a worker that is ready for tasks."""
        if self._pool.pid(worker):
            self._weights.begins(worker, now, self._pool.own_bytes(worker) if self._runs_users_code else 0)

    def kill(self, worker: int) -> None:
        """Kill a worker, or have a remote one fenced; its end is reported by `ended`."""
        if self.remote is not None and self.remote.has(worker):
            self.remote.fence(worker)
        else:
            self._pool.kill(worker)

    def ended(self) -> Iterator[tuple[int, str]]:
        """Yield the workers that have ended, each with its cause, after hearing what all of them wrote to be logged."""
        self._pool.listen()
        for worker, cause in self._pool.reap():
            self._weights.ends(worker)
            yield worker, cause
        if self.remote is not None:
            yield from self.remote.ended()

    def overweight(self, now: float) -> Iterator[int]:
        """Note which workers have grown too large since they were last looked at; yield those to be replaced."""
        for worker in self._weights.workers:
            verdict = self._weights.judge(worker, self._pool.own_bytes(worker), now)
            if verdict is not None:
                self._log.write(Note(verdict.line))
                if verdict.is_replaced:
                    yield worker

    def weights(self) -> list[int]:
        """Return how much memory each worker has of its own, in bytes."""
        return [self._pool.own_bytes(each) for each in self._pool.workers]

    def seen(self) -> dict[int, Sight]:
        """Return what can be seen of each worker."""
        here = {each: Sight(self._pool.pid(each), *self._pool.progress(each)) for each in self._pool.workers}
        return here if self.remote is None else {**here, **self.remote.seen()}


@record(frozen=True)
class Verdict:
    """What is to be noted of a worker that is too heavy, and whether it is to be replaced."""

    line: str
    is_replaced: bool


@dataclass
class _Weighed:
    since: float
    bytes_at_start: int
    is_replaced: bool = False


class Weights:
    """The workers' memory of their own, and how much of it each may have.

    A worker that grows is replaced by a fresh one, since HDF5 does not give back all that it takes. Where the fresh one
    is too heavy as well, as soon as it works, replacing it would go on for ever: a source that loads its data with its
    first item is such a case. Then all workers may have twice as much.

    Parameters
    ----------
    limit_bytes
        What a worker may have at first.
    """

    def __init__(self, limit_bytes: int) -> None:
        self._limit_bytes = limit_bytes
        self._replaced_any = False
        self._workers: dict[int, _Weighed] = {}

    @property
    def workers(self) -> list[int]:
        """Those that are weighed."""
        return sorted(self._workers)

    def begins(self, worker: int, now: float, bytes_at_start: int = 0) -> None:
        """Take in a worker; what it has at its start is not counted."""
        self._workers[worker] = _Weighed(now, bytes_at_start)

    def ends(self, worker: int) -> None:
        """Forget a worker."""
        self._workers.pop(worker, None)

    def judge(self, worker: int, own_bytes: int, now: float) -> Verdict | None:
        """Return what there is to say of a worker that has so much; None while all is well, or all is said."""
        known = self._workers[worker]
        own, limit = own_bytes - known.bytes_at_start, self._limit_bytes
        if known.is_replaced or own <= limit:
            return None
        if self._replaced_any and now - known.since < _LEAST_LIFE_S:
            self._limit_bytes = 2 * own
            return Verdict(
                f"worker {worker} has {own} bytes of its own, more than {limit}, as soon as it works, like the one "
                f"before it; workers are now replaced above {2 * own} bytes: raise --worker-memory",
                is_replaced=False,
            )
        known.is_replaced = self._replaced_any = True
        line = f"worker {worker} has {own} bytes of its own, more than --worker-memory={limit}; replacing it"
        return Verdict(line, is_replaced=True)
