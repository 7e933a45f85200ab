"""Turns signals, and the end of the process that this one serves, into a readable descriptor and a reason to stop."""

from __future__ import annotations

import os
import select
import signal
import socket
from collections.abc import Callable
from types import FrameType

from loader_service.errors import ConfigError

_ASKED = (signal.SIGTERM, signal.SIGINT)
#: With what a terminal sends when it is closed, and for Ctrl-\; left alone where ignored, as after ``nohup``.
_STOPPING = (*_ASKED, signal.SIGHUP, signal.SIGQUIT)


class SignalReader:
    """Has the numbers of signals written to a descriptor; a context manager that puts the old handlers back.

    A handler runs in the middle of whatever the thread is at, so it may take no lock and touch little. What a signal
    asks for is done by who reads its number.

    Parameters
    ----------
    handler
        Called with SIGTERM, SIGINT, SIGHUP and SIGQUIT, as `signal.signal` does.
    """

    def __init__(self, handler: Callable[[int, FrameType | None], object]) -> None:
        self._handler = handler
        self._received, self._sender = socket.socketpair()
        for each in (self._received, self._sender):
            each.setblocking(False)

    def __enter__(self) -> SignalReader:
        # The descriptor comes first: a signal that arrives between the two must be read.
        self._old_wakeup = signal.set_wakeup_fd(self._sender.fileno(), warn_on_full_buffer=False)
        self._old_handlers = {
            number: signal.signal(number, self._handler)
            for number in _STOPPING
            if number in _ASKED or signal.getsignal(number) is not signal.SIG_IGN
        }
        return self

    def __exit__(self, *_: object) -> None:
        signal.set_wakeup_fd(self._old_wakeup)
        for number, handler in self._old_handlers.items():
            signal.signal(number, handler)
        self._received.close()
        self._sender.close()

    def fileno(self) -> int:
        """Return the descriptor that is readable when there are numbers."""
        return self._received.fileno()

    def numbers(self) -> bytes:
        """Return what has been written; to be called when there is something."""
        return self._received.recv(4096)


class StopSignals:
    """Watches for signals to stop and the end of another process; a context manager that puts the old handlers back.

    The first signal is taken by the loop, which drains. The second one ends the process at once: the kernel then ends
    its workers, and the next service on this host removes the segments. A terminal that is closed may send several
    SIGHUP: those after the first one end nothing.

    Parameters
    ----------
    watched
        Becomes ready when `take` has something to say.
    lifeline_pid
        A process whose end is a reason to stop; 0 for none.

    Raises
    ------
    ConfigError
        When that process has ended already.
    """

    def __init__(self, watched: select.epoll, lifeline_pid: int) -> None:
        self._lifeline = _open_pidfd(lifeline_pid) if lifeline_pid else None
        self._lifeline_pid = lifeline_pid
        self._signals = SignalReader(_end_at_the_next)
        watched.register(self._signals, select.EPOLLIN)
        if self._lifeline is not None:
            watched.register(self._lifeline, select.EPOLLIN)

    def __enter__(self) -> StopSignals:
        self._signals.__enter__()
        return self

    def __exit__(self, *_: object) -> None:
        self._signals.__exit__()
        if self._lifeline is not None:
            os.close(self._lifeline)

    def take(self, ready: set[int]) -> str:
        """Return why to stop, or an empty text; `ready` are the descriptors that became readable."""
        if self._signals.fileno() in ready:
            numbers = [number for number in self._signals.numbers() if number in _STOPPING]
            if numbers:
                return signal.Signals(numbers[0]).name
        if self._lifeline is not None and self._lifeline in ready:
            return f"process {self._lifeline_pid}, which it served, has ended"
        return ""


def _end_at_the_next(_number: int, _frame: FrameType | None) -> None:
    """Leave the first signal to the loop, which is woken by the descriptor; let a second one end the process."""
    for each in (*_ASKED, signal.SIGQUIT):
        signal.signal(each, signal.SIG_DFL)
    signal.signal(signal.SIGHUP, signal.SIG_IGN)


def _open_pidfd(pid: int) -> int:
    try:
        return os.pidfd_open(pid)
    except (OSError, OverflowError) as error:
        raise ConfigError(f"cannot watch process {pid}, which this service is to serve: {error}") from error
