"""How far a conversion is, with its rate and the time left; a bar at a terminal, a line now and then elsewhere."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from loader_service.sizes import size_text

if TYPE_CHECKING:
    from tqdm import tqdm

#: How often a pipe or a log file gets a line, in seconds.
_SAY_EVERY_S = 10.0


def rate_text(done_bytes: int, total_bytes: int, elapsed_s: float) -> str:
    """Return how far it is in words, such as ``1.0 GiB of 4.0 GiB, 100.0 MiB/s, 0:00:31 left``."""
    text = f"{size_text(done_bytes)} of {size_text(total_bytes)}"
    if done_bytes <= 0 or elapsed_s <= 0:
        return text
    rate = done_bytes / elapsed_s
    return f"{text}, {size_text(int(rate))}/s, {duration_text((total_bytes - done_bytes) / rate)} left"


def duration_text(seconds: float) -> str:
    """Return a time as hours, minutes and seconds."""
    minutes, second = divmod(max(0, round(seconds)), 60)
    return f"{minutes // 60}:{minutes % 60:02}:{second:02}"


class RateBar:
    """Shows how far a conversion is on standard error; a context manager.

    Parameters
    ----------
    doing
        Such as ``"unpacking"``.
    say
        Prints a line.
    """

    def __init__(self, doing: str, say: Callable[[str], object]) -> None:
        self._doing, self._say = doing, say
        self._bar: tqdm[Any] | None = None
        self._began = self._said = time.monotonic()
        self._at_begin: int | None = None

    def __enter__(self) -> RateBar:
        return self

    def __exit__(self, *_: object) -> None:
        if self._bar is not None:
            self._bar.close()

    def counted(self, done: int, total: int) -> None:
        """Show that so many of some things are done, such as files."""
        now = time.monotonic()
        if now - self._said >= _SAY_EVERY_S and done < total:
            self._said = now
            self._say(f"{self._doing}: {done:,} of {total:,}, {duration_text(now - self._began)} so far")

    def at(self, done_bytes: int, total_bytes: int) -> None:
        """Show that so many bytes are done; the first call says what was done before."""
        now = time.monotonic()
        if sys.stderr.isatty():
            if self._bar is None:
                from tqdm import tqdm  # noqa: PLC0415 - 15 ms of CPU, for terminals only

                tqdm.monitor_interval = 0  # no thread of its own in a process that starts others
                self._bar = tqdm(
                    total=total_bytes,
                    initial=done_bytes,
                    unit="B",
                    unit_scale=True,
                    unit_divisor=1024,
                    desc=self._doing,
                    leave=False,
                )
            self._bar.update(done_bytes - self._bar.n)
            return
        if self._at_begin is None:
            self._at_begin = done_bytes
        if now - self._said >= _SAY_EVERY_S and done_bytes < total_bytes:
            self._said = now
            left = total_bytes - self._at_begin
            self._say(f"{self._doing}: {rate_text(done_bytes - self._at_begin, left, now - self._began)}")
