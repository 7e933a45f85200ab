"""When a worker may be started after others failed to start. Pure."""

from __future__ import annotations

#: Pause before a worker is started after one failed to start: doubles from the first to the last, in seconds.
FIRST_RETRY_S, LAST_RETRY_S = 0.2, 5.0


class WorkerStarts:
    """The failures since the last success, and the pause that they ask for.

    Attributes
    ----------
    failures
        Workers in a row that failed to start.
    not_before
        When the next one may be started, in seconds.
    last_cause
        What the last one that failed died of.
    """

    def __init__(self) -> None:
        self.last_cause = ""
        self.forgive()

    def forgive(self) -> None:
        """Count failures anew: those that happened while all went well otherwise say nothing about the next start."""
        self.failures = 0
        self.not_before = 0.0
        self._pause_s = FIRST_RETRY_S

    @property
    def words(self) -> str:
        """Why no other is started."""
        return f"{self.failures} workers in a row failed to start; the last one {self.last_cause}"

    def failed(self, cause: str, now: float) -> None:
        """Note that a worker ended before it was ready."""
        self.failures += 1
        self.not_before = now + self._pause_s
        self._pause_s = min(2 * self._pause_s, LAST_RETRY_S)
        self.last_cause = cause
