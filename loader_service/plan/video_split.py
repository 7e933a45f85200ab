"""Which part of a split a video, or a row of a table, belongs to: a pure hash of its name, or of its number.

Nothing else takes part: no order, no seed, no other video and no path of a file. `docs/order.md` has it in three lines.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from loader_service.plan.randomness import Purpose, draws
from loader_service.protocol.chosen_videos import WORDS, SplitPart

_Words = NDArray[np.uint64]


def words_of_names(names: Iterable[bytes]) -> _Words:
    """Return the hash of each name: the first 64 bits of its BLAKE2b, most significant byte first."""
    digests = b"".join(hashlib.blake2b(name, digest_size=8).digest() for name in names)
    return np.frombuffer(digests, ">u8").astype(np.uint64)


def words_of_rows(table: np.uint64, rows: NDArray[np.int64]) -> _Words:
    """Return the hash of each row of a table, from the hash of the table's name and the row's number in it."""
    return draws(int(table), 0, rows, Purpose.SPLIT)


def is_in(part: SplitPart, words: _Words) -> NDArray[np.bool_]:
    """Tell which hashes are in a part."""
    inside = words >= np.uint64(part.low) if part.low < WORDS else np.zeros(words.shape, bool)
    return inside if part.high == WORDS else inside & (words < np.uint64(part.high))
