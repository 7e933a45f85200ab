"""Worker processes: started, watched, killed, reaped; knows nothing of their work.

Each worker is watched through a pidfd, so its end wakes the daemon's loop like any message, and through the pipes that
take its standard error, whose last line tells why it ended, and its standard output, where a user's code prints.
"""

from __future__ import annotations

import select
from collections.abc import Iterator
from dataclasses import replace
from typing import NamedTuple

from loader_service.children import ONE_THREAD, SAME_EVERYWHERE, command, environment
from loader_service.daemon.memory import OwnMemory
from loader_service.daemon.watched_child import WatchedChild
from loader_service.lifeline import arguments_for
from loader_service.oom import OomWatch
from loader_service.progress import ProgressBoard
from loader_service.worker_options import WorkerOptions


class _Process(NamedTuple):
    child: WatchedChild
    memory: OwnMemory


class Pool:
    """The processes of the workers; a context manager that leaves none alive.

    Used by the daemon's main thread only: the kernel ties a worker's life to the thread that started it.

    Parameters
    ----------
    watched
        Becomes ready when `reap` or `listen` has something to do. Closed descriptors leave it by themselves.
    options
        What workers are told; the number of each is put in.
    """

    def __init__(self, watched: select.epoll, options: WorkerOptions) -> None:
        self._watched = watched
        self._options = options
        self._board = ProgressBoard()
        self._processes: dict[int, _Process] = {}
        self._oom = OomWatch()

    def __enter__(self) -> Pool:
        return self

    def __exit__(self, *_: object) -> None:
        for process in self._processes.values():
            process.child.kill()
        for process in self._processes.values():
            process.child.close()
            process.memory.close()
        self._board.__exit__()

    def __len__(self) -> int:
        return len(self._processes)

    @property
    def workers(self) -> list[int]:
        """The workers that are not reaped."""
        return list(self._processes)

    def pid(self, worker: int) -> int:
        """Return a worker's pid, 0 when it has ended."""
        process = self._processes.get(worker)
        return process.child.pid if process else 0

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
        options = replace(self._options, worker=worker, progress=self._board.descriptor)
        child = WatchedChild(
            command("loader_service.worker.main", *arguments_for(options)),
            {**SAME_EVERYWHERE, **environment(**ONE_THREAD)},
            f"worker {worker}",
            self._watched,
            pass_fds=tuple(each for each in (options.progress, options.frames_counts) if each is not None),
            oom=self._oom,
        )
        try:
            self._processes[worker] = _Process(child, OwnMemory(child.pid))
        except OSError:
            child.close()
            raise

    def kill(self, worker: int) -> None:
        """Kill a worker process; its end is reported by `reap`."""
        process = self._processes.get(worker)
        if process is not None:
            process.child.kill()

    def listen(self) -> None:
        """Log what workers wrote to their standard error and output."""
        for process in self._processes.values():
            process.child.log_words()

    def reap(self) -> Iterator[tuple[int, str]]:
        """Yield the workers that have ended, each with its cause; from then on they cannot write anywhere."""
        for worker, process in list(self._processes.items()):
            if process.child.code is not None:
                del self._processes[worker]
                process.memory.close()
                yield worker, process.child.bury()
