"""One number that stands for a share and its order: an iterator's checkpoint has it, and fits no other dataset. Pure.

A checkpoint of an iterator counts steps. In a dataset with another rank, world, batch size or order the same count is
another place: some samples would come twice, and others not at all.
"""

from __future__ import annotations

import hashlib
from collections.abc import Hashable

from loader_service.errors import ConfigError

#: Ranks and worlds are told apart below this; what is left of 62 bits is a digest.
_RANKS = 2**20
_DIGESTS = 2**22


def share_number(shard: tuple[int, int], *order: Hashable) -> int:
    """Return the number, below 2**62.

    Parameters
    ----------
    shard
        Rank and world.
    order
        What decides which sample comes when, beside that; made of numbers, texts and tuples.
    """
    rank, world = (each % _RANKS for each in shard)
    digest = int.from_bytes(hashlib.blake2b(repr(order).encode(), digest_size=4).digest(), "big")
    return (digest % _DIGESTS * _RANKS + world) * _RANKS + rank


def check_saved(saved: int, own: int) -> None:
    """Make sure that an iterator's checkpoint was saved by such a dataset.

    Raises
    ------
    ConfigError
        When it was not: says what differs.
    """
    if saved == own:
        return
    (saved_as, of), (rank, world) = _shard(saved), _shard(own)
    if (saved_as, of) != (rank, world):
        raise ConfigError(
            f"the iterator's checkpoint was saved by rank {saved_as} of {of}, and this is rank {rank} of {world}: "
            "its steps are other samples; save `loader_client.state_after(dataset, batches)` beside it, and give "
            "the states of all ranks as start= instead of restoring the iterator"
        )
    raise ConfigError(
        "the iterator's checkpoint was saved with another batch size, seed or order, of other samples, or with other "
        "states of ranks as start=, so its steps are other samples; give the same, or leave the iterator out of the "
        "checkpoint and give start=(epoch, step)"
    )


def _shard(number: int) -> tuple[int, int]:
    return number % _RANKS, number // _RANKS % _RANKS
