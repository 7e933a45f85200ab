"""Turns signals, and the end of the process that this one serves, into a readable descriptor and a reason to stop."""

from __future__ import annotations

import os
import select
import signal
import socket

from loader_service.errors import ConfigError

_STOPPING = (signal.SIGTERM, signal.SIGINT)


class StopSignals:
    """Watches for SIGTERM, SIGINT and the end of another process; a context manager that puts the old handlers back.

    The first signal is taken by the loop, which drains. The second one ends the process at once: the kernel then ends
    its workers, and the next service on this host removes the segments.

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
        self._received, self._sender = socket.socketpair()
        for each in (self._received, self._sender):
            each.setblocking(False)
        watched.register(self._received, select.EPOLLIN)
        if self._lifeline is not None:
            watched.register(self._lifeline, select.EPOLLIN)

    def __enter__(self) -> StopSignals:
        # The descriptor comes first: a signal that arrives between the two must reach the loop.
        self._old_wakeup = signal.set_wakeup_fd(self._sender.fileno(), warn_on_full_buffer=False)
        self._old_handlers = {number: signal.signal(number, self._caught) for number in _STOPPING}
        return self

    def __exit__(self, *_: object) -> None:
        signal.set_wakeup_fd(self._old_wakeup)
        for number, handler in self._old_handlers.items():
            signal.signal(number, handler)
        self._received.close()
        self._sender.close()
        if self._lifeline is not None:
            os.close(self._lifeline)

    def take(self, ready: set[int]) -> str:
        """Return why to stop, or an empty text; `ready` are the descriptors that became readable."""
        if self._received.fileno() in ready:
            numbers = [number for number in self._received.recv(4096) if number in _STOPPING]
            if numbers:
                return signal.Signals(numbers[0]).name
        if self._lifeline is not None and self._lifeline in ready:
            return f"process {self._lifeline_pid}, which it served, has ended"
        return ""

    def _caught(self, _number: int, _frame: object) -> None:
        """Leave the first signal to the loop, which is woken by the descriptor; let a second one end the process."""
        for each in _STOPPING:
            signal.signal(each, signal.SIG_DFL)


def _open_pidfd(pid: int) -> int:
    try:
        return os.pidfd_open(pid)
    except (OSError, OverflowError) as error:
        raise ConfigError(f"cannot watch process {pid}, which this service is to serve: {error}") from error
