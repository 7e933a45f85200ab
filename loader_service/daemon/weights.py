"""Says which workers have grown too large and are to be replaced; measures nothing and knows no process."""

from __future__ import annotations

from dataclasses import dataclass

#: A worker that is as heavy as the one before it within this time, in seconds, shows what its work takes, not a leak.
_LEAST_LIFE_S = 60.0


@dataclass(frozen=True)
class Verdict:
    """What is to be noted of a worker that is too heavy, and whether it is to be replaced."""

    line: str
    is_replaced: bool


@dataclass
class _Worker:
    since: float
    bytes_at_start: int
    is_replaced: bool = False


class Weights:
    """The workers' memory of their own, and how much of it each may have.

    A worker that grows is replaced by a fresh one, since HDF5 does not give back all that it takes. Where the fresh one
    is too heavy as well, as soon as it works, replacing it would go on for ever: a source that loads its data with its
    first item is such a case. Then all workers may have twice as much.

    Parameters
    ----------
    limit_bytes
        What a worker may have at first.
    """

    def __init__(self, limit_bytes: int) -> None:
        self._limit_bytes = limit_bytes
        self._replaced_any = False
        self._workers: dict[int, _Worker] = {}

    def begins(self, worker: int, now: float, bytes_at_start: int = 0) -> None:
        """Take in a worker; what it has at its start is not counted."""
        self._workers[worker] = _Worker(now, bytes_at_start)

    def ends(self, worker: int) -> None:
        """Forget a worker."""
        self._workers.pop(worker, None)

    def judge(self, worker: int, own_bytes: int, now: float) -> Verdict | None:
        """Return what there is to say of a worker that has so much; None while all is well, or all is said."""
        known = self._workers[worker]
        own, limit = own_bytes - known.bytes_at_start, self._limit_bytes
        if known.is_replaced or own <= limit:
            return None
        if self._replaced_any and now - known.since < _LEAST_LIFE_S:
            self._limit_bytes = 2 * own
            return Verdict(
                f"worker {worker} has {own} bytes of its own, more than {limit}, as soon as it works, like the one "
                f"before it; workers are now replaced above {2 * own} bytes: raise --worker-memory",
                is_replaced=False,
            )
        known.is_replaced = self._replaced_any = True
        line = f"worker {worker} has {own} bytes of its own, more than --worker-memory={limit}; replacing it"
        return Verdict(line, is_replaced=True)
