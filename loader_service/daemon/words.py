"""What a child process says through a pipe, line by line, in the log: not more than is read; knows no process."""

from __future__ import annotations

import logging
import time

from loader_service.children import Output

_LOG = logging.getLogger(__name__)

#: A line that is longer is taken for several.
_LONGEST_LINE_BYTES = 65_536

#: So many lines of one pipe are logged in so many seconds; the others are counted.
MOST_LINES, WITHIN_S = 20, 10.0


class Words:
    """One pipe's lines; used by one thread.

    Parameters
    ----------
    output
        The pipe.
    who
        Begins each line in the log.
    level
        Of the log: what a program says by itself is no warning.
    """

    def __init__(self, output: Output, who: str, level: int) -> None:
        self.output = output
        self._who = who
        self._level = level
        self._unfinished = b""  # of a line whose end has not come: a traceback is written piece by piece
        self._since = time.monotonic()
        self._lines = 0  # since then

    def read(self) -> None:
        """Log what has come, up to a bound: a child that says more waits, and the daemon does not."""
        *lines, self._unfinished = (self._unfinished + self.output.read()).split(b"\n")
        while len(self._unfinished) > _LONGEST_LINE_BYTES:
            lines.append(self._unfinished[:_LONGEST_LINE_BYTES])
            self._unfinished = self._unfinished[_LONGEST_LINE_BYTES:]
        for line in lines:
            self._hear(line)

    def end(self) -> None:
        """Log the last that has come, of a process that has ended, and how much was left out."""
        self.read()
        self._hear(self._unfinished)
        self._unfinished = b""
        self._count_left_out()

    def _hear(self, line: bytes) -> None:
        words = line.decode("utf-8", "replace").rstrip()
        if not words:
            return
        now = time.monotonic()
        if now - self._since >= WITHIN_S:
            self._count_left_out()
            self._since, self._lines = now, 0
        self._lines += 1
        if self._lines <= MOST_LINES:
            _LOG.log(self._level, "%s says: %s", self._who, words)

    def _count_left_out(self) -> None:
        left_out = self._lines - MOST_LINES
        if left_out > 0:
            _LOG.log(self._level, "%s has said %d more lines, which are left out", self._who, left_out)
        self._lines = 0
