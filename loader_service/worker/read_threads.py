"""Threads that read: as many as reads are under way, up to a bound. Knows no file.

The standard library's executor takes twice as much of the caller's time: each of its futures has a condition, and it
counts the threads that are idle.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from queue import SimpleQueue
from typing import Any


class ThreadRead:
    """A read that a thread does.

    Parameters
    ----------
    read
        Called by that thread.
    after
        Called once it has ended, by that thread, or was cancelled, by who did that.

    Attributes
    ----------
    runs
        Held until it has ended.
    seconds
        How long it took; once it has ended.
    """

    def __init__(self, read: Callable[[], Any], after: Callable[[], object]) -> None:
        self._read: Callable[[], Any] | None = read
        self._after = after
        self._claim = threading.Lock()  # held by who has begun it, or cancelled it
        self.runs = threading.Lock()
        self.runs.acquire()
        self._result: Any = None
        self._error: Exception | None = None
        self.seconds = 0.0

    def cancel(self) -> None:
        """Let go of it, unless a thread has begun it."""
        if self._claim.acquire(blocking=False):
            self._end()

    def result(self, patience_s: float) -> Any:
        """Return what was read; asked for by one thread.

        Raises
        ------
        TimeoutError
            When it has not ended in time; it is an OSError.
        Exception
            What the read raised.
        """
        if not self.runs.acquire(timeout=patience_s):
            raise TimeoutError(f"a read ahead has not ended within {patience_s:g} s")
        self.runs.release()
        if self._error is not None:
            raise self._error
        return self._result

    def run(self) -> None:
        """Read, unless it was cancelled; called by the thread."""
        read = self._read
        if read is None or not self._claim.acquire(blocking=False):
            return
        began = time.monotonic()
        try:
            self._result = read()
        except Exception as error:  # noqa: BLE001 - raised where the result is asked for
            self._error = error
        self.seconds = time.monotonic() - began
        self._end()

    def _end(self) -> None:
        self._read = None
        self.runs.release()
        self._after()


class ReadThreads:
    """Threads that begin reads in the order in which they come; used by one thread.

    Parameters
    ----------
    most
        Threads, at the most.
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self._queue: SimpleQueue[ThreadRead | None] = SimpleQueue()
        self._under_way: list[threading.Lock] = []  # and not the reads: each holds what it has read
        self._started = 0

    def begin(self, read: ThreadRead) -> None:
        """Have a thread do a read as soon as one is free."""
        self._queue.put(read)
        if self._started == self._most:
            return
        if len(self._under_way) >= self._started:
            self._under_way = [each for each in self._under_way if each.locked()]
        self._under_way.append(read.runs)
        if len(self._under_way) > self._started:
            self._started += 1
            # An interpreter that ends waits for no disk.
            threading.Thread(target=_serve, args=(self._queue,), name=f"read-{self._started}", daemon=True).start()

    def close(self) -> None:
        """End the threads that have nothing to do; the others end after their reads."""
        for _ in range(self._started):
            self._queue.put(None)
        self._started = 0
        self._under_way.clear()


def _serve(queue: SimpleQueue[ThreadRead | None]) -> None:
    while (read := queue.get()) is not None:
        read.run()
        del read  # it may hold much memory, and the next one may take long to come
