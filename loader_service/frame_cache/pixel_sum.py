"""The sum that tells whether pixels are those that were written: fast enough for each frame; no cryptographic hash.

What goes wrong with a file of frames is that some of its pages are older than others: zeros, or another frame's. So the
sum is one over words within a page, and over pages with a weight of each page's own; what is left of the last page goes
through a CRC. A page that is missing, old or at another place is noticed but for one time in 2**64.
"""

from __future__ import annotations

import functools
import zlib
from typing import Any

import numpy as np
from numpy.typing import NDArray

_PAGE_BYTES = 4096

_ODD = 0x9E3779B97F4A7C15
_MASK = 2**64 - 1


def pixel_sum(pixels: NDArray[np.uint8]) -> int:
    """Return the sum of ``(bytes,) uint8``, in [0, 2**64)."""
    pages = len(pixels) // _PAGE_BYTES
    whole = pages * _PAGE_BYTES
    rest: Any = pixels[whole:]
    total = (zlib.crc32(rest) << 32 | len(pixels) % 2**32) * _ODD
    if pages:
        sums = pixels[:whole].view(np.uint64).reshape(pages, -1).sum(axis=1, dtype=np.uint64)
        total += int((sums * _weights(pages)).sum(dtype=np.uint64))
    return total & _MASK


def word_of(total: int, tag: int, frame: int) -> int:
    """Return what a stamp says of pixels of this sum: of this file, as this frame of the form."""
    return ((total ^ tag) + (frame + 1) * _ODD) & _MASK


@functools.lru_cache(maxsize=8)
def _weights(pages: int) -> NDArray[np.uint64]:
    """Return an odd number for each page, all different."""
    weights: NDArray[np.uint64] = np.arange(1, 2 * pages, 2, dtype=np.uint64) * np.uint64(_ODD)
    return weights
