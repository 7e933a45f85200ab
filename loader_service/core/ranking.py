"""Numbers with a rank that changes often; the first one is found without looking at all of them. Pure."""

from __future__ import annotations

from heapq import heapify, heappop, heappush, heapreplace
from typing import Generic, TypeVar

Rank = TypeVar("Rank", float, tuple[int, int])

#: Stale entries that are kept beside as many live ones, before the heap is made anew.
_MOST_STALE = 64


class Ranking(Generic[Rank]):
    """A priority queue of numbers, each of which can be given another rank, or be taken out, at any time.

    The heap has an entry for each number whose rank is at most the number's own: one that gets a later rank, or is
    taken out, leaves its entry until that comes first. Most ranks here are times that only move on, so most changes
    touch no heap.
    """

    __slots__ = ("_earliest", "_heap", "_ranks")

    def __init__(self) -> None:
        self._ranks: dict[int, Rank] = {}
        self._earliest: dict[int, Rank] = {}  # of each number: its lowest entry in the heap
        self._heap: list[tuple[Rank, int]] = []

    def __len__(self) -> int:
        return len(self._ranks)

    def put(self, number: int, rank: Rank) -> None:
        """Give a number a rank; the lower number is first where ranks are equal."""
        self._ranks[number] = rank
        earliest = self._earliest.get(number)
        if earliest is None or rank < earliest:
            self._earliest[number] = rank
            heappush(self._heap, (rank, number))
            if len(self._heap) > 2 * len(self._ranks) + _MOST_STALE:
                self._earliest = self._ranks.copy()
                self._heap = [(each, known) for known, each in self._ranks.items()]
                heapify(self._heap)

    def discard(self, number: int) -> None:
        """Take a number out, if it is there."""
        self._ranks.pop(number, None)

    def first(self) -> tuple[Rank, int] | None:
        """Return the lowest rank and its number, None when there is none."""
        heap = self._heap
        while heap:
            entry = heap[0]
            number = entry[1]
            rank = self._ranks.get(number)
            if rank == entry[0]:
                return entry
            if self._earliest.get(number) != entry[0]:
                heappop(heap)  # a lower one has stood for the number since
            elif rank is None:
                heappop(heap)
                del self._earliest[number]
            else:
                self._earliest[number] = rank
                heapreplace(heap, (rank, number))
        return None
