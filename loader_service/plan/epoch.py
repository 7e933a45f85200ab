"""Which samples make a step of an epoch: order, batches and shards; knows samples as numbers, nothing behind them."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from loader_service.errors import ConfigError
from loader_service.plan.order import MAX_POSITIONS, Permutation
from loader_service.plan.subset import Subset
from loader_service.protocol.spec import Spec

#: Positions that are worked out at once. One call over a block costs two to four times a call over a batch of 16.
BLOCK_POSITIONS = 4096

#: Blocks that are kept, of 32 KiB each: two trainers' iterators in two epochs of one plan do not push each other out.
KEPT_BLOCKS = 8


class Plan:
    """The samples of each step, as a pure function of epoch and step.

    An epoch goes through all samples once, permuted by (seed, epoch) or in their own order. Shard `rank` of `world`
    takes positions rank, rank + world, rank + 2 world, … of it. With `drop_remainder`, every shard has the same number
    of full steps, and what is left over differs from epoch to epoch when shuffled; without, the shards together have
    every sample exactly once, and their numbers of steps may differ by one.

    What was worked out lately is kept, which changes no answer. For use by one thread.

    Parameters
    ----------
    sample_count
        Samples that exist, 0 to 2**62.
    spec
        Its `batch_size`, `shuffle`, `seed`, `shard` and `drop_remainder` are used.
    subset
        The samples that an epoch goes through, `sample_count` of them; None: all, numbered from 0.

    Attributes
    ----------
    sample_count : int
        Samples that an epoch has, in all shards.
    samples_per_epoch : int
        Samples that this shard delivers in an epoch.
    steps_per_epoch : int
        Steps of this shard in an epoch; 0 when there are too few samples for one.
    subset : Subset or None
        As given.
    block_steps : int
        Steps that are worked out at once.

    Raises
    ------
    ConfigError
        When `sample_count` is out of range.
    """

    def __init__(self, sample_count: int, spec: Spec, subset: Subset | None = None) -> None:
        if not 0 <= sample_count <= MAX_POSITIONS:
            raise ConfigError(f"planning steps of {sample_count!r} samples; give 0 to {MAX_POSITIONS}")
        self.sample_count = sample_count
        self._spec = spec
        self.subset = subset
        rank, world = spec.shard
        if spec.drop_remainder:
            self.steps_per_epoch = sample_count // world // spec.batch_size
            self.samples_per_epoch = self.steps_per_epoch * spec.batch_size
        else:
            self.samples_per_epoch = max(0, -(-(sample_count - rank) // world))
            self.steps_per_epoch = -(-self.samples_per_epoch // spec.batch_size)
        # A whole number of steps, so that no step lies in two blocks.
        self.block_steps = max(1, BLOCK_POSITIONS // spec.batch_size)
        self._kept: dict[tuple[int, int], NDArray[np.int64]] = {}

    def samples(self, epoch: int, step: int) -> NDArray[np.int64]:
        """Return the samples of one step, in the order of its rows.

        Parameters
        ----------
        epoch
            Epoch number, from 0.
        step
            Step of the epoch, from 0.

        Returns
        -------
        NDArray[np.int64]
            (batch_size,) sample numbers, a fresh array; fewer in the last step when the remainder is not dropped.

        Raises
        ------
        ConfigError
            When the epoch is negative or has no such step.
        """
        if epoch < 0 or not 0 <= step < self.steps_per_epoch:
            raise ConfigError(
                f"planning step {step!r} of epoch {epoch!r}: an epoch of {self.sample_count} samples has "
                f"{self.steps_per_epoch} steps in shard {self._spec.shard!r}, and both are numbered from 0"
            )
        block, step_in_block = divmod(step, self.block_steps)
        first = step_in_block * self._spec.batch_size
        return np.array(self.block(epoch, block)[first : first + self._spec.batch_size])

    def block(self, epoch: int, block: int) -> NDArray[np.int64]:
        """Return the samples of a block of steps, one step after the other, from what is kept if it is there.

        Not to be written to, since it is kept.
        """
        samples = self._kept.pop((epoch, block), None)
        if samples is None:
            samples = self._make_block(epoch, block)
            if len(self._kept) >= KEPT_BLOCKS:
                del self._kept[next(iter(self._kept))]  # the least lately used: a dict keeps the order of insertion
        self._kept[epoch, block] = samples
        return samples

    def _make_block(self, epoch: int, block: int) -> NDArray[np.int64]:
        places = self._order(epoch, self._positions(block))
        return places if self.subset is None else self.subset.numbers(places)

    def _positions(self, block: int) -> NDArray[np.int64]:
        """Return the positions of the epoch that this shard has in a block of steps."""
        rank, world = self._spec.shard
        size = self.block_steps * self._spec.batch_size
        first, end = block * size, min((block + 1) * size, self.samples_per_epoch)
        return np.arange(first, end, dtype=np.int64) * world + rank

    def _order(self, epoch: int, positions: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the sample at each position of an epoch, as numbered in the subset."""
        if not self._spec.shuffle:
            return positions
        return Permutation(self.sample_count, self._spec.seed, epoch)(positions)
