"""How many tasks remote workers may hold when the receiver has too much to do; pure, with time passed in."""

from __future__ import annotations

#: The receiver's share of a core above which there is too much, and below which there is room for more.
_SATURATED, _ROOM = 0.85, 0.7

#: What is left of the tasks when there is too much, and how often that is looked at, in seconds.
_SHRINK, LOOK_S = 0.8, 0.5

#: Tasks of one worker: at the least, so that it shows what it delivers, and when nothing is in the way.
LEAST, USUAL = 1, 2


class Throttle:
    """The tasks that each remote worker may hold, by the share of a core that the receiver takes.

    Above what the receiver can take in, more tasks at a time only wait longer: rows lie in memory, and steps wait for
    them that others would have made. With fewer tasks, remote workers ask for less, and idle workers take the rest.

    Parameters
    ----------
    now, cpu_s
        When it begins, in seconds, monotonic; CPU that the receiver has taken so far.
    """

    def __init__(self, now: float, cpu_s: float) -> None:
        self._looked_at, self._cpu_s = now, cpu_s
        self._tasks: float | None = None  # of all workers together; None while nothing is in the way
        self._asked: dict[int, int] = {}  # by worker: what the daemon knows

    def look(self, now: float, cpu_s: float, wanted: dict[int, int]) -> dict[int, int]:
        """Return how many tasks which workers shall hold, where that is another number than before.

        Parameters
        ----------
        now, cpu_s
            The time, and the CPU that the receiver has taken, in seconds.
        wanted
            Of each worker: how many it asks for itself, `USUAL` unless its reads are slow.
        """
        passed = now - self._looked_at
        if passed >= LOOK_S:
            share = (cpu_s - self._cpu_s) / passed
            self._looked_at, self._cpu_s = now, cpu_s
            self._judge(share, sum(wanted.values()), len(wanted))
        shares = {worker: self._share(most, len(wanted)) for worker, most in wanted.items()}
        news = {worker: tasks for worker, tasks in shares.items() if self._asked.get(worker, USUAL) != tasks}
        self._asked = shares
        return news

    def _judge(self, share: float, most: int, workers: int) -> None:
        if share > _SATURATED:
            self._tasks = max(float(LEAST * workers), _SHRINK * min(most, self._tasks or most))
        elif share < _ROOM and self._tasks is not None:
            self._tasks += 1
            if self._tasks >= most:
                self._tasks = None

    def _share(self, most: int, workers: int) -> int:
        return most if self._tasks is None else min(most, max(LEAST, int(self._tasks / workers)))
