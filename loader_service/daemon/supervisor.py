"""Keeps a service running: starts it, and starts it again when it dies; knows nothing of what it serves."""

from __future__ import annotations

import logging
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Sequence

_LOG = logging.getLogger(__name__)

#: A service that lived for less than this died of something that a restart does not mend, in seconds: it had hardly
#: begun to serve.
_LONG_LIFE_S = 3.0

#: Short lives in a row after which the supervisor gives up, and the pauses before restarts, in seconds.
_MOST_SHORT_LIVES, _FIRST_PAUSE_S, _LAST_PAUSE_S = 5, 0.2, 5.0


class Supervisor:
    """Runs one service command until it ends as asked.

    Parameters
    ----------
    arguments
        Of ``loader-service start``, without ``--supervise``.
    """

    def __init__(self, arguments: Sequence[str]) -> None:
        self._arguments = list(arguments)
        self._process: subprocess.Popen[bytes] | None = None
        self._stop = threading.Event()

    def run(self) -> int:
        """Return the exit code of the service's last life: 0 after a stop that was asked for.

        A usage or configuration error (code 2) is final, as are several short lives in a row.
        """
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, self._pass_on)
        short_lives = 0
        while True:
            born = time.monotonic()
            code = self._live()
            short_lives = short_lives + 1 if time.monotonic() - born < _LONG_LIFE_S else 1
            if self._stop.is_set() or code in (0, 2) or short_lives >= _MOST_SHORT_LIVES:
                return max(code, 1) if code else 0
            pause_s = min(_FIRST_PAUSE_S * 2 ** (short_lives - 1), _LAST_PAUSE_S)
            _LOG.warning("the service ended with code %d; starting it again in %.1f s", code, pause_s)
            if self._stop.wait(pause_s):
                return 0

    def _live(self) -> int:
        command = [sys.executable, "-m", "loader_service", "start", f"--lifeline-pid={os.getpid()}", *self._arguments]
        # A session of its own: Ctrl-C at the terminal comes here once and is passed on once, so the service drains.
        self._process = subprocess.Popen(command, start_new_session=True)
        if self._stop.is_set():
            self._process.terminate()
        return self._process.wait()

    def _pass_on(self, number: int, _frame: object) -> None:
        self._stop.set()
        if self._process is not None and self._process.poll() is None:
            self._process.send_signal(number)
