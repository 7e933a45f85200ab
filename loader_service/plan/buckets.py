"""Steps of samples of similar length, and what padding costs; knows lengths as numbers, no video and no slot.

A shard's part of the epoch's order is cut into blocks of some batches. The samples of a block are sorted by length and
cut into batches, and the batches take turns in an order of their own. So each step is a function of its block alone,
and a block has the same samples as it would have without buckets.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike, NDArray

from loader_service.plan.epoch import Plan
from loader_service.plan.randomness import Purpose, draws
from loader_service.plan.subset import Subset
from loader_service.protocol.spec import Spec

#: Batches that are sorted together: `docs/order.md` has the padding that is left for some numbers of them.
BUCKET_BATCHES = 64

#: Samples that are sorted together at the most: 8 bytes each are kept, of each of a few blocks.
MOST_SORTED = 2**18

#: Samples of epoch 0 that the share of padding is computed from, at the most.
MEASURED_SAMPLES = 2**17

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
        super().__init__(sample_count, spec, subset)
        self._lengths_of = lengths_of
        self.block_steps = max(1, min(BUCKET_BATCHES, MOST_SORTED // spec.batch_size))

    def _make_block(self, epoch: int, block: int) -> NDArray[np.int64]:
        samples = super()._make_block(epoch, block)
        batch_size = self._spec.batch_size
        if self._spec.shuffle:
            # A batch that is not full is the epoch's last step: it gets what the order has last, of any length.
            full = len(samples) // batch_size * batch_size
            batches = self._sorted(samples[:full]).reshape(-1, batch_size)
            keys = draws(self._spec.seed, epoch, block * self.block_steps + np.arange(len(batches)), Purpose.BUCKET)
            return np.concatenate([batches[np.argsort(keys)].reshape(-1), samples[full:]])
        return self._sorted(samples)

    def _sorted(self, samples: NDArray[np.int64]) -> NDArray[np.int64]:
        return np.asarray(samples[np.argsort(self._lengths_of(samples), kind="stable")])


def padding_share(plan: Plan, batch_size: int, lengths_of: LengthsOf) -> float:
    """Return which share of the frames of padded batches is padding, 0 to 1, in epoch 0.

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
    blocks = -(-plan.steps_per_epoch // plan.block_steps)
    for block in range(min(blocks, max(1, MEASURED_SAMPLES // (plan.block_steps * batch_size)))):
        lengths = lengths_of(plan.block(0, block))
        begins = np.arange(0, len(lengths), batch_size)
        rows = np.diff(begins, append=len(lengths))
        real += int(lengths.sum())
        room += int((np.maximum.reduceat(lengths, begins) * rows).sum())
    return 1 - real / room if room else 0.0
