"""Processes beside the service that show it to others, such as its metrics: started, started again, ended.

They are clients as any other. When one dies, the service goes on, says so, and starts it again after a while.
"""

from __future__ import annotations

import importlib.util
import logging
import select
import socket
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from loader_service.children import ONE_THREAD, Child, command, environment
from loader_service.errors import ConfigError
from loader_service.lifeline import arguments_for

_LOG = logging.getLogger(__name__)

#: Pause before one that died is started again, in seconds: the first time, and at the most.
_FIRST_PAUSE_S, _LONGEST_PAUSE_S = 1.0, 60.0

#: Connections that may wait to be accepted.
_BACKLOG = 64


@dataclass(frozen=True)
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
        whoever asks while it is started again waits.
    """

    name: str
    module: str
    options: Any
    listening: socket.socket


@dataclass
class _Running:
    program: SideProgram
    child: Child | None = None
    pause_s: float = _FIRST_PAUSE_S
    start_at: float = 0.0  # while there is no child


class SidePrograms:
    """All of them; a context manager that leaves none alive. Used by the daemon's main thread only.

    Parameters
    ----------
    watched
        Becomes ready when one has ended.
    """

    def __init__(self, watched: select.epoll) -> None:
        self._watched = watched
        self._running: list[_Running] = []

    def __enter__(self) -> SidePrograms:
        return self

    def __exit__(self, *_: object) -> None:
        for each in self._running:
            self._end(each)
            each.program.listening.close()

    def start(self, program: SideProgram) -> None:
        """Start one, and keep it running.

        Raises
        ------
        OSError
            When the system has no process left for it.
        """
        running = _Running(program)
        self._running.append(running)
        self._start(running)

    def next_deadline(self) -> float | None:
        """Return when one is to be started again; None while all run."""
        return min((each.start_at for each in self._running if each.child is None), default=None)

    def turn(self, now: float) -> Iterator[str]:
        """Look after all; yield a line for people about each that has ended."""
        for each in self._running:
            if each.child is not None and each.child.code is not None:
                yield f"the process of {each.program.name} {each.child.cause()}; it is started again"
                self._end(each)
                each.start_at, each.pause_s = now + each.pause_s, min(2 * each.pause_s, _LONGEST_PAUSE_S)
            elif each.child is None and each.start_at <= now:
                try:
                    self._start(each)
                except OSError as error:
                    yield f"the process of {each.program.name} cannot be started: {error}; it is tried again"
                    each.start_at, each.pause_s = now + each.pause_s, min(2 * each.pause_s, _LONGEST_PAUSE_S)

    def _start(self, running: _Running) -> None:
        program = running.program
        descriptor = program.listening.fileno()
        running.child = Child(
            command(program.module, *arguments_for(program.options)),
            environment(**ONE_THREAD),
            output=None,  # what it says is for whoever reads what the service says
            pass_fds=(descriptor,),
        )
        self._watched.register(running.child.pidfd, select.EPOLLIN)

    @staticmethod
    def _end(running: _Running) -> None:
        child, running.child = running.child, None
        if child is not None:
            child.close()


@dataclass(frozen=True)
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
    return listen_at("metrics", address)


def metrics_program(endpoint: str, listening: socket.socket) -> SideProgram:
    """Return what serves metrics of a service."""
    options = MetricsOptions(endpoint, listening.fileno())
    host, port, *_ = listening.getsockname()
    _LOG.info("metrics at http://%s:%d/metrics", f"[{host}]" if ":" in host else host, port)
    return SideProgram("the metrics", "loader_service.watching.metrics_process", options, listening)


def listen_at(option: str, address: str) -> socket.socket:
    """Return a socket that listens at ``HOST:PORT``.

    Raises
    ------
    ConfigError
        When that is no address, or cannot be had.
    """
    host, colon, port = address.rpartition(":")
    host = host.removeprefix("[").removesuffix("]")
    if not (colon and host and port.isascii() and port.isdecimal() and int(port) < 2**16):
        raise ConfigError(f"{option}={address!r}; give HOST:PORT, such as 127.0.0.1:9464")
    try:
        found = socket.getaddrinfo(host, int(port), type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
        family, kind, protocol, _, place = found[0]
        listening = socket.socket(family, kind, protocol)
    except OSError as error:
        raise ConfigError(f"{option}={address!r}: {error}; give an address of this host") from error
    try:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind(place)
        listening.listen(_BACKLOG)
    except OSError as error:
        listening.close()
        raise ConfigError(f"{option}={address!r}: {error}; give another port, or end who has it") from error
    return listening
