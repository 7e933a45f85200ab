"""The order of `tf.data`'s `interleave`, at any place without the places before it; knows files as counts of samples.

As `Dataset.interleave` has it: `cycle_length` places are visited in turn, each giving `block_length` samples of the
file that is open there. A place whose file has ended when it is to give more passes its turn on, and opens the next
file when its turn comes again.

So a file of n samples has n // block_length + 1 turns, the last one perhaps without a sample, in as many *rounds*
through the places. From a walk over the files alone it follows in which round and at which place each file begins.
Between two rounds in which a file begins or ends, each round gives the same number of samples; these *stretches*, three
a file at the most, are what is kept: about 100 bytes a file, and nothing a sample.
"""

from __future__ import annotations

import heapq
import itertools

import numpy as np
from numpy.typing import NDArray

from loader_service.plan.epoch import Plan
from loader_service.plan.order import Permutation
from loader_service.plan.subset import Subset
from loader_service.protocol.spec import Spec

#: Epochs whose order of files is kept: the one in use, and the one that the prefetch has begun.
KEPT_EPOCHS = 2

_Int64s = NDArray[np.int64]


class Interleaving:
    """The order of the samples of some files.

    Parameters
    ----------
    sizes
        (files,) samples of each file, in the order in which the files are opened.
    cycle_length
        Files that are open at a time.
    block_length
        Samples that a file gives in its turn.
    """

    def __init__(self, sizes: _Int64s, cycle_length: int, block_length: int) -> None:
        self._sizes = np.asarray(sizes, np.int64)
        self._block = block_length
        self._places = np.arange(max(1, min(cycle_length, len(self._sizes))))
        lasts, rest = np.divmod(self._sizes, block_length)
        self._begins, places = _walk(lasts + 1, len(self._places))
        lasts += self._begins
        # The first round of each stretch, and what each file adds to the samples of a round, from there on.
        changes = np.concatenate([self._begins, lasts, lasts + 1])
        self._stretches, where = np.unique(changes, return_inverse=True)
        begin, last, end = np.split(where, 3)
        rates = np.zeros_like(self._stretches)
        for at, added in ((begin, block_length), (last, rest - block_length), (end, -rest)):
            np.add.at(rates, at, added)
        per_stretch = np.cumsum(rates)[:-1] * np.diff(self._stretches)
        self._before = np.concatenate([[0], np.cumsum(per_stretch)])  # samples before each stretch
        # Files by place and then by their begin; the stretch stands for the round, as a small number.
        keys = places * len(self._stretches) + begin
        self._by_place = np.argsort(keys)
        self._keys = keys[self._by_place]

    def __call__(self, positions: _Int64s) -> tuple[_Int64s, _Int64s]:
        """Return, for each position of the order, the file and the sample's number within the file.

        Parameters
        ----------
        positions
            (n,) from 0 to one less than all files have samples, rising.
        """
        files, numbers = np.empty_like(positions), np.empty_like(positions)
        # The last stretch that begins at or before the position: one without samples begins where the next one does.
        stretches = np.searchsorted(self._before, positions, side="right") - 1
        edges = np.flatnonzero(np.diff(stretches, prepend=-1, append=-1))
        for low, high in itertools.pairwise(edges.tolist()):
            stretch = int(stretches[low])
            files[low:high], numbers[low:high] = self._within(stretch, positions[low:high] - self._before[stretch])
        return files, numbers

    def _within(self, stretch: int, numbers: _Int64s) -> tuple[_Int64s, _Int64s]:
        """Return file and number in the file of some samples of a stretch, which are numbered within it."""
        opened = self._opened(stretch)
        given = (self._stretches[stretch] - self._begins[opened]) * self._block
        gives = np.clip(self._sizes[opened] - given, 0, self._block)
        ends = np.cumsum(gives)
        rounds, rest = np.divmod(numbers, ends[-1])
        turn = np.searchsorted(ends, rest, side="right")
        return opened[turn], given[turn] + rounds * self._block + rest - (ends - gives)[turn]

    def _opened(self, stretch: int) -> _Int64s:
        """Return the files that are at each place in a stretch: those that began there last."""
        wanted = self._places * len(self._stretches) + stretch
        return self._by_place[np.searchsorted(self._keys, wanted, side="right") - 1]


class InterleavedPlan(Plan):
    """Steps over files that are interleaved, in catalog order or permuted by (seed, epoch).

    Parameters
    ----------
    firsts
        (files + 1,) number of each file's first sample, the last entry being the number of all samples. A file's
        samples follow one another. Numbers are positions in the subset, if there is one.
    spec
        Its `cycle_length` and `block_length` are used beside what `Plan` uses; `shuffle` permutes the files.
    subset
        As in `Plan`.

    Raises
    ------
    ConfigError
        When there are too many samples.
    """

    def __init__(self, firsts: _Int64s, spec: Spec, subset: Subset | None = None) -> None:
        super().__init__(int(firsts[-1]), spec, subset)
        self._firsts = firsts
        self._epochs: dict[int, tuple[_Int64s, Interleaving]] = {}

    def _order(self, epoch: int, positions: _Int64s) -> _Int64s:
        files, interleaving = self._of(epoch)
        opened, numbers = interleaving(positions)
        return np.asarray(self._firsts[files[opened]] + numbers)

    def _of(self, epoch: int) -> tuple[_Int64s, Interleaving]:
        """Return the order of the files in an epoch, and their interleaving, from what is kept if they are there."""
        if not self._spec.shuffle:
            epoch = 0
        made = self._epochs.pop(epoch, None)
        if made is None:
            files = np.arange(len(self._firsts) - 1)
            if self._spec.shuffle:
                files = Permutation(len(files), self._spec.seed, epoch)(files)
            sizes = np.diff(self._firsts)[files]
            made = files, Interleaving(sizes, self._spec.cycle_length, self._spec.block_length)
            if len(self._epochs) >= KEPT_EPOCHS:
                del self._epochs[next(iter(self._epochs))]
        self._epochs[epoch] = made
        return made


def _walk(turns: _Int64s, places: int) -> tuple[_Int64s, _Int64s]:
    """Return the round in which each file begins and its place, from how many turns each has."""
    begins, place = np.zeros_like(turns), np.zeros_like(turns)
    free = [(0, each) for each in range(places)]  # (round, place), a heap: who opens the next file
    for file, count in enumerate(turns.tolist()):
        begins[file], place[file] = round_, at = free[0]
        heapq.heapreplace(free, (round_ + count, at))
    return begins, place
