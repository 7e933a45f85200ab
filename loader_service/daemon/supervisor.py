"""Keeps a service running: starts it, and starts it again when it dies; knows nothing of what it serves."""

from __future__ import annotations

import logging
import os
import time
from collections.abc import Sequence
from types import FrameType

from loader_service.children import Child, environment, readable
from loader_service.daemon.restarts import Restarts
from loader_service.daemon.signals import SignalReader
from loader_service.start_command import start_words

_LOG = logging.getLogger(__name__)

#: A service that lived for less than this died of something that a restart does not mend, in seconds: it had hardly
#: begun to serve.
_LONG_LIFE_S = 3.0

#: Restarts after short lives in a row, and the pauses before them, in seconds.
_MOST_RESTARTS, _FIRST_PAUSE_S, _LAST_PAUSE_S = 4, 0.2, 5.0


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

    def run(self) -> int:
        """Return the exit code of the service's last life: 0 after a stop that was asked for. To be called once.

        A usage or configuration error (code 2) is final, as are several short lives in a row.
        """
        with self._signals:
            return self._keep_alive()

    def _keep_alive(self) -> int:
        restarts = Restarts(_MOST_RESTARTS, _LONG_LIFE_S)
        while True:
            born = time.monotonic()
            code, cause = self._live()
            if self._is_stopping or code in (0, 2) or not restarts.allow(time.monotonic() - born):
                if code < 0 and not self._is_stopping:
                    _LOG.error("the service %s, and is not started again", cause)
                return max(code, 1) if code else 0
            pause_s = min(_FIRST_PAUSE_S * 2 ** (restarts.in_a_row - 1), _LAST_PAUSE_S)
            _LOG.warning("the service %s; starting it again in %.1f s", cause, pause_s)
            if readable([self._signals.fileno()], pause_s):
                return 0

    def _live(self) -> tuple[int, str]:
        """Start the service and pass signals on to it; return the code that it ended with, and how that came."""
        words = start_words({"lifeline_pid": str(os.getpid())}, self._arguments)
        with Child(words, environment(), stdin=None, output=None) as child:  # what it says goes where this one's goes
            while child.code is None:
                if self._signals.fileno() in child.listen(None, self._signals.fileno()):
                    self._is_stopping = True
                    for number in self._signals.numbers():
                        child.send(number)
            return child.code, child.cause()


def _leave_to_descriptor(_number: int, _frame: FrameType | None) -> None:
    """Do nothing: a signal without a handler would not be written to the descriptor."""
