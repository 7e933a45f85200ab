"""Statistics that tell a set of orders from uniformly random ones, as p-values; knows no way to make an order.

`orders` is always an (orders, n) int64 array, each row a permutation of range(n). The degrees of freedom account for
the fixed sums of permutations; `measure_order.py` shows that they are right, by NumPy's own shuffle under the same
statistics.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

Orders = NDArray[np.int64]


def normal_p(z: float) -> float:
    """Return the two-sided p-value of a standard normal."""
    return math.erfc(abs(z) / math.sqrt(2))


def chi_square_p(statistic: float, freedom: float) -> float:
    """Return the upper tail of chi-square (Wilson and Hilferty's cube root, good to two digits from 3 degrees on)."""
    spread = 2 / (9 * freedom)
    z = ((statistic / freedom) ** (1 / 3) - (1 - spread)) / math.sqrt(spread)
    return 0.5 * math.erfc(z / math.sqrt(2))


def even_counts_p(counts: NDArray[np.int64]) -> float:
    """Return whether independent draws fell evenly into cells."""
    expected = counts.sum() / counts.size
    return chi_square_p(float(((counts - expected) ** 2).sum() / expected), counts.size - 1)


def position_p(orders: Orders) -> float:
    """Return whether each value is equally likely at each position; for small n."""
    count, n = orders.shape
    table = np.bincount((np.arange(n) * n + orders).ravel(), minlength=n * n)
    statistic = ((table - count / n) ** 2).sum() / (count / n)
    return chi_square_p(float(statistic * (n - 1) / n), (n - 1) ** 2)


def pair_p(orders: Orders, first: int, second: int) -> float:
    """Return whether each ordered pair of values is equally likely at two positions; for small n."""
    n = orders.shape[1]
    table = np.bincount(orders[:, first] * n + orders[:, second], minlength=n * n).reshape(n, n)
    return even_counts_p(table[~np.eye(n, dtype=bool)])


def whole_order_p(orders: Orders) -> float:
    """Return whether each of the n! orders is equally likely; for n up to 6."""
    n = orders.shape[1]
    ranks = np.zeros(len(orders), dtype=np.int64)
    for place in range(n):  # Lehmer code: how many later values are smaller
        ranks = ranks * (n - place) + (orders[:, place + 1 :] < orders[:, place : place + 1]).sum(axis=1)
    return even_counts_p(np.bincount(ranks, minlength=math.factorial(n)))


def table_p(rows: NDArray[np.int64], columns: NDArray[np.int64], n: int, bins: int) -> float:
    """Return whether two aligned sequences of range(n), each value once (or once per order), are independent."""
    cells = (rows * bins // n) * bins + columns * bins // n
    table = np.bincount(cells.ravel(), minlength=bins * bins).reshape(bins, bins)
    expected = np.outer(table.sum(axis=1), table.sum(axis=0)) / table.sum()
    return chi_square_p(float(((table - expected) ** 2 / expected).sum()), (bins - 1) ** 2)


def binned_position_p(orders: Orders, bins: int) -> float:
    """Return whether values are independent of their positions; for large n."""
    n = orders.shape[1]
    return table_p(np.broadcast_to(np.arange(n), orders.shape), orders, n, bins)


def successor_p(orders: Orders, bins: int, distance: int = 1) -> float:
    """Return whether values are independent of those some positions before them, but never the same; for large n."""
    count, n = orders.shape
    binned = orders * bins // n
    cells = binned[:, :-distance] * bins + binned[:, distance:]
    table = np.bincount(cells.ravel(), minlength=bins * bins).reshape(bins, bins)
    sizes = np.bincount(np.arange(n) * bins // n)
    chances = (np.outer(sizes, sizes) - np.diag(sizes)) / (n * (n - 1))
    expected = count * (n - distance) * chances
    return chi_square_p(float(((table - expected) ** 2 / expected).sum()), (bins - 1) ** 2)


def correlation_p(orders: Orders, others: Orders) -> float:
    """Return whether the values at the same position of two sets of orders are uncorrelated."""
    count, n = orders.shape
    centred = (orders - (n - 1) / 2) * (others - (n - 1) / 2)
    per_order = centred.sum(axis=1) / ((n * n - 1) / 12 * n)  # Pearson's r, exactly: mean 0, variance 1 / (n - 1)
    return normal_p(float(per_order.sum()) / math.sqrt(count / (n - 1)))


def small_number_p(counts: NDArray[np.int64], mean: float) -> float:
    """Return whether counts of rare events add up to their Poisson mean."""
    expected = mean * len(counts)
    return normal_p((float(counts.sum()) - expected) / math.sqrt(expected))


def kept_neighbours(orders: Orders) -> NDArray[np.int64]:
    """Return, per order, how many neighbours follow each other as before or the other way round; mean 2 (n - 1) / n."""
    return _sums(np.abs(np.diff(orders, axis=1)) == 1)


def fixed_points(orders: Orders) -> NDArray[np.int64]:
    """Return, per order, how many values stay where they were; mean 1."""
    return _sums(orders == np.arange(orders.shape[1]))


def equal_moves(orders: Orders, sides: tuple[int, int]) -> NDArray[np.int64]:
    """Return, per order of range(a * b), how many pairs of positions with one low digit move their high digit equally.

    It is what a network of too few rounds betrays itself by: where two middle digits collide, the later rounds add
    the same number to both.
    """
    low, high = sides
    positions = np.arange(low * high)
    moves = (orders // low - positions // low) % high
    cells = (np.arange(len(orders))[:, None] * low + positions % low) * high + moves
    counts = np.bincount(cells.ravel(), minlength=len(orders) * low * high).reshape(len(orders), -1)
    return _sums(counts * (counts - 1) // 2)


def equal_moves_z(orders: Orders, sides: tuple[int, int]) -> float:
    """Return by how many standard deviations the mean of `equal_moves` is off that of random orders."""
    low, high = sides
    expected = low * high * (high - 1) / 2 * low / (low * high - 1)
    counts = equal_moves(orders, sides)
    return float((counts.mean() - expected) / (counts.std(ddof=1) / math.sqrt(len(counts))))


def share_p(orders: Orders, batch_size: int, share: int) -> float:
    """Return whether the values below `share` spread over batches as by drawing without return (hypergeometric)."""
    n = orders.shape[1]
    batches = orders[:, : n // batch_size * batch_size].reshape(-1, batch_size)
    seen = np.bincount((batches < share).sum(axis=1), minlength=batch_size + 1)
    chances = np.array(
        [
            math.comb(share, k) * math.comb(n - share, batch_size - k) / math.comb(n, batch_size)
            for k in range(batch_size + 1)
        ]
    )
    expected = chances * len(batches)
    common = expected >= 10
    pooled_seen = np.append(seen[common], seen[~common].sum())
    pooled = np.append(expected[common], expected[~common].sum())
    return chi_square_p(float(((pooled_seen - pooled) ** 2 / pooled).sum()), len(pooled) - 1)


def _sums(numbers: NDArray[Any]) -> NDArray[np.int64]:
    """Return the sums of rows."""
    sums: NDArray[np.int64] = numbers.sum(axis=1)
    return sums
