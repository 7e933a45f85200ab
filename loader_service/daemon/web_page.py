"""Keeps the process that serves the web page: starts it, starts it again when it dies; knows no HTTP."""

from __future__ import annotations

import contextlib
import logging
import os
import secrets
import select
import subprocess
import time
from collections.abc import Callable

from loader_service.children import Child, command, environment
from loader_service.daemon.restarts import Restarts
from loader_service.daemon.words import Words
from loader_service.lifeline import arguments_for
from loader_service.web_options import WebOptions, check_installed, given_token, link_of, listening_socket

_LOG = logging.getLogger(__name__)

#: Short lives in a row after which it is given up, and what is no short life any more, in seconds.
_MOST_RESTARTS, _LONG_LIFE_S = 5, 60.0

#: The pause before it is started again, in seconds: doubled each time.
_FIRST_PAUSE_S = 0.5


class WebPage:
    """The page's process; a context manager. Used by the daemon's one thread, whose end is the process's end.

    Parameters
    ----------
    watched
        Becomes ready when `turn` has something to do.
    address
        ``HOST:PORT``, as `web_options.parse_address` takes it; it is listened at from now on.

    Attributes
    ----------
    link
        What to open in a browser; it has the token, so it is for the eyes of this user.

    Raises
    ------
    ConfigError
        When packages are missing, or nothing can listen there.
    """

    def __init__(self, watched: select.epoll, address: str) -> None:
        check_installed()
        self._watched = watched
        self._token = given_token() or secrets.token_urlsafe(24)
        self._socket = listening_socket(address)
        self._place: tuple[str, int] = self._socket.getsockname()[:2]
        host, port = self._place
        self.link = link_of(host, port, self._token)
        self._command: list[str] = []
        self._note: Callable[[str], object] = _LOG.warning
        self._child: Child | None = None
        self._words: tuple[Words, ...] = ()
        self._restarts = Restarts(_MOST_RESTARTS, _LONG_LIFE_S)
        self._start_at: float | None = None
        self._born = 0.0

    def __enter__(self) -> WebPage:
        return self

    def __exit__(self, *_: object) -> None:
        if self._child is not None:
            self._child.close()
        self._socket.close()

    def start(self, endpoint: str, catalog: str, note: Callable[[str], object], *, control: bool, now: float) -> None:
        """Have the process started at the next `turn`: when the service is ready, which is to have the machine.

        Parameters
        ----------
        endpoint, catalog, control
            See `WebOptions`.
        note
            Called with a line for people when the process has died.
        now
            When this is.
        """
        host, port = self._place
        options = WebOptions(endpoint, host, port, self._socket.fileno(), control, catalog)
        self._command = command("loader_service.web.web_process", *arguments_for(options))
        self._note = note
        self._start_at = now

    def next_deadline(self) -> float | None:
        """Return when `turn` has something to do though nothing came; None while there is nothing to wait for."""
        return self._start_at

    def turn(self, now: float) -> None:
        """Pass on what the process said, and take note of its end."""
        child = self._child
        if child is not None:
            for words in self._words:
                was_open = words.output.is_open
                words.read()
                if was_open and not words.output.is_open:  # an epoll would report its end for ever
                    self._watched.unregister(words.output.descriptor)
            if child.code is not None:
                self._bury(child, now)
        if self._start_at is not None and self._start_at <= now:
            self._start_at = None
            self._begin()

    def _begin(self) -> None:
        self._born = time.monotonic()
        try:
            child = Child(self._command, environment(), stdin=subprocess.PIPE, pass_fds=(self._socket.fileno(),))
        except OSError as error:
            self._retry(f"cannot be started: {error}", self._born)
            return
        # Not on its command line, which every user of the machine may read.
        with contextlib.suppress(BrokenPipeError):  # it has ended, as its pidfd says
            os.write(child.stdin, self._token.encode("ascii") + b"\n")
        levels = ((child.out, logging.INFO), (child.errors, logging.WARNING))
        self._words = tuple(Words(output, "web page", level) for output, level in levels)
        self._child = child
        for descriptor in (child.pidfd, *child.outputs):
            self._watched.register(descriptor, select.EPOLLIN)

    def _bury(self, child: Child, now: float) -> None:
        for words in self._words:
            words.end()
        cause = child.cause()
        child.close()
        self._child = None
        self._retry(cause, now)

    def _retry(self, cause: str, now: float) -> None:
        if not self._restarts.allow(now - self._born):
            self._note(f"the web page {cause}, {_MOST_RESTARTS} times in a row, and is given up; trainings go on")
            return
        pause_s = _FIRST_PAUSE_S * 2 ** (self._restarts.in_a_row - 1)
        self._start_at = now + pause_s
        self._note(f"the web page {cause}; it is started again in {pause_s:g} s, and trainings go on")
