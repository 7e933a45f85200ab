"""Tells whether the caller is the main thread, in one call of Python's, where `threading` takes four."""

from __future__ import annotations

import os
import threading


class _MainThread:
    """The number of the main thread, which in a forked child is that of the thread that forked."""

    def __init__(self) -> None:
        self.number = threading.main_thread().ident

    def forked(self) -> None:
        """Take note of a fork, in the child."""
        self.number = threading.get_ident()


_MAIN = _MainThread()
os.register_at_fork(after_in_child=_MAIN.forked)


def is_main_thread() -> bool:
    """Tell whether the caller is the main thread, where signal handlers run."""
    return threading.get_ident() == _MAIN.number
