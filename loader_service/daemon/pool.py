"""Worker processes: started, watched, killed, reaped; knows nothing of their work.

Each worker is watched through a pidfd, so its end wakes the daemon's loop like any message, and through the pipe that
takes its standard error, whose lines go to the log and whose last one tells why it ended.
"""

from __future__ import annotations

import contextlib
import logging
import os
import select
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass

from loader_service.children import ONE_THREAD, SAME_EVERYWHERE, signal_name
from loader_service.daemon.memory import OwnMemory
from loader_service.oom import OomWatch

_LOG = logging.getLogger(__name__)

#: A line on a worker's standard error that is longer is taken for several.
_LONGEST_LINE_BYTES = 65_536


@dataclass
class _Process:
    worker: int
    popen: subprocess.Popen[bytes]
    pidfd: int
    memory: OwnMemory
    words: int  # descriptor of the pipe from its standard error
    unfinished: bytes = b""  # of a line whose end has not come: a traceback is written piece by piece
    last_words: str = ""


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

    def __len__(self) -> int:
        return len(self._processes)

    def pid(self, worker: int) -> int:
        """Return a worker's pid, 0 when it has ended."""
        process = self._processes.get(worker)
        return process.popen.pid if process else 0

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
        command = [sys.executable, "-m", "loader_service.worker.main"]
        command += ["--worker", str(worker), "--parent-pid", str(os.getpid()), *self._arguments]
        popen = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            env={**SAME_EVERYWHERE, **os.environ, **ONE_THREAD},
            start_new_session=True,  # Ctrl-C at the terminal is the daemon's to act on
        )
        assert popen.stderr is not None  # noqa: S101 - it is a pipe
        with ExitStack() as undone:  # no descriptor left: there must be no worker whose end nobody would see
            undone.callback(popen.communicate)
            undone.callback(popen.kill)
            pidfd = os.pidfd_open(popen.pid)
            undone.callback(os.close, pidfd)
            process = _Process(worker, popen, pidfd, OwnMemory(popen.pid), popen.stderr.fileno())
            undone.pop_all()
        os.set_blocking(process.words, False)
        self._processes[worker] = process
        self._watched.register(process.pidfd, select.EPOLLIN)
        self._watched.register(process.words, select.EPOLLIN)

    def kill(self, worker: int) -> None:
        """Kill a worker process; its end is reported by `reap`."""
        process = self._processes.get(worker)
        if process is not None:
            process.popen.kill()

    def listen(self) -> None:
        """Log what workers wrote to their standard error."""
        for process in self._processes.values():
            self._read(process)

    def reap(self) -> Iterator[tuple[int, str]]:
        """Yield the workers that have ended, each with its cause; from then on they cannot write anywhere."""
        for worker, process in list(self._processes.items()):
            if process.popen.poll() is not None:
                self._read(process)
                _hear(process, process.unfinished)
                code = process.popen.returncode
                cause = _cause(code, process.last_words) + self._oom.explain(code)
                self._forget(worker)
                yield worker, cause

    def _read(self, process: _Process) -> None:
        while True:
            try:
                text = os.read(process.words, 65_536)
            except BlockingIOError:
                return
            if not text:  # closed at the other end: nothing more will come, and an epoll would report that for ever
                with contextlib.suppress(FileNotFoundError):
                    self._watched.unregister(process.words)
                return
            *lines, process.unfinished = (process.unfinished + text).split(b"\n")
            if len(process.unfinished) > _LONGEST_LINE_BYTES:
                lines.append(process.unfinished)
                process.unfinished = b""
            for line in lines:
                _hear(process, line)

    def _forget(self, worker: int) -> None:
        process = self._processes.pop(worker)
        os.close(process.pidfd)
        process.memory.close()
        if process.popen.stderr is not None:
            process.popen.stderr.close()


def _hear(process: _Process, line: bytes) -> None:
    words = line.decode("utf-8", "replace").rstrip()
    if words:
        process.last_words = words.strip()[:500]
        _LOG.warning("worker %d says: %s", process.worker, words)


def _cause(code: int, last_words: str) -> str:
    if code < 0:
        return f"was killed by {signal_name(-code)}"
    if last_words:
        return f"exited with code {code}: {last_words}"
    return f"exited with code {code}"
