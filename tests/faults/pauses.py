"""Halts processes for a time; knows nothing of what they are."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager


@contextmanager
def halted_for(pid: int, seconds: float, until: Callable[[], object] = lambda: True) -> Iterator[None]:
    """Halt a process now; it goes on after a time, once something is true, or at the end when that comes first."""
    over = threading.Event()

    def wait() -> None:
        over.wait(seconds)
        while not over.is_set() and not until():
            over.wait(0.02)
        os.kill(pid, signal.SIGCONT)

    thread = threading.Thread(target=wait)
    os.kill(pid, signal.SIGSTOP)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()
