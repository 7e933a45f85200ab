"""The faults that `status` still shows, and counts of what was refused; knows not what any of them means."""

from __future__ import annotations

import logging
import time

from loader_service.daemon.notes import Notes

_LOG = logging.getLogger(__name__)

#: Different faults that `status` still shows.
_FAULTS_KEPT = 50


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

    def note(self, line: str) -> None:
        """Log a fault, and keep it for `status`."""
        _LOG.warning("%s", line)
        self._faults.add(line, time.monotonic() - self._started)
