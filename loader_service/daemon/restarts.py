"""Says whether a service that has died is started once more; pure, since time is passed in."""

from __future__ import annotations


class Restarts:
    """Counts restarts, and forgives them after a long life.

    Parameters
    ----------
    most
        Restarts in a row after which there is no other.
    long_life_s
        How long a service must have served for the restarts before it to count no more, in seconds.

    Attributes
    ----------
    in_a_row
        Restarts that are not forgiven.
    """

    def __init__(self, most: int, long_life_s: float) -> None:
        self._most = most
        self._long_life_s = long_life_s
        self.in_a_row = 0

    def allow(self, served_s: float) -> bool:
        """Note that the service has died, and how long it had served; return whether to start it again."""
        if served_s >= self._long_life_s:
            self.in_a_row = 0
        if self.in_a_row >= self._most:
            return False
        self.in_a_row += 1
        return True
