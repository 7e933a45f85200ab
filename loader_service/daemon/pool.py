"""Worker processes: started, watched, killed, reaped; knows nothing of their work.

Each worker is watched through a pidfd, so its end wakes the daemon's loop like any message, and through the pipes that
take its standard error, whose last line tells why it ended, and its standard output, where a user's code prints.
"""

from __future__ import annotations

import contextlib
import logging
import os
import select
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass

from loader_service.children import ONE_THREAD, SAME_EVERYWHERE, cause_of_end, command, environment
from loader_service.daemon.memory import OwnMemory
from loader_service.daemon.words import Words
from loader_service.oom import OomWatch
from loader_service.progress import ProgressBoard

_LOG = logging.getLogger(__name__)


@dataclass
class _Process:
    worker: int
    popen: subprocess.Popen[bytes]
    pidfd: int
    memory: OwnMemory
    errors: Words
    prints: Words

    @property
    def last_words(self) -> str:
        """What it said last; of its errors, if it said any."""
        return self.errors.last or self.prints.last


class Pool:
    """The processes of the workers; a context manager that leaves none alive.

    Used by the daemon's main thread only: the kernel ties a worker's life to the thread that started it.

    Parameters
    ----------
    watched
        Becomes ready when `reap` or `listen` has something to do. Closed descriptors leave it by themselves.
    arguments
        What all workers are told on their command line.
    """

    def __init__(self, watched: select.epoll, arguments: Sequence[str]) -> None:
        self._watched = watched
        self._arguments = arguments
        self._board = ProgressBoard()
        self._processes: dict[int, _Process] = {}
        self._oom = OomWatch()

    def __enter__(self) -> Pool:
        return self

    def __exit__(self, *_: object) -> None:
        for process in self._processes.values():
            process.popen.kill()
        for worker in list(self._processes):
            self._processes[worker].popen.wait()
            self._forget(worker)
        self._board.__exit__()

    def __len__(self) -> int:
        return len(self._processes)

    def pid(self, worker: int) -> int:
        """Return a worker's pid, 0 when it has ended."""
        process = self._processes.get(worker)
        return process.popen.pid if process else 0

    def progress(self, worker: int) -> tuple[int, int]:
        """Return the task and the sample that a worker came to last, as far as it told."""
        return self._board.read(worker)

    def own_bytes(self, worker: int) -> int:
        """Return how much memory a worker has of its own, 0 when it has ended."""
        process = self._processes.get(worker)
        return process.memory.bytes_now() if process else 0

    def start(self, worker: int) -> None:
        """Start a worker process.

        Raises
        ------
        OSError
            When the system has no process, memory or descriptor left for it.
        """
        arguments = ["--worker", str(worker), "--parent-pid", str(os.getpid()), *self._arguments]
        arguments += ["--progress", str(self._board.descriptor)]
        popen = subprocess.Popen(
            command("loader_service.worker.main", *arguments),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env={**SAME_EVERYWHERE, **environment(**ONE_THREAD)},
            start_new_session=True,  # Ctrl-C at the terminal is the daemon's to act on
            pass_fds=(self._board.descriptor,),
        )
        with ExitStack() as undone:  # no descriptor left: there must be no worker whose end nobody would see
            undone.callback(popen.communicate)
            undone.callback(popen.kill)
            assert popen.stdout is not None  # noqa: S101 - they are pipes
            assert popen.stderr is not None  # noqa: S101
            errors = Words(popen.stderr.fileno(), f"worker {worker}", logging.WARNING)
            prints = Words(popen.stdout.fileno(), f"worker {worker}", logging.INFO)
            pidfd = os.pidfd_open(popen.pid)
            undone.callback(os.close, pidfd)
            process = _Process(worker, popen, pidfd, OwnMemory(popen.pid), errors, prints)
            undone.pop_all()
        self._processes[worker] = process
        for descriptor in (pidfd, errors.descriptor, prints.descriptor):
            self._watched.register(descriptor, select.EPOLLIN)

    def kill(self, worker: int) -> None:
        """Kill a worker process; its end is reported by `reap`."""
        process = self._processes.get(worker)
        if process is not None:
            process.popen.kill()

    def listen(self) -> None:
        """Log what workers wrote to their standard error and output."""
        for process in self._processes.values():
            self._read(process)

    def reap(self) -> Iterator[tuple[int, str]]:
        """Yield the workers that have ended, each with its cause; from then on they cannot write anywhere."""
        for worker, process in list(self._processes.items()):
            if process.popen.poll() is not None:
                for words in (process.prints, process.errors):
                    words.end()
                code = process.popen.returncode
                # Words of a worker that was killed may be an hour old, and tell nothing of that.
                cause = cause_of_end(code, process.last_words if code >= 0 else "", self._oom.explain(code))
                self._forget(worker)
                yield worker, cause

    def _read(self, process: _Process) -> None:
        for words in (process.prints, process.errors):
            if not words.read():  # closed at the other end: an epoll would report that for ever
                with contextlib.suppress(FileNotFoundError):
                    self._watched.unregister(words.descriptor)

    def _forget(self, worker: int) -> None:
        process = self._processes.pop(worker)
        os.close(process.pidfd)
        process.memory.close()
        for pipe in (process.popen.stdout, process.popen.stderr):
            if pipe is not None:
                pipe.close()
