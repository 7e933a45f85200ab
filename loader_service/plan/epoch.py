"""Which samples make a step of an epoch: order, batches and shards; knows samples as numbers, nothing behind them."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from loader_service.errors import ConfigError
from loader_service.plan.order import MAX_POSITIONS, Permutation
from loader_service.plan.remainder import Remainder, places_of_ranks
from loader_service.plan.subset import Subset
from loader_service.protocol.consumed import Consumed
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

    Of the epoch that `Spec.resumed` names only the rest is left, which is a sequence like a whole epoch: shards take
    its positions in turn. Its steps are the last ones of the epoch by number, so they begin at `first_step`. There are
    never more of them than an epoch has.

    What was worked out lately is kept, which changes no answer. For use by one thread.

    Parameters
    ----------
    sample_count
        Samples that exist, 0 to 2**62.
    spec
        Its `batch_size`, `shuffle`, `seed`, `shard`, `drop_remainder` and `resumed` are used.
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
    resumed_epoch : int or None
        The epoch of which only the rest is left.
    first_step : int
        The first step of that.

    Raises
    ------
    ConfigError
        When `sample_count` is out of range, or more was consumed of an epoch than it has.
    """

    def __init__(self, sample_count: int, spec: Spec, subset: Subset | None = None) -> None:
        if not 0 <= sample_count <= MAX_POSITIONS:
            raise ConfigError(f"planning steps of {sample_count!r} samples; give 0 to {MAX_POSITIONS}")
        self.sample_count = sample_count
        self._spec = spec
        self.subset = subset
        self.samples_per_epoch, self.steps_per_epoch = self._share(sample_count, *spec.shard, spec.batch_size)
        # A whole number of steps, so that no step lies in two blocks.
        self.block_steps = self._steps_together(spec.batch_size)
        self._remainders: list[Remainder] = []
        self.resumed_epoch = None if spec.resumed is None else spec.resumed.epoch
        for each in () if spec.resumed is None else spec.resumed.consumed:
            self._remainders.append(self._after(each))
        self._samples_left, steps_left = self._share(self._places_left, *spec.shard, spec.batch_size)
        self.first_step = self.steps_per_epoch - steps_left
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
        begin = self.first_step if epoch == self.resumed_epoch else 0
        if epoch < 0 or not begin <= step < self.steps_per_epoch:
            raise ConfigError(
                f"planning step {step!r} of epoch {epoch!r}: an epoch of {self.sample_count} samples has "
                f"{self.steps_per_epoch} steps in shard {self._spec.shard!r}, and both are numbered from 0"
                + (f"; of this epoch those from {begin} on are left" if begin else "")
            )
        block, step_in_block = divmod(step - begin, self.block_steps)
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
        rank, world = self._spec.shard
        is_resumed = epoch == self.resumed_epoch
        size = self.block_steps * self._spec.batch_size
        end = min((block + 1) * size, self._samples_left if is_resumed else self.samples_per_epoch)
        places = np.arange(block * size, end, dtype=np.int64) * world + rank
        return self._samples_at(epoch, places, self._remainders if is_resumed else [])

    def _samples_at(self, epoch: int, places: NDArray[np.int64], remainders: list[Remainder]) -> NDArray[np.int64]:
        """Return the samples at places of what is left of an epoch after some worlds."""
        for each in reversed(remainders):
            places = each(places)
        positions = self._order(epoch, places)
        return positions if self.subset is None else self.subset.numbers(positions)

    @property
    def _places_left(self) -> int:
        return self._remainders[-1].count if self._remainders else self.sample_count

    def _after(self, consumed: Consumed) -> Remainder:
        """Return what is left after one more world had its part of what is left so far."""
        count, ranks = self._places_left, len(consumed.steps)
        steps = np.asarray(consumed.steps, np.int64)
        most = [self._share(count, rank, consumed.world, consumed.batch_size)[1] for rank in range(ranks)]
        beyond = np.flatnonzero(steps > most)
        if len(beyond):
            rank = int(beyond[0])
            raise ConfigError(
                f"rank {rank} of {consumed.world} had taken {steps[rank]} steps of epoch {self.resumed_epoch}, of "
                f"which it had {most[rank]}; give the states that this training has saved, with the same data"
            )
        taken = steps * consumed.batch_size
        if ranks > 1:
            taken = np.minimum(taken, places_of_ranks(count, consumed.world, ranks))
        return self._left(count, consumed, taken)

    def _left(self, count: int, consumed: Consumed, taken: NDArray[np.int64]) -> Remainder:
        """Return what is left when each rank has taken its first places."""
        return Remainder(count, consumed.world, taken)

    def _share(self, count: int, rank: int, world: int, batch_size: int) -> tuple[int, int]:
        """Return how many of some samples a rank delivers, and in how many steps."""
        if self._spec.drop_remainder:
            steps = count // world // batch_size
            return steps * batch_size, steps
        samples = max(0, -(-(count - rank) // world))
        return samples, -(-samples // batch_size)

    def _steps_together(self, batch_size: int) -> int:
        """Return how many steps are worked out at once."""
        return max(1, BLOCK_POSITIONS // batch_size)

    def _order(self, epoch: int, positions: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the sample at each position of an epoch, as numbered in the subset."""
        if not self._spec.shuffle:
            return positions
        return Permutation(self.sample_count, self._spec.seed, epoch)(positions)
