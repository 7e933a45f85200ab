"""Which worker owns which files: balanced by bytes, moving as few files as possible; pure."""

from __future__ import annotations

from array import array
from bisect import bisect_left, insort
from collections.abc import Sequence

#: Files move one by one up to so many, and beyond that in so many groups: a worker's coming or going then takes
#: milliseconds with a million files too.
MOST_GROUPS = 4096


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
        self._group_of = _grouped(file_bytes)
        groups = min(len(file_bytes), MOST_GROUPS)
        self._bytes = [0] * groups
        self._count = [0] * groups
        for file, group in enumerate(self._group_of):
            self._bytes[group] += file_bytes[file]
            self._count[group] += 1
        self._owner: list[int | None] = [None] * groups
        self._owned: dict[int, list[tuple[int, int]]] = {}  # of each worker: (bytes, group), sorted
        self._cost: dict[int, int] = {}  # of each worker: what a byte counts
        self._load: dict[int, int] = {}  # bytes by cost
        self._by_load: list[tuple[int, int]] = []  # (load, worker), sorted
        self.changes = 0  # how often files changed hands: what was grouped by owner before is stale

    @property
    def workers(self) -> tuple[int, ...]:
        """Workers that take part, in the order in which they joined."""
        return tuple(self._owned)

    @property
    def worker_count(self) -> int:
        """How many workers take part."""
        return len(self._owned)

    def owner(self, file: int) -> int | None:
        """Return the owner of a file, None while there are no workers."""
        return self._owner[self._group_of[file]]

    def by_owner(self, files: Sequence[int]) -> list[list[int]]:
        """Return the places of files in `files`, those with the same owner together."""
        places: dict[int | None, list[int]] = {}
        owners, group_of = self._owner, self._group_of
        for place, file in enumerate(files):
            owner = owners[group_of[file]]
            if owner in places:
                places[owner].append(place)
            else:
                places[owner] = [place]
        return list(places.values())

    def files(self, worker: int) -> tuple[int, ...]:
        """Return the files of a worker, sorted."""
        groups = {group for _, group in self._owned.get(worker, ())}
        return tuple(file for file, group in enumerate(self._group_of) if group in groups)

    def file_count(self, worker: int) -> int:
        """Return how many files a worker has."""
        return sum(self._count[group] for _, group in self._owned.get(worker, ()))

    def join(self, worker: int, cost: int = 1) -> None:
        """Let a worker take part: it takes files from the most loaded ones while that evens the loads out.

        Parameters
        ----------
        worker
            Who.
        cost
            What a byte counts: of two workers, one with twice the cost gets half the bytes.
        """
        self.changes += 1
        first = not self._owned
        self._owned[worker], self._cost[worker] = [], cost
        self._set_load(worker, 0)
        if first:
            self._owner = [worker] * len(self._bytes)
            self._owned[worker] = sorted((size, group) for group, size in enumerate(self._bytes))
            self._set_load(worker, cost * sum(self._bytes))
            return
        self._fill(worker)

    def weigh(self, worker: int, cost: int) -> None:
        """Let a byte of a worker count more or less: some of its files go to others, or of others to it."""
        self.changes += 1
        self._cost[worker] = cost
        self._set_load(worker, cost * sum(size for size, _ in self._owned[worker]))
        self._fill(worker)
        while (move := self._move(worker, self._by_load[0][1])) is not None:
            self._give(move, self._by_load[0][1])

    def leave(self, worker: int) -> None:
        """Take a worker out: each of its files, the largest first, goes to the least loaded of the others."""
        groups = self._owned.pop(worker)
        del self._cost[worker]
        self._by_load.remove((self._load.pop(worker), worker))
        self.changes += 1
        for _, group in reversed(groups):
            self._owner[group] = None
            if self._owned:
                self._give(group, self._by_load[0][1])

    def _fill(self, worker: int) -> None:
        """Give a worker files of the most loaded ones while that evens the loads out."""
        while True:
            donor = self._by_load[bisect_left(self._by_load, (self._by_load[-1][0],))][1]
            move = self._move(donor, worker)
            if move is None:
                return
            self._give(move, worker)

    def _move(self, donor: int, taker: int) -> int | None:
        """Return the files of one worker whose move to another evens the two out best; None when no move helps.

        A move helps while it changes the gap by less than twice its size: then the sum of the squared loads, each
        divided by its worker's cost, falls, so moves end.
        """
        gap = self._load[donor] - self._load[taker]
        costs = 0 if donor == taker else self._cost[donor] + self._cost[taker]
        if not costs:
            return None
        owned = self._owned[donor]
        larger = bisect_left(owned, (gap / costs,))
        nearest = owned[max(0, larger - 1) : larger + 1]  # to what makes them even, from below and from above
        helpful = [(abs(gap - costs * size), group) for size, group in nearest if 0 < costs * size < 2 * gap]
        return min(helpful)[1] if helpful else None

    def _give(self, group: int, worker: int) -> None:
        size, before = self._bytes[group], self._owner[group]
        if before is not None:
            of_before = self._owned[before]
            of_before.pop(bisect_left(of_before, (size, group)))
            self._set_load(before, self._load[before] - size * self._cost[before])
        self._owner[group] = worker
        insort(self._owned[worker], (size, group))
        self._set_load(worker, self._load[worker] + size * self._cost[worker])

    def _set_load(self, worker: int, load: int) -> None:
        before = self._load.get(worker)
        if before is not None:
            del self._by_load[bisect_left(self._by_load, (before, worker))]
        self._load[worker] = load
        insort(self._by_load, (load, worker))


def _grouped(file_bytes: Sequence[int]) -> array[int]:
    """Return the group of each file; groups have nearly the same bytes, and one file each while there are few files.

    Files are dealt out by size, to and fro, so that a group that got a larger one gets a smaller one next.
    """
    count = len(file_bytes)
    if count <= MOST_GROUPS:
        return array("H", range(count))
    group_of = array("H", bytes(2 * count))
    for place, file in enumerate(sorted(range(count), key=lambda each: (-file_bytes[each], each))):
        turn, seat = divmod(place, MOST_GROUPS)
        group_of[file] = seat if turn % 2 == 0 else MOST_GROUPS - 1 - seat
    return group_of
