"""Tells whether reads are so slow that they should be begun ahead; knows no file. Time passed in.

Where the kernel has the bytes in memory, a read takes microseconds, and a thread for it would only cost. So reads are
timed, and read ahead when they take a share of the time that shows. Later it is tried whether that is still so.
"""

from __future__ import annotations

import math

#: Reads are slow when they have taken more than this share of the time, and this much altogether, in seconds.
_SHARE, _LEAST_S = 0.05, 0.005

#: What a read of bytes in memory may take, in seconds, and seconds for each byte: beyond that, it has waited.
SLOW_S, BYTE_S = 5e-4, 1e-9

#: The time over which that is judged, in seconds.
_WINDOW_S = 1.0

#: How long reads are begun ahead before it is tried again without, in seconds: the first time, and at the most.
_FIRST_S, _LONGEST_S = 15.0, 240.0

#: How much longer than of late reads may take, or how much shorter tasks, before a worker waits for them.
_MARGIN = 1.5

#: Tasks that are held beside those that wait for their reads: the one that is done, and one that is on its way.
_BESIDE = 2


class ReadPace:
    """Whether one worker reads ahead, and how many tasks it wants to hold for that.

    Parameters
    ----------
    now
        The time in seconds, monotonic.
    always
        Whether reads are known to be slow, as those of a store are.
    """

    def __init__(self, now: float, *, always: bool = False) -> None:
        self.is_slow = self._always = always
        self._since = now  # of the window, or of reading ahead
        self._needed_at = now  # when a task last had something to read ahead
        self._waited_s = 0.0
        self._lasts_s = _FIRST_S
        self._task_s = 0.0

    def read(self, seconds: float, length: int, now: float) -> bool:
        """Take note of a read that nobody had begun ahead; return whether it is the one that shows that reads are slow.

        Parameters
        ----------
        seconds, length
            How long it took, and its bytes.
        now
            The time after it.
        """
        if self.is_slow:
            return False
        if now - self._since > _WINDOW_S + seconds:
            self._since, self._waited_s = now - seconds, 0.0
        excess_s = seconds - SLOW_S - length * BYTE_S
        if excess_s > 0:
            self._waited_s += excess_s
            if self._waited_s > max(_LEAST_S, _SHARE * (now - self._since)):
                self.is_slow, self._since, self._needed_at = True, now, now
        return self.is_slow

    def task_ended(self, seconds: float, now: float, *, was_needed: bool = True) -> None:
        """Take note of a task; end reading ahead when it is time to try without, or when there is nothing to read.

        Parameters
        ----------
        seconds
            That it took beside its reads.
        now
            The time after it.
        was_needed
            Whether some of its bytes were not in memory.
        """
        self._task_s += 0.2 * (seconds - self._task_s) if self._task_s else seconds
        if was_needed:
            self._needed_at = now
        if not self.is_slow or self._always:
            return
        is_over = now - self._since > self._lasts_s
        if is_over or now - self._needed_at > _WINDOW_S:
            self.is_slow, self._since, self._waited_s = False, now, 0.0
            self._lasts_s = min(2 * self._lasts_s, _LONGEST_S) if is_over else self._lasts_s

    def tasks_wanted(self, latency_s: float) -> int:
        """Return how many tasks must be at hand so that reads of so many seconds end before they are needed."""
        return _BESIDE + math.ceil(_MARGIN * latency_s / max(self._task_s, 1e-4))
