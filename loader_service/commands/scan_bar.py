"""How far a scan is, as people and programs are told; knows no command."""

from __future__ import annotations

import logging
import sys
import time
from typing import TYPE_CHECKING, Any

import click

from loader_service.daemon.service_process import READY, SCANNED
from loader_service.sizes import counted

if TYPE_CHECKING:
    from tqdm import tqdm

    from loader_service.daemon.serving import ServiceReady

_LOG = logging.getLogger(__name__)

#: How often a log, and the program that started this one, is told how far a scan is, in seconds.
_SAY_EVERY_S, _TELL_EVERY_S = 10.0, 0.2


class ScanBar:
    """The progress of a scan on standard error, and the line that says that the service is ready."""

    def __init__(
        self, *, terminal: bool = False, embedded: bool = False, doing: str = "indexing", unit: str = "file"
    ) -> None:
        self._doing, self._unit = doing, unit
        self._embedded = embedded
        self._hidden = False if terminal else None  # None: unless standard error is a terminal itself
        self._bar: tqdm[Any] | None = None
        self._began = self._said = time.monotonic()
        self._told = 0.0

    def scanned(self, done: int, total: int) -> None:
        """Move the bar; a pipe or a log file gets a line now and then instead."""
        if not sys.stderr.isatty():
            self._say(done, total)
            self._tell_program(done, total)
            return
        if self._bar is None:
            from tqdm import tqdm  # noqa: PLC0415 - 15 ms of CPU, for terminals only

            tqdm.monitor_interval = 0  # no thread of its own in a process that starts others
            self._bar = tqdm(total=total, unit=self._unit, desc=self._doing, leave=False, disable=self._hidden)
        self._bar.update(done - self._bar.n)
        if done >= total:
            self._bar.close()

    def _tell_program(self, done: int, total: int) -> None:
        """Tell the program that started this one, which may show it in a notebook."""
        if self._embedded and (done >= total or time.monotonic() - self._told > _TELL_EVERY_S):
            self._told = time.monotonic()
            click.echo(f"{SCANNED}{done} {total}")
            sys.stdout.flush()

    def _say(self, done: int, total: int) -> None:
        now = time.monotonic()
        if now - self._said < _SAY_EVERY_S or done >= total:
            return
        self._said = now
        line = f"{self._doing}: {done:,} of {total:,} {self._unit}s, {now - self._began:.0f} s so far"
        if _LOG.isEnabledFor(logging.INFO):
            _LOG.info("%s", line)
        else:  # `inspect`, or a private service, whose user waits too
            click.echo(line, err=True)

    def ready(self, ready: ServiceReady) -> None:
        """Say where the service is, what it has, and how to use it."""
        left_out = [
            f"{counted(count, what)} {how}"
            for count, what, how in (
                (ready.skipped_files, "file", "skipped"),
                (ready.empty_videos, "empty video", "left out"),
            )
            if count
        ]
        parts = [ready.serves, counted(ready.workers, "worker"), *left_out]
        click.echo(f"{READY}{ready.endpoint} ({', '.join(parts)})")
        click.echo(f'connect with: ds = loader_client.dataset("{ready.endpoint}", batch_size=16)')
        if ready.web:
            click.echo(f"web page: {ready.web}", err=self._embedded)  # of a private service, to its user's terminal
        sys.stdout.flush()
