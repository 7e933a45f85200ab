"""Numbers with a rank that changes often; the first one is found without looking at all of them. Pure."""

from __future__ import annotations

from heapq import heapify, heappop, heappush
from typing import Generic, TypeVar

Rank = TypeVar("Rank", float, tuple[int, int])

#: Stale entries that are kept beside as many live ones, before the heap is made anew.
_MOST_STALE = 64


class Ranking(Generic[Rank]):
    """A priority queue of numbers, each of which can be given another rank, or be taken out, at any time.

    One that gets another rank leaves a stale entry in the heap. Stale entries are dropped when they come first, and
    all together when there are more of them than live ones; so each change costs O(log n) on average.
    """

    def __init__(self) -> None:
        self._ranks: dict[int, Rank] = {}
        self._heap: list[tuple[Rank, int]] = []

    def __len__(self) -> int:
        return len(self._ranks)

    def put(self, number: int, rank: Rank) -> None:
        """Give a number a rank; the lower number is first where ranks are equal."""
        if self._ranks.get(number) == rank:
            return
        self._ranks[number] = rank
        heappush(self._heap, (rank, number))
        if len(self._heap) > 2 * len(self._ranks) + _MOST_STALE:
            self._heap = [(each, known) for known, each in self._ranks.items()]
            heapify(self._heap)

    def discard(self, number: int) -> None:
        """Take a number out, if it is there."""
        self._ranks.pop(number, None)

    def first(self) -> tuple[Rank, int] | None:
        """Return the lowest rank and its number, None when there is none."""
        heap, ranks = self._heap, self._ranks
        while heap:
            rank, number = heap[0]
            if ranks.get(number) == rank:
                return heap[0]
            heappop(heap)
        return None
