"""Steps of samples of similar length, and what padding costs; knows lengths as numbers, no video and no slot.

A shard's part of the epoch's order is cut into blocks of some batches. The samples of a block are sorted by length and
cut into batches, and the batches take turns in an order of their own. So each step is a function of its block alone,
and a block has the same samples as it would have without buckets.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike, NDArray

from loader_service.errors import ConfigError
from loader_service.plan.epoch import Plan
from loader_service.plan.randomness import Purpose, draws
from loader_service.plan.remainder import Remainder
from loader_service.plan.subset import Subset
from loader_service.protocol.consumed import Consumed
from loader_service.protocol.spec import Spec

#: Batches that are sorted together: `docs/order.md` has the padding that is left for some numbers of them.
BUCKET_BATCHES = 64

#: Samples that are sorted together at the most: 8 bytes each are kept, of each of a few blocks.
MOST_SORTED = 2**18

#: Samples of epoch 0 that the share of padding is computed from, at the most.
MEASURED_SAMPLES = 2**17

#: Ranks of whose blocks the rest is worked out when others go on with an epoch.
MOST_BUCKET_RANKS = 4096

#: Returns the length of each sample.
LengthsOf = Callable[[ArrayLike], NDArray[np.int64]]


class BucketPlan(Plan):
    """Steps whose samples have similar lengths.

    Parameters
    ----------
    sample_count
        Samples that exist.
    spec
        What `Plan` uses of it. Without `shuffle`, a block's batches come from the shortest samples to the longest.
    lengths_of
        Returns the length of each sample.
    subset
        As in `Plan`.

    Raises
    ------
    ConfigError
        When `sample_count` is out of range.
    """

    def __init__(self, sample_count: int, spec: Spec, lengths_of: LengthsOf, subset: Subset | None = None) -> None:
        self._lengths_of = lengths_of
        super().__init__(sample_count, spec, subset)

    def _steps_together(self, batch_size: int) -> int:
        return max(1, min(BUCKET_BATCHES, MOST_SORTED // batch_size))

    def _make_block(self, epoch: int, block: int) -> NDArray[np.int64]:
        samples = super()._make_block(epoch, block)
        return np.asarray(samples[self._arranged(epoch, block, samples, self._spec.batch_size)])

    def _arranged(self, epoch: int, block: int, samples: NDArray[np.int64], batch_size: int) -> NDArray[np.int64]:
        """Return which sample of a block comes at each place of its steps."""
        if not self._spec.shuffle:
            return self._by_length(samples)
        # A batch that is not full is the epoch's last step: it gets what the order has last, of any length.
        full = len(samples) // batch_size * batch_size
        batches = self._by_length(samples[:full]).reshape(-1, batch_size)
        steps = block * self._steps_together(batch_size) + np.arange(len(batches))
        keys = draws(self._spec.seed, epoch, steps, Purpose.BUCKET)
        return np.concatenate([batches[np.argsort(keys)].reshape(-1), np.arange(full, len(samples))])

    def _by_length(self, samples: NDArray[np.int64]) -> NDArray[np.int64]:
        return np.argsort(self._lengths_of(samples), kind="stable")

    def _left(self, count: int, consumed: Consumed, taken: NDArray[np.int64]) -> Remainder:
        """Return what is left; of blocks that were begun, the samples of the steps that were not taken come first."""
        if consumed.world > MOST_BUCKET_RANKS:
            raise ConfigError(
                f"resuming in the middle of an epoch with batching='bucket' after {consumed.world} ranks, more than "
                f"{MOST_BUCKET_RANKS}; begin the next epoch"
            )
        taken, returned = np.broadcast_to(taken, consumed.world).copy(), [np.empty(0, np.int64)]
        for rank in range(consumed.world):
            places = self._rest_of_block(count, consumed, rank)
            if places is not None:
                taken[rank], rest = places
                returned.append(rest)
        return Remainder(count, consumed.world, taken, np.sort(np.concatenate(returned)))

    def _rest_of_block(self, count: int, consumed: Consumed, rank: int) -> tuple[int, NDArray[np.int64]] | None:
        """Return the end of the block that a rank was in, and its places that were not consumed; None: in none."""
        together, batch_size = self._steps_together(consumed.batch_size), consumed.batch_size
        block, steps = divmod(consumed.of_rank(rank), together)
        if not steps:
            return None
        samples, _ = self._share(count, rank, consumed.world, batch_size)
        end = min((block + 1) * together * batch_size, samples)
        places = np.arange(block * together * batch_size, end, dtype=np.int64) * consumed.world + rank
        epoch = self.resumed_epoch or 0
        arranged = self._arranged(epoch, block, self._samples_at(epoch, places, self._remainders), batch_size)
        return end, places[arranged[steps * batch_size :]]


def padding_share(plan: Plan, batch_size: int, lengths_of: LengthsOf) -> float:
    """Return which share of the frames of padded batches is padding, 0 to 1, in epoch 0, or 1 if 0 was resumed.

    Parameters
    ----------
    plan
        Whose steps are looked at: `MEASURED_SAMPLES` of them at the most.
    batch_size
        Of the plan.
    lengths_of
        Returns the length of each sample.
    """
    real = room = 0
    epoch = int(plan.resumed_epoch == 0)
    blocks = -(-plan.steps_per_epoch // plan.block_steps)
    for block in range(min(blocks, max(1, MEASURED_SAMPLES // (plan.block_steps * batch_size)))):
        lengths = lengths_of(plan.block(epoch, block))
        begins = np.arange(0, len(lengths), batch_size)
        rows = np.diff(begins, append=len(lengths))
        real += int(lengths.sum())
        room += int((np.maximum.reduceat(lengths, begins) * rows).sum())
    return 1 - real / room if room else 0.0
