"""What is left of an epoch after some ranks have consumed some of it; knows places as numbers, no sample and no file.

Rank r of w ranks has the places r, r + w, r + 2 w, … of a sequence, so its k-th place lies in *row* k. When it has
consumed its first t places, those of rows t and more are left. Ranks may differ in t: between two neighbouring values
of t the same ranks have places left in each row. These *stretches*, one for each value of t, are all that is kept, so
place j of what is left is found without the places before it.

What is left is a sequence again, in the same order, and other ranks can share that, and stop in its middle, and so on.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

_Int64s = NDArray[np.int64]


class Remainder:
    """The places of a sequence that are left.

    Parameters
    ----------
    count
        Places of the sequence.
    world
        Ranks that have shared it.
    taken
        How many of its places each rank has consumed, from its first one on: ``(world,)``, or ``(1,)`` when all have
        consumed as many.
    returned
        Places among those that count as taken and are left all the same, rising. They come before all others.

    Attributes
    ----------
    count : int
        Places that are left.
    """

    def __init__(self, count: int, world: int, taken: _Int64s, returned: _Int64s | None = None) -> None:
        self._world = world
        self._returned = np.empty(0, np.int64) if returned is None else returned
        self._taken = np.asarray(taken, np.int64)
        self._rows, ranks = np.unique(self._taken, return_counts=True)  # the first row of each stretch
        self._active = np.cumsum(ranks)  # ranks that have places left in its rows
        self._active[-1] = world
        per_stretch = np.diff(self._rows) * self._active[:-1]
        self._before = np.concatenate([[0], np.cumsum(per_stretch)])  # places left before each stretch
        # In the last row some ranks have no place. Those would come last of all, so nothing before them moves.
        gone = int(np.minimum(self._taken, places_of_ranks(count, world, len(self._taken))).sum())
        if len(self._taken) == 1:
            gone = min(count, int(self._taken[0]) * world)
        self.count = count - gone + len(self._returned)

    def __call__(self, places: _Int64s) -> _Int64s:
        """Return the places of the sequence where those of the rest lie.

        Parameters
        ----------
        places
            (n,) from 0 to one less than `count`.
        """
        places = np.asarray(places, np.int64)
        found = np.empty_like(places)
        first = places < len(self._returned)
        found[first] = self._returned[places[first]]
        found[~first] = self._regular(places[~first] - len(self._returned))
        return found

    def _regular(self, places: _Int64s) -> _Int64s:
        stretches = np.searchsorted(self._before, places, side="right") - 1
        found = np.empty_like(places)
        for stretch in np.unique(stretches).tolist():
            here = stretches == stretch
            rows, turns = np.divmod(places[here] - self._before[stretch], self._active[stretch])
            if self._active[stretch] < self._world:
                turns = np.flatnonzero(self._taken <= self._rows[stretch])[turns]
            found[here] = (self._rows[stretch] + rows) * self._world + turns
        return found


def places_of_ranks(count: int, world: int, ranks: int) -> _Int64s:
    """Return how many places of a sequence each of the first ranks has, ``(ranks,)``."""
    return np.maximum(0, -(-(count - np.arange(ranks, dtype=np.int64)) // world))
