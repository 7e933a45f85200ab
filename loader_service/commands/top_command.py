"""`loader-service top`: the terminal, the keys, the thread that asks; `watching/top_view.py` knows what is shown."""

from __future__ import annotations

import importlib.util
import os
import queue
import select
import signal
import sys
import termios
import threading
import time
import tty
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

import click

from loader_client.connection import Connection
from loader_service.commands.watch_commands import hush, place_of
from loader_service.errors import ConfigError, LoaderError
from loader_service.protocol.messages import Status
from loader_service.reaching import reach

if TYPE_CHECKING:
    from loader_service.watching.top_view import TopView

#: How often the service is asked, and how often the terminal is drawn: it may have another size, in seconds.
_ASK_EVERY_S, _DRAW_EVERY_S = 1.0, 0.25

#: How long a line about what was done is shown, in seconds.
_NOTICE_S = 5.0

_INTERRUPT, _END_OF_INPUT = "\x03", "\x04"


@click.command("top")
@click.argument("endpoint", required=False)
def top_command(endpoint: str | None) -> None:
    """Watch a service live: what trainers wait for, workers, faults; keys change the number of workers."""
    if importlib.util.find_spec("rich") is None:
        raise ConfigError("top needs the package rich; install it with `pip install 'loader-service[top]'`")
    if not (sys.stdin.isatty() and sys.stdout.isatty()) or os.environ.get("TERM", "dumb") == "dumb":
        raise ConfigError("top needs a terminal; elsewhere, use `loader-service status --watch`")
    hush()
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # the terminal is to be as it was
    with reach(endpoint) as service, suppress(KeyboardInterrupt):
        _watch(service)


def _watch(service: Connection) -> None:
    """Show the service until somebody has seen enough."""
    from rich.console import Console  # noqa: PLC0415 - an extra, so that other commands do without
    from rich.live import Live  # noqa: PLC0415

    asker = _Asker(service)
    view = _View(asker, place_of(service.endpoint))
    console = Console()
    with asker, _keys_at_once(), Live(console=console, screen=True, auto_refresh=False) as live:
        while True:
            live.update(view.now(), refresh=True)
            key = _key(_DRAW_EVERY_S)
            if key in ("q", "Q", _INTERRUPT, _END_OF_INPUT):
                return
            if key in ("+", "=", "-"):
                asker.scale(-1 if key == "-" else 1)


class _View:
    """What is shown, as the looks come."""

    def __init__(self, asker: _Asker, place: str) -> None:
        from loader_service.watching.history import History  # noqa: PLC0415 - loads nothing that others need

        self._asker = asker
        self._place = place
        self._history = History()

    def now(self) -> TopView:
        """Return what is to be shown, with what has come meanwhile."""
        from loader_service.watching.top_view import TopView  # noqa: PLC0415 - loads Rich

        for look in self._asker.looks():
            self._history.add(look)
        return TopView(self._history, self._place, self._asker.notice())


class _Asker:
    """Asks the service in a thread of its own, so that keys are heard while it does not answer; a context manager."""

    def __init__(self, service: Connection) -> None:
        self._service = service
        self._looks: queue.SimpleQueue[Status] = queue.SimpleQueue()
        self._steps: queue.SimpleQueue[int] = queue.SimpleQueue()
        self._wake = threading.Event()
        self._is_over = False
        self._wanted = 0
        self._notice, self._until = "", 0.0
        self._thread = threading.Thread(target=self._run, name="top", daemon=True)

    def __enter__(self) -> _Asker:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._is_over = True
        self._wake.set()
        self._service.fail(LoaderError("top has ended"))  # so that nobody waits for an answer
        self._thread.join(_ASK_EVERY_S)

    def looks(self) -> Iterator[Status]:
        """Yield the looks that have come since this was asked before."""
        while not self._looks.empty():
            yield self._looks.get()

    def notice(self) -> str:
        """Return a line about what was done last, for as long as it is news."""
        return self._notice if time.monotonic() < self._until else ""

    def scale(self, step: int) -> None:
        """Have one worker more, or one less."""
        self._steps.put(step)
        self._wake.set()

    def _run(self) -> None:
        while not self._is_over:
            self._wake.clear()
            try:
                step = sum(self._taken())
                if step:
                    self._tell(self._service.scale(max(1, self._wanted + step)))
                look = self._service.status()
                self._wanted = look.workers_wanted
                self._looks.put(look)
            except LoaderError as error:
                self._tell(str(error))
            self._wake.wait(_ASK_EVERY_S)

    def _taken(self) -> Iterator[int]:
        while not self._steps.empty():
            yield self._steps.get()

    def _tell(self, line: str) -> None:
        self._notice, self._until = " ".join(line.split()), time.monotonic() + _NOTICE_S


@contextmanager
def _keys_at_once() -> Iterator[None]:
    """Have keys come one by one and unseen; the terminal is as it was at the end."""
    descriptor = sys.stdin.fileno()
    before = termios.tcgetattr(descriptor)
    try:
        tty.setcbreak(descriptor)
        yield
    finally:
        termios.tcsetattr(descriptor, termios.TCSADRAIN, before)


def _key(timeout_s: float) -> str:
    """Return the next key, "" when none comes in time; the end of the input is one."""
    if not select.select([sys.stdin], [], [], timeout_s)[0]:
        return ""
    return os.read(sys.stdin.fileno(), 1).decode("latin-1") or _END_OF_INPUT
