"""A keyed bijection of range(a * b): the generalized Feistel network under long orders; knows nothing of samples.

A number is split into a digit modulo a and a digit modulo b. Each round adds a keyed random function of one digit to
the other, which can be undone whatever the function is; so every key gives a bijection.

References
----------
J. Black and P. Rogaway, "Ciphers with Arbitrary Finite Domains", CT-RSA 2002.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from loader_service.plan.randomness import Key, mix

_HALF_BITS = np.uint64(32)


class Network:
    """A bijection of range(a * b), one round for each key.

    Parameters
    ----------
    sides
        (a, b), each 1 to 2**32 - 1.
    keys
        Keys of the rounds. The first round, third, … change the digit modulo b, the others that modulo a: neighbours
        differ in the latter, so that the first round already tears them apart.
    """

    def __init__(self, sides: tuple[int, int], keys: list[Key]) -> None:
        self._sides = np.uint64(sides[0]), np.uint64(sides[1])
        self._rounds = [(key, 1 - index % 2) for index, key in enumerate(keys)]

    def __call__(self, numbers: NDArray[np.uint64]) -> NDArray[np.uint64]:
        """Return the image of each number.

        Parameters
        ----------
        numbers
            Numbers of range(a * b), one-dimensional; left as they are.
        """
        high: NDArray[np.uint64] = numbers // self._sides[0]
        digits = numbers - high * self._sides[0], high
        for key, changed in self._rounds:
            digit, side = digits[changed], self._sides[changed]
            digit += _round(digits[1 - changed], key, side)
            # Modulo: where nothing is to be subtracted, the difference wraps around to a huge word.
            np.minimum(digit, digit - side, out=digit)
        joined: NDArray[np.uint64] = digits[0] + high * self._sides[0]
        return joined


def _round(digit: NDArray[np.uint64], key: Key, side: np.uint64) -> NDArray[np.uint64]:
    """Return a random number of [0, side) for each digit, the same one for the same digit and key."""
    words: NDArray[np.uint64] = digit.copy()
    mix(words, key)
    words >>= _HALF_BITS
    words *= side
    words >>= _HALF_BITS
    return words
