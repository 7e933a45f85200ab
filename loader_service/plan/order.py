"""A random permutation of range(n) as a pure function of seed and epoch, in constant memory; knows no steps or shards.

Up to `LARGEST_TABLE` positions, each value gets a draw and the values are sorted by it: a perfect shuffle in a small
table. Beyond, each position's value is computed by a Feistel network over a * b ≥ n, the two sides as near to the
square root of n as can be. Images of n and more are sent through again until they fall below n (cycle walking), which
makes the network's bijection one of range(n). As a * b - n is less than a, that happens to few positions.

The table is there because a network over short sides shuffles badly, as `docs/order.md` shows with exact figures.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from loader_service.errors import ConfigError
from loader_service.plan.network import Network
from loader_service.plan.randomness import Purpose, draws

#: Most positions a permutation can have: the sides of the network then stay below 2**32.
MAX_POSITIONS = 2**62

#: Most positions that are shuffled in a table, of 32 KiB then. Sides of 64 and more serve the network well.
LARGEST_TABLE = 4096

#: Rounds of the network. `docs/order.md`: six leave a plain trace, eight at most a breath of one in 120,000 orders.
ROUNDS = 10


class Permutation:
    """A permutation of range(n), chosen by seed and epoch.

    Calls are vectorised, and one over 4096 positions costs two to four times one over 16.

    Parameters
    ----------
    n
        Number of positions, 1 to 2**62.
    seed, epoch
        Choose the permutation, together.

    Raises
    ------
    ConfigError
        When `n` is out of range.
    """

    def __init__(self, n: int, seed: int, epoch: int) -> None:
        if not 1 <= n <= MAX_POSITIONS:
            raise ConfigError(f"permuting n={n!r} positions; give 1 to {MAX_POSITIONS}")
        self._count = n
        self._table: NDArray[np.int64] | None = None
        if n <= LARGEST_TABLE:
            self._table = np.argsort(draws(seed, epoch, np.arange(n), Purpose.ORDER), kind="stable")
        else:
            words = draws(seed, epoch, np.arange(2 * ROUNDS), Purpose.ORDER)
            self._network = Network(sides(n), list(zip(words[0::2], words[1::2], strict=True)))

    def __call__(self, positions: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the value at each position.

        Parameters
        ----------
        positions
            Positions of [0, n), any shape.

        Raises
        ------
        IndexError
            When a position is out of range.
        """
        positions = np.asarray(positions, dtype=np.int64)
        if positions.size and not 0 <= positions.min() <= positions.max() < self._count:
            outside = positions[(positions < 0) | (positions >= self._count)]
            raise IndexError(
                f"position {int(outside.flat[0])} of a permutation of {self._count}; give 0 to {self._count - 1}"
            )
        return self._walk(positions) if self._table is None else self._table[positions]

    def _walk(self, numbers: NDArray[np.int64]) -> NDArray[np.int64]:
        """Send each number through the network until it is below n again."""
        count = np.uint64(self._count)
        walked = self._network(numbers.astype(np.uint64).reshape(-1))
        outside = np.flatnonzero(walked >= count)
        while outside.size:
            again = self._network(walked[outside])
            walked[outside] = again
            outside = outside[again >= count]
        return walked.astype(np.int64).reshape(numbers.shape)


def sides(n: int) -> tuple[int, int]:
    """Return (a, b), both near the square root of n, with a * b ≥ n and a * b - n < a.

    The first is even: over two odd sides, each round is an even permutation, and so would be each order.
    """
    first = math.isqrt(n - 1) + 1
    first += first % 2
    return first, -(-n // first)
