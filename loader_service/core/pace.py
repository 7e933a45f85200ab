"""How fast a worker does its tasks, and which workers are stragglers; pure."""

from __future__ import annotations

from bisect import bisect_left, insort
from math import inf

#: Tasks with less output say more about messages than about the worker.
_TELLING_BYTES = 65_536

#: Tasks before a pace is believed: the first ones open files and warm caches.
_TELLING_TASKS = 4

#: Weight of the latest task in the running mean.
_LATEST = 0.3

#: One task counts as so many times the mean at the most: a file that was not in the page cache is no slow worker.
_MOST_NEWS = 4.0

#: Reports that come this soon after one another, in seconds, and as many as a worker has small tasks at the most, are
#: one piece of news. Either the worker sent them together, or they lay unread while the daemon was busy: how long each
#: task took, none of them tells.
_TOGETHER_S, _MOST_TOGETHER = 0.001, 16

#: The least share of a task's time that counts as work.
_WORKED = 0.05

#: A worker is a straggler when it takes so many times as long as the usual one, and no more when it takes half of that.
_STRAGGLING, _RECOVERED = 3.0, 1.5

#: A byte counts twice with a worker that takes so many times as long as the usual one, and once below the other.
_SLOWER, _AS_FAST = 1.7, 1.2

#: A straggler rests for so many times the length of its latest task before it is tried again.
_REST = 10.0


#: A task is late when it takes so many times as long as its worker should need, and at least so many seconds. The
#: first task of a worker opens files and loads libraries, and is given longer.
_LATE, LATE_S, _FIRST_LATE_S = 4.0, 1.0, 10.0

#: A worker whose late task nobody else can do, for want of memory, is given up after so many times as long.
_GIVEN_UP = 1.4


class Pace:
    """Seconds for each byte of output, and for a task of whatever size, as running means over one worker's latest."""

    __slots__ = (
        "_bytes",
        "_latest",
        "_mean",
        "_mean_before",
        "_news",
        "_seconds",
        "_task_s",
        "_together",
        "begun_at",
        "s_per_byte",
    )

    def __init__(self) -> None:
        self.s_per_byte: float | None = None  # the mean, None while too little is known
        self._task_s: float | None = None  # for a task, None before the first one ended
        self.begun_at: float | None = None  # when it came to the task that it is at
        self._news = 0  # pieces of it so far
        self._together = 0  # reports that the latest one consists of
        self._seconds, self._bytes = 0.0, 0  # of the latest one
        self._latest = 0.0  # of the latest one, seconds for each byte; bounded
        self._mean_before = self._mean = 0.0  # without and with it

    def begun(self, now: float) -> None:
        """Note that the worker begins a task."""
        self.begun_at = now

    def ended(self, size_bytes: int, now: float, waited_s: float = 0.0) -> None:
        """Note that it ended the task, and begins the next one if it has one.

        Waiting for the disk says nothing about the worker: a read takes as long in the others.
        """
        if self.begun_at is not None:
            seconds = now - self.begun_at
            self._task_s = seconds if self._task_s is None else _LATEST * seconds + (1 - _LATEST) * self._task_s
            if size_bytes >= _TELLING_BYTES:
                self._take_in(size_bytes, max(seconds - waited_s, _WORKED * seconds))
        self.begun_at = now

    def late_at(self, size_bytes: int) -> float:
        """Return when a task that has begun is late, by what its worker needed before; never when it is at none."""
        if self.begun_at is None:
            return inf
        if self._task_s is None:
            return self.begun_at + _FIRST_LATE_S
        return self.begun_at + max(LATE_S, _LATE * max(self._task_s, self._mean * size_bytes))

    def given_up_at(self, size_bytes: int) -> float | None:
        """Return until when a late task is waited for where nobody else can do it; None where that is not known."""
        if self.begun_at is None or self._task_s is None:
            return None
        return self.begun_at + _GIVEN_UP * (self.late_at(size_bytes) - self.begun_at)

    @property
    def rested_at(self) -> float:
        """When a straggler that has nothing to do since it ended its latest task can be tried again.

        However slow it is, it holds somebody up for a tenth of the time at the most, and so the tries need not wait
        until there is more to do than the others can take. One that stood still for long rests no longer than one that
        became so slow: how long it stood says nothing about its next task.
        """
        return -inf if self.begun_at is None else self.begun_at + _REST * self._latest * self._bytes

    def _take_in(self, size_bytes: int, seconds: float) -> None:
        if not self._news or seconds >= _TOGETHER_S or self._together >= _MOST_TOGETHER:
            self._news += 1
            self._mean_before = self._mean
            self._seconds, self._bytes, self._together = 0.0, 0, 0
        self._seconds += seconds
        self._bytes += size_bytes
        self._together += 1
        latest = self._seconds / self._bytes
        if self._news > 1 and self._mean_before:
            latest = min(latest, _MOST_NEWS * self._mean_before)
        self._latest = latest
        self._mean = latest if self._news == 1 else _LATEST * latest + (1 - _LATEST) * self._mean_before
        if self._news >= _TELLING_TASKS:
            self.s_per_byte = self._mean


class Paces:
    """The paces of all workers that have one, to tell who is far slower than the usual one."""

    def __init__(self) -> None:
        self._of: dict[int, float] = {}
        self._sorted: list[tuple[float, int]] = []  # with their workers

    def put(self, worker: int, s_per_byte: float) -> None:
        """Take note of a worker's latest pace."""
        before = self._of.get(worker)
        if before is not None:
            del self._sorted[bisect_left(self._sorted, (before, worker))]
        self._of[worker] = s_per_byte
        insort(self._sorted, (s_per_byte, worker))

    def forget(self, worker: int) -> None:
        """Drop a worker that does not count any more."""
        before = self._of.pop(worker, None)
        if before is not None:
            del self._sorted[bisect_left(self._sorted, (before, worker))]

    @property
    def usual(self) -> int:
        """The worker that has the usual pace, the lower median; there must be one."""
        return self._sorted[(len(self._sorted) - 1) // 2][1]

    def cost(self, worker: int, *, before: int) -> int:
        """Return what a byte of a worker that has a pace counts: 2 for one that is clearly slower than the usual one.

        Parameters
        ----------
        worker
            Who.
        before
            What it counted so far: it changes only where that is clear.
        """
        ratio = self._of[worker] / self._sorted[(len(self._sorted) - 1) // 2][0]
        return 2 if ratio > (_AS_FAST if before > 1 else _SLOWER) else 1

    def is_straggler(self, worker: int, *, before: bool) -> bool:
        """Return whether a worker is far slower than the usual one, which never is.

        Parameters
        ----------
        worker
            Who; must have a pace.
        before
            Whether it was a straggler so far: one stays one until it is nearly as fast as the others again.
        """
        usual = self._sorted[(len(self._sorted) - 1) // 2][0]
        return self._of[worker] > usual * (_RECOVERED if before else _STRAGGLING)
