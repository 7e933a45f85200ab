"""Which worker owns which files: balanced by bytes, moving as few files as possible; pure."""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Sequence


class Ownership:
    """Files and their owners.

    A worker reads its own files, so their descriptors and cached pages stay with one process; any worker can read any
    file when it helps out. The result depends on the order of joins and leaves only, never on time.

    Parameters
    ----------
    file_bytes
        Payload of each file in bytes: the measure of balance.
    """

    def __init__(self, file_bytes: Sequence[int]) -> None:
        self._bytes = list(file_bytes)
        self._owner: list[int | None] = [None] * len(self._bytes)
        self._files: dict[int, list[tuple[int, int]]] = {}  # of each worker: (bytes, file), sorted
        self._load: dict[int, int] = {}
        self.changes = 0  # how often files changed hands: what was grouped by owner before is stale

    @property
    def workers(self) -> tuple[int, ...]:
        """Workers that take part, in the order in which they joined."""
        return tuple(self._files)

    def owner(self, file: int) -> int | None:
        """Return the owner of a file, None while there are no workers."""
        return self._owner[file]

    def files(self, worker: int) -> tuple[int, ...]:
        """Return the files of a worker, sorted."""
        return tuple(sorted(file for _, file in self._files.get(worker, ())))

    def join(self, worker: int) -> None:
        """Let a worker take part: it takes files from the most loaded ones while that evens the loads out."""
        first = not self._files
        self.changes += 1
        self._files[worker] = []
        self._load[worker] = 0
        if first:
            for file in range(len(self._bytes)):
                self._give(file, worker)
            return
        while (move := self._next_move(worker)) is not None:
            self._give(move, worker)

    def leave(self, worker: int) -> None:
        """Take a worker out: each of its files, the largest first, goes to the least loaded of the others."""
        files = self._files.pop(worker)
        del self._load[worker]
        self.changes += 1
        for _, file in reversed(files):
            self._owner[file] = None
            if self._files:
                self._give(file, min(self._load, key=lambda each: (self._load[each], each)))

    def _next_move(self, worker: int) -> int | None:
        """Return the file of the most loaded worker whose move evens the two out best; None when no move helps.

        A move helps while the file is smaller than the gap: then the sum of the squared loads falls, so moves end.
        """
        donor = max(self._load, key=lambda each: (self._load[each], -each))
        gap = self._load[donor] - self._load[worker]
        files = self._files[donor]
        larger = bisect_left(files, (gap / 2,))
        nearest = files[max(0, larger - 1) : larger + 1]  # to half the gap, from below and from above
        helpful = [(abs(gap - 2 * size), file) for size, file in nearest if 0 < size < gap]
        return min(helpful)[1] if helpful else None

    def _give(self, file: int, worker: int) -> None:
        before = self._owner[file]
        if before is not None:
            of_before = self._files[before]
            of_before.pop(bisect_left(of_before, (self._bytes[file], file)))
            self._load[before] -= self._bytes[file]
        self._owner[file] = worker
        insort(self._files[worker], (self._bytes[file], file))
        self._load[worker] += self._bytes[file]
