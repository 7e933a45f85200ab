"""Prints the tables of docs/order.md: how random the orders are, beside NumPy's own shuffle; decides nothing.

Run it from the repository's root: ``python -m tests.plan.measure_order``.
"""

from __future__ import annotations

import itertools
import math
import timeit
from collections.abc import Callable, Iterator
from functools import partial

import numpy as np
from numpy.typing import NDArray

from loader_service.plan.clips import ClipSamples
from loader_service.plan.epoch import Plan
from loader_service.plan.network import Network
from loader_service.plan.order import ROUNDS, Permutation
from loader_service.plan.randomness import Purpose, draws
from loader_service.protocol.spec import Clip, Spec
from tests.plan import uniformity
from tests.plan.uniformity import Orders

OrderOf = Callable[[int, int, int], np.ndarray]


def ours(n: int, seed: int, epoch: int) -> np.ndarray:
    return Permutation(n, seed, epoch)(np.arange(n))


def philox(n: int, seed: int, epoch: int) -> np.ndarray:
    return np.random.Generator(np.random.Philox(key=[seed, epoch])).permutation(n)


def network_orders(sides: tuple[int, int], rounds: int, count: int, first: int = 0) -> Orders:
    numbers = np.arange(sides[0] * sides[1], dtype=np.uint64)
    orders = np.empty((count, len(numbers)), dtype=np.int64)
    for epoch in range(count):
        words = draws(0, first + epoch, np.arange(2 * rounds), Purpose.ORDER)
        orders[epoch] = Network(sides, list(zip(words[0::2], words[1::2], strict=True)))(numbers)
    return orders


def print_table(*rows: tuple[str, ...]) -> None:
    for index, row in enumerate(rows):
        print("| " + " | ".join(row) + " |")
        if index == 0:
            print("|" + "---|" * len(row))
    print(flush=True)


def small(order_of: OrderOf, n: int, count: int) -> list[float]:
    orders = np.stack([order_of(n, 1, epoch) for epoch in range(count)])
    seeds = np.stack(
        [order_of(n, 2, epoch) for epoch in range(count)]
    )  # seeds 1 and 2 differ in two bits, 2 and 3 in one
    bit = np.stack([order_of(n, 3, epoch) for epoch in range(count)])
    return [
        uniformity.position_p(orders),
        uniformity.pair_p(orders, 0, 1),
        uniformity.pair_p(orders, n // 2, n - 1),
        uniformity.whole_order_p(orders[:, :5]) if n == 5 else math.nan,
        uniformity.correlation_p(orders[:-1], orders[1:]),
        uniformity.correlation_p(seeds, bit),
    ]


def large(order_of: OrderOf, n: int, count: int) -> list[float]:
    orders = np.stack([order_of(n, 1, epoch) for epoch in range(count)])
    seeds = np.stack([order_of(n, 2, epoch) for epoch in range(count)])
    bit = np.stack([order_of(n, 3, epoch) for epoch in range(count)])
    bins = 20 if n == 1000 else 64
    side = math.isqrt(n - 1) + 1
    return [
        uniformity.binned_position_p(orders, bins),
        uniformity.successor_p(orders, bins),
        uniformity.successor_p(orders, bins, side + side % 2),
        uniformity.small_number_p(uniformity.kept_neighbours(orders), 2 * (n - 1) / n),
        uniformity.small_number_p(uniformity.fixed_points(orders), 1),
        uniformity.share_p(orders, 16, n // 6),
        uniformity.correlation_p(orders[:-1], orders[1:]),
        uniformity.table_p(orders[:-1], orders[1:], n, bins),
        uniformity.correlation_p(seeds, bit),
    ]


def quality() -> None:
    names = ("positions", "neighbour pair", "distant pair", "whole order", "epochs", "seeds one bit apart")
    rows: list[tuple[str, ...]] = [("n", "orders", "made by", *names)]
    for n, count in ((5, 200_000), (10, 100_000), (37, 50_000)):
        for name, order_of in (("this", ours), ("Philox", philox)):
            figures = small(order_of, n, count)
            rows.append((f"{n}", f"{count:,}", name, *("" if math.isnan(p) else f"{p:.3f}" for p in figures)))
    print_table(*rows)
    names = (
        "positions",
        "successors",
        "successors a side apart",
        "kept neighbours",
        "fixed points",
        "shares in batches",
    )
    rows = [("n", "orders", "made by", *names, "epochs, r", "epochs, table", "seeds one bit apart")]
    for n, count in ((1000, 5000), (4097, 1000), (10_007, 400), (1_000_000, 20)):
        for name, order_of in (("this", ours), ("Philox", philox)):
            rows.append((f"{n:,}", f"{count:,}", name, *(f"{p:.3f}" for p in large(order_of, n, count))))
    print_table(*rows)


def p_values(order_of: OrderOf, seed: int) -> list[float]:
    few = np.stack([order_of(10, seed, epoch) for epoch in range(5000)])
    many = np.stack([order_of(4500, seed, epoch) for epoch in range(40)])
    return [
        uniformity.position_p(few),
        uniformity.pair_p(few, 0, 1),
        uniformity.pair_p(few, 5, 9),
        uniformity.correlation_p(few[:-1], few[1:]),
        uniformity.binned_position_p(many, 32),
        uniformity.successor_p(many, 32),
        uniformity.successor_p(many, 32, 68),
        uniformity.correlation_p(many[:-1], many[1:]),
        uniformity.table_p(many[:-1], many[1:], 4500, 32),
    ]


def evenness_of_p_values(seeds: int = 60) -> None:
    """Kolmogorov and Smirnov's test of the p-values themselves, which are even where orders are random."""
    names = ("positions", "neighbour pair", "distant pair", "epochs, r")
    more = ("positions", "successors", "successors a side apart", "epochs, r", "epochs, table")
    rows = [("made by", *(f"n=10: {name}" for name in names), *(f"n=4500: {name}" for name in more), "all together")]
    for name, order_of in (("this", ours), ("Philox", philox)):
        values = np.array([p_values(order_of, seed) for seed in range(100, 100 + seeds)])
        distances = [ks_distance(column) for column in (*values.T, values.ravel())]
        rows.append((name, *(f"{distance:.2f}" for distance in distances)))
    print_table(*rows)


def ks_distance(values: np.ndarray) -> float:
    """Return the largest distance from the even distribution times the root of the count; 1.36 and more at 5 %."""
    values, count = np.sort(values), len(values)
    steps = np.arange(count + 1) / count
    return float(max((steps[1:] - values).max(), (values - steps[:-1]).max()) * math.sqrt(count))


def faint_traces(count: int = 120_000) -> None:
    """Excess of equal moves over a great many orders."""
    sides = (66, 63)
    expected = 66 * 63 * 62 / 2 * 66 / (66 * 63 - 1)
    rows = [("rounds", "equal moves, mean", "expected", "relative excess", "z")]
    for number in (6, 8, 10):
        moves = np.concatenate(
            [uniformity.equal_moves(network_orders(sides, number, 1000, e), sides) for e in range(0, count, 1000)]
        )
        excess = moves.mean() - expected
        z = excess / (moves.std() / math.sqrt(count))
        rows.append((f"{number}", f"{moves.mean():.2f}", f"{expected:.2f}", f"{excess / expected:.1e}", f"{z:.1f}"))
    print_table(*rows)


def rounds() -> None:
    rows: list[tuple[str, ...]] = [
        (
            "rounds",
            "66 x 63: equal moves, z",
            "successors a side apart, p",
            "kept neighbours, p",
            "1000 x 1000: z",
            "p",
            "p",
        )
    ]
    for number in (3, 4, 5, 6, 7, 8, 10):
        row = [f"{number}"]
        for sides, count in (((66, 63), 4000), ((1000, 1000), 20)):
            orders = network_orders(sides, number, count)
            n = orders.shape[1]
            neighbours = uniformity.kept_neighbours(orders)
            row.append(f"{uniformity.equal_moves_z(orders, sides):.1f}")
            row.append(f"{uniformity.successor_p(orders, 32, sides[0]):.3f}")
            row.append(f"{uniformity.small_number_p(neighbours, 2 * (n - 1) / n):.3f}")
        rows.append(tuple(row))
    print_table(*rows)


def short_sides() -> None:
    """Exact distance of a network's orders from uniform ones, were its rounds perfectly random."""
    rows = [("n", "sides", *(f"{number} rounds" for number in (4, 8, 12, 16, 24)))]
    for n, sides in ((3, (2, 2)), (5, (3, 2)), (6, (3, 2)), (6, (2, 3)), (7, (3, 3)), (8, (4, 2))):
        distances = total_variation(n, sides, 24)
        rows.append((f"{n}", f"{sides[0]} x {sides[1]}", *(f"{distances[k - 1]:.1e}" for k in (4, 8, 12, 16, 24))))
    print_table(*rows)


def total_variation(n: int, sides: tuple[int, int], rounds: int) -> list[float]:
    """Return, after each number of rounds, the total variation distance, by going through all functions of a round."""
    low, high = sides
    size = low * high
    permutations = np.array(list(itertools.permutations(range(size))), dtype=np.int64)
    weights = size ** np.arange(size)
    codes = permutations @ weights
    by_code = np.argsort(codes)
    numbers = np.arange(size)
    digits = numbers % low, numbers // low

    def after(function: tuple[int, ...], changed: int) -> NDArray[np.int64]:
        added = np.array(function)[digits[1 - changed]]
        if changed:
            image = digits[0] + low * ((digits[1] + added) % high)
        else:
            image = (digits[0] + added) % low + low * digits[1]
        found: NDArray[np.int64] = by_code[np.searchsorted(codes, image[permutations] @ weights, sorter=by_code)]
        return found

    moves = [
        [after(f, changed) for f in itertools.product(range(sides[changed]), repeat=sides[1 - changed])]
        for changed in (0, 1)
    ]
    walked = permutations[:, :n].copy()
    while (outside := walked >= n).any():
        rows = np.nonzero(outside)[0]
        walked[outside] = permutations[rows, walked[outside]]
    _, kinds = np.unique(walked @ weights[:n], return_inverse=True)
    chances = np.zeros(len(permutations))
    chances[0] = 1  # itertools begins with the identity
    distances = []
    for index in range(rounds):
        choices = moves[1 - index % 2]
        chances = np.sum([np.bincount(move, chances, len(chances)) for move in choices], axis=0) / len(choices)
        seen = np.bincount(kinds.ravel(), chances)
        distances.append(float(np.abs(seen - 1 / math.factorial(n)).sum() / 2))
    return distances


def median_us(action: Callable[[], object], number: int) -> str:
    """Return microseconds a call, the median of nine rounds."""
    taken = sorted(timeit.repeat(action, number=number, repeat=9))[4]
    return f"{taken / number * 1e6:.1f}"


def _next_samples(plan: Plan, steps: Iterator[tuple[int, int]]) -> object:
    return plan.samples(*next(steps))


def cost() -> None:
    rows = [("what", "µs")]
    for n in (320, 1_000_000, 2**40):
        plan = Plan(n, Spec(batch_size=16, clip=Clip(frames=16)))
        steps = ((epoch, step) for epoch in itertools.count() for step in range(plan.steps_per_epoch))
        taken = median_us(partial(_next_samples, plan, steps), number=4096)
        rows.append((f"a step of 16 of {n:,} samples, mean over 4096 steps in turn", taken))
    permutation = Permutation(1_000_000, 0, 0)
    for count in (16, 4096):
        positions = np.arange(count)
        taken = median_us(partial(permutation, positions), number=50)
        rows.append((f"{count} positions of a million", taken))
    clips = ClipSamples(np.arange(1_000_000, dtype=np.int32) % 120, Clip(frames=16), seed=0)
    samples = np.arange(16) * 60_000
    rows.append(("starts of 16 samples of a million videos", median_us(lambda: clips.starts(3, samples), number=500)))
    print_table(*rows)


def main() -> None:
    print(f"{ROUNDS} rounds\n")
    short_sides()
    rounds()
    faint_traces()
    quality()
    evenness_of_p_values()
    cost()


if __name__ == "__main__":
    main()
