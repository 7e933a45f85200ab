"""What goes to the log again and again, the faults that `status` still shows, and counts of what was refused.

Knows not what any of them means. What others can cause as often as they like is written a few times, and then counted.
"""

from __future__ import annotations

import logging
import time
from enum import Enum

from loader_service.daemon.notes import Notes
from loader_service.line_limit import LineLimit

_LOG = logging.getLogger(__name__)

#: Different faults that `status` still shows.
_FAULTS_KEPT = 50

#: Bad samples that are known again when they come in the next epoch.
_SAMPLES_KNOWN = 100_000


class Kind(Enum):
    """Lines that may come by the thousand: what they are about, and how many are written in full."""

    MALFORMED = ("malformed messages", 5)
    BAD_SAMPLE = ("bad samples; `status` names the latest", 50)
    CLIENT = ("lines about clients that came and went", 50)
    UNREACHABLE = ("messages to processes that are gone", 5)


#: Kinds whose numbers matter to people who look for faults only.
_FAULTS = frozenset({Kind.MALFORMED, Kind.BAD_SAMPLE})


class Journal:
    """Faults and refusals since the start; written by the daemon's one thread.

    Attributes
    ----------
    messages_malformed
        What came over a socket and was no message.
    requests_refused
        What clients asked for and could not have.
    """

    def __init__(self) -> None:
        self._started = time.monotonic()
        self._faults = Notes(_FAULTS_KEPT)
        self._limits = {
            kind: LineLimit(*kind.value, remembered=_SAMPLES_KNOWN if kind is Kind.BAD_SAMPLE else 0) for kind in Kind
        }
        self.messages_malformed = 0
        self.requests_refused = 0

    @property
    def faults(self) -> tuple[str, ...]:
        """The latest faults, a line each."""
        return self._faults.lines

    @property
    def refused(self) -> dict[str, int]:
        """Counts of what the scheduler never saw, by name."""
        return {"messages_malformed": self.messages_malformed, "requests_refused": self.requests_refused}

    def note(self, line: str, kind: Kind | None = None, *, about: str = "") -> None:
        """Log a fault, and keep it for `status`.

        Parameters
        ----------
        line
            For people.
        kind
            Of what may come again and again; None for what may not.
        about
            What makes it the same fault as another one, where `line` says more than that.
        """
        if kind is None or self._is_written(kind, about or line):
            _LOG.warning("%s", line)
        self._faults.add(line, time.monotonic() - self._started)

    def say(self, line: str, kind: Kind) -> None:
        """Log what is no fault, and may come again and again."""
        if self._is_written(kind, line):
            _LOG.info("%s", line)

    def tick(self, now: float) -> None:
        """Log how many lines were only counted, where it is time."""
        for kind, limit in self._limits.items():
            _tell(kind, limit.due(now))

    def close(self) -> None:
        """Log the same of those that were not told yet."""
        for kind, limit in self._limits.items():
            _tell(kind, limit.rest(time.monotonic()))

    def next_deadline(self) -> float | None:
        """Return when `tick` has something to do, None while nothing is counted."""
        deadlines = (limit.next_deadline() for limit in self._limits.values())
        return min((each for each in deadlines if each is not None), default=None)

    def _is_written(self, kind: Kind, line: str) -> bool:
        now = time.monotonic()
        _tell(kind, self._limits[kind].due(now))
        return self._limits[kind].take(line, now)


def _tell(kind: Kind, line: str | None) -> None:
    if line is not None:
        _LOG.log(logging.WARNING if kind in _FAULTS else logging.INFO, "%s", line)
