"""Some of the samples, as runs of their numbers: what an epoch goes through when it is not all. Knows no video."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

_Int64s = NDArray[np.int64]


class Subset:
    """Samples that were chosen, in the order of their numbers.

    A sample's *position* is how many chosen samples come before it. 24 bytes a run are kept, nothing a sample.

    Parameters
    ----------
    firsts, ends
        (runs,) number of the first sample of each run, and the number after its last; rising, without overlap.

    Attributes
    ----------
    count : int
        Samples that were chosen.
    """

    def __init__(self, firsts: ArrayLike, ends: ArrayLike) -> None:
        firsts, ends = np.asarray(firsts, np.int64), np.asarray(ends, np.int64)
        filled = ends > firsts
        self._firsts, self._ends = firsts[filled], ends[filled]
        self._bounds: _Int64s = np.concatenate([[0], np.cumsum(self._ends - self._firsts)]).astype(np.int64)
        self.count = int(self._bounds[-1])

    @classmethod
    def where(cls, chosen: NDArray[np.bool_]) -> Subset:
        """Return the samples, ``(samples,)``, for which it is True."""
        return cls(*runs_of(chosen))

    def numbers(self, positions: ArrayLike) -> _Int64s:
        """Return the samples at positions, 0 to one less than `count`, in the same shape."""
        positions = np.asarray(positions, np.int64)
        runs = np.searchsorted(self._bounds, positions, side="right") - 1
        return np.asarray(positions + (self._firsts - self._bounds[:-1])[runs])

    def before(self, samples: ArrayLike) -> _Int64s:
        """Return how many chosen samples have a smaller number: the position of one that was chosen."""
        samples = np.asarray(samples, np.int64)
        runs = np.searchsorted(self._ends, samples, side="right")
        inside = samples - np.append(self._firsts, samples.max(initial=0))[runs]
        return np.asarray(self._bounds[runs] + np.maximum(inside, 0))


def runs_of(chosen: NDArray[np.bool_]) -> tuple[_Int64s, _Int64s]:
    """Return where runs of True begin and where they have ended."""
    edges = np.flatnonzero(np.diff(chosen, prepend=False, append=False))
    return edges[::2], edges[1::2]
