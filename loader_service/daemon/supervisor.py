"""Keeps a service running: starts it, and starts it again when it dies; knows nothing of what it serves."""

from __future__ import annotations

import logging
import os
import select
import subprocess
import time
from collections.abc import Sequence
from types import FrameType

from loader_service.children import command, environment, signal_name
from loader_service.daemon.signals import SignalReader
from loader_service.oom import OomWatch

_LOG = logging.getLogger(__name__)

#: A service that lived for less than this died of something that a restart does not mend, in seconds: it had hardly
#: begun to serve.
_LONG_LIFE_S = 3.0

#: Short lives in a row after which the supervisor gives up, and the pauses before restarts, in seconds.
_MOST_SHORT_LIVES, _FIRST_PAUSE_S, _LAST_PAUSE_S = 5, 0.2, 5.0


class Supervisor:
    """Runs one service command until it ends as asked.

    Signals are read from a descriptor, like the end of the service: a handler that took a lock, or touched the process,
    would run in the middle of whatever this thread is at.

    Parameters
    ----------
    arguments
        Of ``loader-service start``, without ``--supervise``.
    """

    def __init__(self, arguments: Sequence[str]) -> None:
        self._arguments = list(arguments)
        self._signals = SignalReader(_leave_to_descriptor)
        self._is_stopping = False
        self._oom = OomWatch()

    def run(self) -> int:
        """Return the exit code of the service's last life: 0 after a stop that was asked for. To be called once.

        A usage or configuration error (code 2) is final, as are several short lives in a row.
        """
        with self._signals:
            return self._keep_alive()

    def _keep_alive(self) -> int:
        short_lives = 0
        while True:
            born = time.monotonic()
            code = self._live()
            cause = _cause(code) + self._oom.explain(code)
            short_lives = short_lives + 1 if time.monotonic() - born < _LONG_LIFE_S else 1
            if self._is_stopping or code in (0, 2) or short_lives >= _MOST_SHORT_LIVES:
                if code < 0 and not self._is_stopping:
                    _LOG.error("the service %s, and is not started again", cause)
                return max(code, 1) if code else 0
            pause_s = min(_FIRST_PAUSE_S * 2 ** (short_lives - 1), _LAST_PAUSE_S)
            _LOG.warning("the service %s; starting it again in %.1f s", cause, pause_s)
            if select.select([self._signals], [], [], pause_s)[0]:
                return 0

    def _live(self) -> int:
        """Start the service, pass signals on to it, and return the code that it ended with."""
        start = command("loader_service.cli", "start", f"--lifeline-pid={os.getpid()}", *self._arguments)
        # A session of its own: Ctrl-C at the terminal comes here once and is passed on once, so the service drains.
        process = subprocess.Popen(start, env=environment(), start_new_session=True)
        pidfd = os.pidfd_open(process.pid)
        try:
            while process.poll() is None:
                ready, _, _ = select.select([self._signals.fileno(), pidfd], [], [])
                if self._signals.fileno() in ready:
                    self._is_stopping = True
                    for number in self._signals.numbers():
                        process.send_signal(number)
        finally:
            os.close(pidfd)
        return process.returncode


def _cause(code: int) -> str:
    return f"ended with code {code}" + (f" ({signal_name(-code)})" if code < 0 else "")


def _leave_to_descriptor(_number: int, _frame: FrameType | None) -> None:
    """Do nothing: a signal without a handler would not be written to the descriptor."""
