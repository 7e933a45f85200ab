"""Where remote workers are placed: a child process that keeps so many of them alive, and what it says; knows no Ray.

The child reads lines of JSON: what workers are told, then ``{"workers": N}`` as often as that changes. It writes lines:
``connected`` or ``failed`` first, ``note`` after that. It ends with its input, and its workers with it.
"""

from __future__ import annotations

import importlib.util
import json
import logging
import os
import select
import subprocess
import time
from collections.abc import Callable
from typing import Any

from loader_service.children import Child, command, environment
from loader_service.cluster_options import PROCESSES
from loader_service.daemon.words import Words
from loader_service.errors import ConfigError
from loader_service.remote.remote_options import RemoteWorkerOptions, line_of

#: How long a cluster may take to answer at the start, in seconds: Ray tries for some time itself.
CONNECT_S = 60.0

#: Of what Ray's own code writes to the standard error, only errors. A cluster whose head is gone is given up after so
#: many seconds, not a minute: until then nothing is placed, and nobody is told.
_RAY_SETTINGS = {
    "RAY_BACKEND_LOG_LEVEL": "error",
    "RAY_gcs_rpc_server_reconnect_timeout_s": "15",
    "RAY_gcs_server_request_timeout_seconds": "30",  # for which Ray looks for a node on this host: less than CONNECT_S
}

#: The module that speaks with Ray.
_RAY = "ray_placement"

#: The pause before a placement that ended is started again, in seconds: at first, and at the most.
_FIRST_PAUSE_S, _LAST_PAUSE_S = 2.0, 30.0

#: How long the child may take to let its workers go at the end, in seconds.
_LEAVE_S = 5.0


class Placement:
    """The child process. Used by the daemon's one thread; a context manager that leaves none behind.

    Parameters
    ----------
    cluster
        The address, as in the options of a service.

    Raises
    ------
    ConfigError
        When the process cannot be started, or there is no Ray.
    """

    def __init__(self, cluster: str) -> None:
        if _module_of(cluster) == _RAY and importlib.util.find_spec("ray") is None:
            raise ConfigError(
                f"ray={cluster!r} needs Ray, which this Python does not have: `pip install 'loader-service[ray]'`, the "
                "same on all nodes"
            )
        self._cluster = cluster
        self._options: RemoteWorkerOptions | None = None
        self._workers = 0
        self._is_connected = False
        self._pause_s = _FIRST_PAUSE_S
        self._start_at: float | None = None
        self._received = b""
        self._watched: select.epoll | None = None
        self._say: Callable[[str], object] = logging.getLogger(__name__).warning
        self._is_lost = False  # and people know
        self._is_over = False  # the service ends: what the cluster does now is nothing to people
        self._child: Child | None = None
        try:
            self._start()
        except OSError as error:
            raise ConfigError(f"ray={cluster!r}: no process can be started to speak with it: {error}") from error

    def __enter__(self) -> Placement:
        return self

    def __exit__(self, *_: object) -> None:
        child, self._child = self._child, None
        if child is not None:
            child.end_input()
            child.wait(_LEAVE_S)
            child.close()

    def connect(self) -> str:
        """Wait for the cluster; return by which address it knows this host.

        Raises
        ------
        ConfigError
            When there is no cluster, or it does not answer in time.
        """
        deadline = time.monotonic() + CONNECT_S
        child = self._child
        while child is not None and (left_s := deadline - time.monotonic()) > 0:
            child.listen(left_s)
            for said in self._heard():
                if said["is"] == "connected":
                    self._is_connected = True
                    return str(said["address"])
                raise ConfigError(f"ray={self._cluster!r}: {said['line']}")
            if not child.out.is_open:
                child.wait(_LEAVE_S)
                raise ConfigError(f"ray={self._cluster!r}: the process that speaks with it {child.cause()}")
        raise ConfigError(
            f"ray={self._cluster!r} did not answer within {CONNECT_S:g} s; see `ray status`, and whether this host is "
            "one of its nodes"
        )

    def begin(self, options: RemoteWorkerOptions, watched: select.epoll, say: Callable[[str], object]) -> None:
        """Let workers be placed from now on.

        Parameters
        ----------
        options
            What each is told.
        watched
            Becomes ready when `listen` has something to do.
        say
            Called with each line for people.
        """
        self._options, self._watched, self._say = options, watched, say
        self._watch()
        self._tell_all()

    def place(self, workers: int) -> None:
        """Keep so many workers alive."""
        self._workers = workers
        self._write({"workers": workers})

    def stopping(self) -> None:
        """Take note that the service ends: a cluster that ends with it is not tried again, and no line says so."""
        self._is_over, self._start_at = True, None

    def listen(self) -> None:
        """Take in what the child said, and whether it has ended."""
        child = self._child
        if child is None:
            return
        for said in self._heard():
            self._take_in(said)
        if child.code is None:
            return
        self._words.end()
        if self._is_over:
            child.close()
            self._child = None
            return
        if not self._is_lost:
            self._is_lost = True
            self._say(
                f"the cluster {self._cluster!r} is out of reach: its process {child.cause('')}; "
                "workers of this host go on, and it is tried again"
            )
        child.close()
        self._child, self._start_at = None, time.monotonic() + self._pause_s
        self._pause_s = min(2 * self._pause_s, _LAST_PAUSE_S)

    def next_deadline(self) -> float | None:
        """Return when `tick` has something to do."""
        return self._start_at

    def tick(self, now: float) -> None:
        """Start the child again when that is due."""
        if self._start_at is not None and self._start_at <= now:
            self._start_at = None
            try:
                self._start()
                self._watch()
            except OSError as error:
                self._start_at = now + _LAST_PAUSE_S
                self._say(f"no process can be started to speak with the cluster {self._cluster!r}: {error}")

    # ---- inside

    def _start(self) -> None:
        words = command(f"loader_service.remote.{_module_of(self._cluster)}", str(os.getpid()), self._cluster)
        self._child = child = Child(words, environment(**_RAY_SETTINGS), stdin=subprocess.PIPE)
        self._received = b""
        self._words = Words(child.errors, "placement", logging.INFO)

    def _watch(self) -> None:
        if self._watched is not None and self._child is not None:
            for descriptor in (self._child.pidfd, *self._child.outputs):
                self._watched.register(descriptor, select.EPOLLIN)

    def _heard(self) -> list[dict[str, Any]]:
        child = self._child
        if child is None:
            return []
        for output, read in ((child.errors, self._words.read), (child.out, self._read)):
            was_open = output.is_open
            read()
            if was_open and not output.is_open and self._watched is not None:
                self._watched.unregister(output.descriptor)
        *lines, self._received = self._received.split(b"\n")
        return [json.loads(line) for line in lines]

    def _read(self) -> None:
        if self._child is not None:
            self._received += self._child.out.read()

    def _take_in(self, said: dict[str, Any]) -> None:
        match said["is"]:
            case "connected":
                self._is_connected, self._pause_s = True, _FIRST_PAUSE_S
                if self._is_lost:
                    self._is_lost = False
                    self._say(f"the cluster {self._cluster!r} answers again")
                self._tell_all()
            case "failed" if not self._is_lost:
                self._is_lost = True
                self._say(f"the cluster {self._cluster!r} is out of reach: {said['line']}; it is tried again")
            case "note":
                self._say(str(said["line"]))

    def _tell_all(self) -> None:
        if self._options is not None and self._is_connected:
            self._write_line(line_of(self._options))
            self._write({"workers": self._workers})

    def _write(self, request: dict[str, int]) -> None:
        if self._options is not None:
            self._write_line(json.dumps(request).encode("ascii") + b"\n")

    def _write_line(self, line: bytes) -> None:
        if self._child is not None:
            try:
                os.write(self._child.stdin, line)
            except BrokenPipeError:  # it has ended, which `listen` sees
                return


def _module_of(cluster: str) -> str:
    """Return which module of the remote room speaks with a cluster."""
    return "process_placement" if cluster.partition("@")[0] == PROCESSES else _RAY
