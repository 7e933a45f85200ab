"""Seconds in which something was so, altogether; reads no clock."""

from __future__ import annotations


class Stopwatch:
    """A sum of seconds that grows while it is on."""

    __slots__ = ("_seconds", "_since")

    def __init__(self) -> None:
        self._seconds = 0.0
        self._since: float | None = None  # when it was set on; None while it is off

    @property
    def is_on(self) -> bool:
        """Whether it grows now."""
        return self._since is not None

    def set(self, on: bool, now: float) -> bool:
        """Let it grow from now on, or not; return whether that is news."""
        since = self._since
        if on == (since is not None):
            return False
        if since is None:
            self._since = now
        else:
            self._seconds += max(0.0, now - since)
            self._since = None
        return True

    def seconds(self, now: float) -> float:
        """Return the sum so far, with what is under way."""
        return self._seconds if self._since is None else self._seconds + max(0.0, now - self._since)
