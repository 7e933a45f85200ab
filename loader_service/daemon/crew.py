"""The workers as the loop deals with them: who can be told something, who is leaving, who takes too much memory."""

from __future__ import annotations

import logging
import time
from collections.abc import Iterator

from loader_service.config import ServiceConfig
from loader_service.daemon.journal import Journal
from loader_service.daemon.pool import Pool
from loader_service.daemon.sockets import Router
from loader_service.daemon.weights import Weights
from loader_service.protocol import messages as m

_LOG = logging.getLogger(__name__)


class Crew:
    """The workers' processes, and what is said to them. Used by the daemon's one thread.

    Parameters
    ----------
    pool
        The processes.
    socket
        Carries the messages.
    config
        Its `worker_memory` bounds each, and it says whether they run code of a user's own.
    journal
        Gets what goes wrong with them.
    """

    def __init__(self, pool: Pool, socket: Router[m.FromWorker], config: ServiceConfig, journal: Journal) -> None:
        self._pool = pool
        self._socket = socket
        self._journal = journal
        self._runs_users_code = config.source is not None or config.transform is not None
        self._connected: set[int] = set()  # can be sent messages
        self._dismissed: set[int] = set()  # were told to leave: their end is no fault
        self._weights = Weights(config.worker_memory)

    @property
    def staying(self) -> set[int]:
        """The workers that can be given something to do."""
        return self._connected - self._dismissed

    def tell(self, worker: int, message: m.ToWorker) -> None:
        """Say something to a worker with the next flush of the socket."""
        self._socket.post(b"worker-%d" % worker, message)

    def tell_all(self, message: m.ToWorker) -> None:
        """Say something to all workers that are there."""
        for worker in self._connected:
            self.tell(worker, message)

    def start(self, worker: int) -> str | None:
        """Start a worker; return why that was not possible, None when it was."""
        try:
            self._pool.start(worker)
        except OSError as error:
            self._journal.note(f"worker {worker} could not be started: {error}")
            return f"could not be started: {error}"
        return None

    def arrived(self, worker: int) -> bool:
        """Take in a worker that is ready for tasks; return False when it has ended since, so that nobody waits for it.

        Its end is seen through another descriptor than its words, and whichever came first may be looked at last.
        """
        if not self._pool.pid(worker):
            _LOG.info("worker %d was heard after its end", worker)
            return False
        self._connected.add(worker)
        # What a user's code holds from the start is its own affair.
        held = self._pool.own_bytes(worker) if self._runs_users_code else 0
        self._weights.begins(worker, time.monotonic(), held)
        return True

    def dismiss(self, worker: int) -> None:
        """Have a worker end when it is done with its tasks."""
        self._dismissed.add(worker)
        if worker in self._connected:
            self.tell(worker, m.Drain())
        else:
            self._pool.kill(worker)

    def kill(self, worker: int, line: str) -> None:
        """Kill a worker, and note why."""
        self._journal.note(line)
        self._pool.kill(worker)

    def ended(self) -> Iterator[tuple[int, str]]:
        """Yield the workers that have ended, each with its cause, after hearing what all of them wrote to be logged."""
        self._pool.listen()
        for worker, cause in self._pool.reap():
            self._connected.discard(worker)
            self._weights.ends(worker)
            if worker not in self._dismissed:
                self._journal.note(f"worker {worker} {cause}")
            self._dismissed.discard(worker)
            yield worker, cause

    def overweight(self, now: float) -> Iterator[int]:
        """Note which workers have grown too large since they were last looked at; yield those to be replaced."""
        for worker in sorted(self._connected):
            verdict = self._weights.judge(worker, self._pool.own_bytes(worker), now)
            if verdict is not None:
                self._journal.note(verdict.line)
                if verdict.is_replaced:
                    yield worker
