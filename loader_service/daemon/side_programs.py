"""Processes beside the service that show it to others, its metrics and its web page: started, started again, ended.

They are clients as any other. When one dies, the service goes on, says so, and starts it again after a while.
"""

from __future__ import annotations

import contextlib
import importlib.util
import logging
import os
import select
import socket
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from loader_service.children import ONE_THREAD, command, environment
from loader_service.daemon.watched_child import WatchedChild
from loader_service.errors import ConfigError
from loader_service.lifeline import arguments_for
from loader_service.record_class import record
from loader_service.tcp import TcpAddress

_LOG = logging.getLogger(__name__)

#: Pause before one that died is started again, in seconds: the first time, and at the most. It doubles, and begins anew
#: after a life of the longest one.
_FIRST_PAUSE_S, _LONGEST_PAUSE_S = 0.5, 60.0


@record(frozen=True)
class SideProgram:
    """What is run beside the service.

    Parameters
    ----------
    name
        For people.
    module
        Of this package; its options are told as JSON, see `lifeline`.
    options
        A dataclass of what JSON can say.
    listening
        The socket at which it is asked, bound already: so an address that cannot be had is an error of the start, and
        a client that asks while it is started again waits.
    secret
        Told through its standard input, since every user of the machine may read a command line.
    """

    name: str
    module: str
    options: Any
    listening: socket.socket
    secret: str = ""


@dataclass
class _Running:
    program: SideProgram
    child: WatchedChild | None = None
    pause_s: float = _FIRST_PAUSE_S
    start_at: float = 0.0  # while there is no child; when it was due, while there is one


class SidePrograms:
    """All of them; a context manager that leaves none alive. Used by the daemon's main thread only.

    Parameters
    ----------
    watched
        Becomes ready when one has said something, or ended.
    """

    def __init__(self, watched: select.epoll) -> None:
        self._watched = watched
        self._running: list[_Running] = []

    def __enter__(self) -> SidePrograms:
        return self

    def __exit__(self, *_: object) -> None:
        for each in self._running:
            if each.child is not None:
                each.child.close()
            each.program.listening.close()

    def start(self, program: SideProgram) -> None:
        """Have one started at the next `turn`, and kept running."""
        self._running.append(_Running(program))

    def next_deadline(self) -> float | None:
        """Return when one is to be started; None while all run."""
        return min((each.start_at for each in self._running if each.child is None), default=None)

    def turn(self, now: float) -> Iterator[str]:
        """Look after all: log what they said; yield a line for people about each that has ended."""
        for each in self._running:
            if each.child is not None:
                each.child.log_words()
                if each.child.code is not None:
                    yield _ended(each, each.child.bury(), now)
            elif each.start_at <= now:
                try:
                    self._begin(each)
                except OSError as error:
                    yield _again(each, f"cannot be started: {error}", now)

    def _begin(self, running: _Running) -> None:
        program = running.program
        words = command(program.module, *arguments_for(program.options))
        running.child = WatchedChild(
            words,
            environment(**ONE_THREAD),
            program.name,
            self._watched,
            stdin=subprocess.PIPE,
            pass_fds=(program.listening.fileno(),),
        )
        with contextlib.suppress(BrokenPipeError):  # it has ended, as its pidfd says
            os.write(running.child.stdin, program.secret.encode("ascii") + b"\n")


def _ended(running: _Running, cause: str, now: float) -> str:
    """Have a process that has ended started again; return the line that says so."""
    running.child = None
    if now - running.start_at >= _LONGEST_PAUSE_S:
        running.pause_s = _FIRST_PAUSE_S
    return _again(running, cause, now)


def _again(running: _Running, cause: str, now: float) -> str:
    """Have a process started again after a pause; return the line that says so."""
    pause_s = running.pause_s
    running.start_at, running.pause_s = now + pause_s, min(2 * pause_s, _LONGEST_PAUSE_S)
    return f"{running.program.name} {cause}; it is started again in {pause_s:g} s, and trainings go on"


@record(frozen=True)
class MetricsOptions:
    """What the process of the metrics is told.

    Parameters
    ----------
    endpoint
        Of the service.
    descriptor
        Of the socket at which it is asked.
    """

    endpoint: str
    descriptor: int


def metrics_socket(address: str) -> socket.socket:
    """Return the socket at which metrics are asked for.

    Raises
    ------
    ConfigError
        When the extra is not installed, or the address cannot be had.
    """
    if importlib.util.find_spec("prometheus_client") is None:
        raise ConfigError(
            f"metrics={address!r} needs the package prometheus_client; install it with "
            "`pip install 'loader-service[metrics]'`"
        )
    return listen_at(address)


def metrics_program(endpoint: str, listening: socket.socket) -> SideProgram:
    """Return what serves metrics of a service."""
    options = MetricsOptions(endpoint, listening.fileno())
    host, port, *_ = listening.getsockname()
    _LOG.info("metrics at http://%s:%d/metrics", f"[{host}]" if ":" in host else host, port)
    return SideProgram("the process of the metrics", "loader_service.watching.metrics_process", options, listening)


def listen_at(address: str) -> socket.socket:
    """Return a socket that listens at ``HOST:PORT``.

    Raises
    ------
    ConfigError
        When that is no address, or cannot be had.
    """
    host, colon, port = address.rpartition(":")
    host = host.removeprefix("[").removesuffix("]")
    if not (colon and host and port.isascii() and port.isdecimal() and int(port) < 2**16):
        raise ConfigError(f"metrics={address!r}; give HOST:PORT, such as 127.0.0.1:9464")
    try:
        found = TcpAddress.of(host, int(port))
    except OSError as error:
        raise ConfigError(f"metrics={address!r}: {error}; give an address of this host") from error
    try:
        return found.listen()
    except OSError as error:
        raise ConfigError(f"metrics={address!r}: {error}; give another port, or end who has it") from error
