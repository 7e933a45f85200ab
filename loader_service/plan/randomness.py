"""Every random number of the service, as a function of (seed, epoch, sample, purpose); keeps no state, asks no clock.

A draw is one 64-bit mix of a counter (the sample) under a key made from seed, epoch and purpose. So any process can
make any draw at any time, and all of them agree.
"""

from __future__ import annotations

import enum
import functools
import itertools
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

#: mx3, Jon Maiga's mixing function: one odd multiplier between right shifts by 32, 29, 32 and 29 bits. A bijection of
#: 64-bit words in which each bit of the input turns each bit of the output with probability one half. `docs/order.md`
#: has the measurements of what is made from it here.
_MULTIPLIER = 0xBEA225F9EB34556D
_FIRST_SHIFT = 32
_SECOND_SHIFT = 29

#: Any word but 0, which the mix leaves as it is. This one is the golden ratio's.
_ORIGIN = 0x9E3779B97F4A7C15

_WORD = 2**64 - 1
_LOW_HALF = np.uint64(2**32 - 1)
_HALF_BITS = np.uint64(32)

#: The two words under which a counter is mixed.
Key = tuple[np.uint64, np.uint64]


class Purpose(enum.IntEnum):
    """What a draw decides. The numbers are part of every plan: add new ones, never change or reuse one."""

    ORDER = 0
    START = 1
    CROP_TOP = 2
    CROP_LEFT = 3
    FLIP = 4
    SUBSTITUTE = 5
    BUCKET = 6
    TRANSFORM = 7
    SPLIT = 8
    WINDOW_0 = 9  # one for each axis of a window
    WINDOW_1 = 10
    WINDOW_2 = 11
    WINDOW_3 = 12
    WINDOW_4 = 13
    WINDOW_5 = 14
    WINDOW_6 = 15
    WINDOW_7 = 16
    BOX = 17
    SHORT_SIDE = 18


def draws(seed: int, epoch: int, samples: NDArray[np.int64], purpose: Purpose) -> NDArray[np.uint64]:
    """Return one well-mixed 64-bit word per sample.

    For one (seed, epoch, purpose) two samples never get the same word, as the mix is a bijection.

    Parameters
    ----------
    seed, epoch
        Whole numbers, taken modulo 2**64.
    samples
        Sample numbers, any shape.
    purpose
        What the words are for; the words of two purposes have nothing to do with each other.

    Returns
    -------
    NDArray[np.uint64]
        Words, in the shape of `samples`; a fresh array.
    """
    samples = np.asarray(samples)
    words = samples.astype(np.uint64).reshape(-1)  # flat: NumPy warns of overflow in scalars, never in arrays
    mix(words, _key(seed, epoch, int(purpose)))
    return words.reshape(samples.shape)


def words_from(word: int) -> Iterator[int]:
    """Yield words without end that follow from one: for what takes an unknown number of draws.

    Parameters
    ----------
    word
        Evenly distributed, as from `draws`; the words that follow from two of them have nothing to do with each other.
    """
    for number in itertools.count(1):
        yield _mix_one((word + number * _ORIGIN) & _WORD)


def below(words: NDArray[np.uint64], bounds: int | NDArray[np.int64]) -> NDArray[np.int64]:
    """Return a whole number of [0, bound) for each word: the high half of the 128-bit product word * bound.

    Each number's probability differs from 1/bound by less than 2**-64; relative to it by less than bound * 2**-64,
    which is 2**-24 for a bound of 2**40. One word always makes one number: nothing is rejected.

    Parameters
    ----------
    words
        Evenly distributed 64-bit words, as from `draws`.
    bounds
        Exclusive upper bounds, 1 to 2**63 - 1: one for all, or one per word (broadcast against `words`).

    Raises
    ------
    ValueError
        When a bound is less than 1.
    """
    if np.any(np.less(bounds, 1)):
        raise ValueError(f"drawing below {np.min(bounds)!r}: there is no number to draw; give bounds of 1 or more")
    bounds = np.asarray(bounds).astype(np.uint64)
    high, low = words >> _HALF_BITS, words & _LOW_HALF
    bounds_high, bounds_low = bounds >> _HALF_BITS, bounds & _LOW_HALF
    # Schoolbook multiplication in base 2**32; no intermediate sum reaches 2**64.
    middle = high * bounds_low + (low * bounds_low >> _HALF_BITS)
    lower_middle = low * bounds_high + (middle & _LOW_HALF)
    product = high * bounds_high + (middle >> _HALF_BITS) + (lower_middle >> _HALF_BITS)
    return np.asarray(product).astype(np.int64)


def mix(words: NDArray[np.uint64], key: Key) -> None:
    """Replace each word by its image under a keyed bijection, in place.

    The first half of the key is added before the mix and the second comes in at half way, so that two keys do not
    give the same sequence, only shifted.

    Parameters
    ----------
    words
        At least one-dimensional, of any length; overwritten.
    key
        Two evenly distributed words.
    """
    multiplier = np.uint64(_MULTIPLIER)
    words += key[0]
    words ^= words >> np.uint64(_FIRST_SHIFT)
    words *= multiplier
    words ^= words >> np.uint64(_SECOND_SHIFT)
    words *= multiplier
    words ^= key[1]
    words ^= words >> np.uint64(_FIRST_SHIFT)
    words *= multiplier
    words ^= words >> np.uint64(_SECOND_SHIFT)


@functools.lru_cache(maxsize=256)
def _key(seed: int, epoch: int, purpose: int) -> Key:
    """Return the key of a (seed, epoch, purpose), absorbed one after the other into one word."""
    state = _ORIGIN
    for number in (seed, epoch, purpose):
        state = _mix_one(state ^ (number & _WORD))
    return np.uint64(_mix_one(state ^ 1)), np.uint64(_mix_one(state ^ 2))


def _mix_one(word: int) -> int:
    """Return the plain mx3 mix of one Python integer."""
    for shift in (_FIRST_SHIFT, _SECOND_SHIFT, _FIRST_SHIFT):
        word ^= word >> shift
        word = word * _MULTIPLIER & _WORD
    return word ^ word >> _SECOND_SHIFT
