"""How fast a worker does its tasks, and which workers are stragglers; pure."""

from __future__ import annotations

from collections.abc import Mapping

#: Tasks with less output say more about messages than about the worker.
_TELLING_BYTES = 65_536

#: Tasks before a pace is believed: the first ones open files and warm caches.
_TELLING_TASKS = 4

#: Weight of the latest task in the running mean.
_LATEST = 0.3

#: A worker is a straggler when it takes so many times as long as the usual one, and no more when it takes half of that.
_STRAGGLING, _RECOVERED = 3.0, 1.5


class Pace:
    """Seconds for each byte of output, as a running mean over the latest tasks of one worker."""

    def __init__(self) -> None:
        self._begun: float | None = None
        self._tasks = 0
        self._mean = 0.0

    @property
    def s_per_byte(self) -> float | None:
        """The mean, None while too little is known."""
        return self._mean if self._tasks >= _TELLING_TASKS else None

    def begun(self, now: float) -> None:
        """Note that the worker begins a task."""
        self._begun = now

    def ended(self, size_bytes: int, now: float) -> None:
        """Note that it ended the task, and begins the next one if it has one."""
        if self._begun is not None and size_bytes >= _TELLING_BYTES:
            latest = (now - self._begun) / size_bytes
            self._mean = latest if not self._tasks else _LATEST * latest + (1 - _LATEST) * self._mean
            self._tasks += 1
        self._begun = now


def stragglers(paces: Mapping[int, float], before: frozenset[int]) -> frozenset[int]:
    """Return the workers that are far slower than the usual one.

    Parameters
    ----------
    paces
        Seconds for each byte, by worker.
    before
        Who was a straggler so far: one stays one until it is nearly as fast as the others again.

    Returns
    -------
    frozenset of int
        Never all workers: the usual one is the lower median.
    """
    if not paces:
        return frozenset()
    usual = sorted(paces.values())[(len(paces) - 1) // 2]
    return frozenset(
        worker for worker, pace in paces.items() if pace > usual * (_RECOVERED if worker in before else _STRAGGLING)
    )
