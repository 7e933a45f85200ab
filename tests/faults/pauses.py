"""Halts processes for a time; knows nothing of what they are."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def halted_for(pid: int, seconds: float) -> Iterator[None]:
    """Halt a process now, and have it go on after a time, or at the end when that comes first."""
    os.kill(pid, signal.SIGSTOP)
    timer = threading.Timer(seconds, os.kill, (pid, signal.SIGCONT))
    timer.start()
    try:
        yield
    finally:
        timer.cancel()
        timer.join()
        os.kill(pid, signal.SIGCONT)
