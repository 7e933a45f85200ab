"""Permutations: exact values, bijection, inverse, and how random they are."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from loader_service.errors import ConfigError
from loader_service.plan.network import Network
from loader_service.plan.order import LARGEST_TABLE, MAX_POSITIONS, ROUNDS, Permutation, sides
from loader_service.plan.randomness import Purpose, draws
from tests.plan import uniformity
from tests.plan.uniformity import Orders

SEEDS = st.integers(0, 2**63 - 1)
EPOCHS = st.integers(0, 2**31)
#: A sound order fails one comparison in ten thousand with it; the orders are fixed, so a test that passes stays passed.
DOUBT = 1e-4


def orders(n: int, count: int, seed: int = 0) -> Orders:
    return np.stack([Permutation(n, seed, epoch)(np.arange(n)) for epoch in range(count)])


@pytest.mark.parametrize(
    ("n", "seed", "epoch", "positions", "values"),
    [
        (1, 5, 5, range(1), [0]),
        (10, 0, 0, range(10), [2, 0, 8, 5, 9, 7, 3, 1, 6, 4]),
        (10, 0, 1, range(10), [6, 1, 9, 8, 7, 2, 0, 5, 3, 4]),
        (10, 1, 0, range(10), [5, 4, 9, 1, 6, 0, 7, 8, 2, 3]),
        (10_000, 0, 0, range(6), [7584, 1214, 5951, 6348, 7218, 9101]),
        (1_000_000, 3, 5, [0, 1, 999_999], [309164, 393062, 349070]),
        (2**40, 2**63 - 1, 2, [0, 1, 2**40 - 1], [959652003892, 916935075050, 871156854435]),
    ],
)
def test_orders_are_those_of_earlier_versions(n, seed, epoch, positions, values):
    assert Permutation(n, seed, epoch)(np.array(positions)).tolist() == values


@settings(max_examples=60)
@given(st.one_of(st.integers(1, 50), st.integers(1, 20_000)), SEEDS, EPOCHS)
def test_each_value_comes_once(n, seed, epoch):
    values = Permutation(n, seed, epoch)(np.arange(n))
    assert np.array_equal(np.sort(values), np.arange(n))


@pytest.mark.parametrize("n", [LARGEST_TABLE - 1, LARGEST_TABLE, LARGEST_TABLE + 1, 65**2, 66**2, 66**2 + 1, 300_007])
def test_bijection_holds_at_the_edges_of_tables_and_sides(n):
    values = Permutation(n, 1, 2)(np.arange(n))
    assert np.bincount(values, minlength=n).tolist() == [1] * n


@given(st.integers(1, MAX_POSITIONS), SEEDS, EPOCHS, st.data())
def test_each_value_leads_back_to_its_position_for_any_count(n, seed, epoch, data):
    positions = np.array(data.draw(st.lists(st.integers(0, n - 1), min_size=1, max_size=20)))
    permutation = Permutation(n, seed, epoch)
    values = permutation(positions)
    assert values.dtype == np.int64
    assert values.min() >= 0
    assert values.max() < n
    assert [plain_inverse(n, seed, epoch, int(value)) for value in values] == positions.tolist()


@given(st.integers(1, 2**62))
def test_sides_span_the_positions_and_little_more(n):
    first, second = sides(n)
    assert first * second >= n
    assert first * second - n < first
    assert first % 2 == 0
    assert first < 2**32


def plain_round(digit: int, side: int, key: tuple[np.uint64, np.uint64]) -> int:
    """Return what a round adds to the other digit, whose side is given."""
    word = (digit + int(key[0])) % 2**64
    for shift, mask in ((32, 0), (29, int(key[1])), (32, 0)):
        word = (word ^ word >> shift) * 0xBEA225F9EB34556D % 2**64 ^ mask
    word ^= word >> 29
    return (word >> 32) * side >> 32


def plain_inverse(n: int, seed: int, epoch: int, value: int) -> int:
    """Return the position of a value: the rounds undone, last first, until the number is below n again."""
    if n <= LARGEST_TABLE:
        return Permutation(n, seed, epoch)(np.arange(n)).tolist().index(value)
    bases = sides(n)
    words = draws(seed, epoch, np.arange(2 * ROUNDS), Purpose.ORDER)
    keys = list(enumerate(zip(words[0::2], words[1::2], strict=True)))
    while True:
        digits = [value % bases[0], value // bases[0]]
        for index, key in reversed(keys):
            changed = 1 - index % 2
            side = bases[changed]
            digits[changed] = (digits[changed] - plain_round(digits[1 - changed], side, key)) % side
        value = digits[0] + bases[0] * digits[1]
        if value < n:
            return value


def plain_network(number: int, sides: tuple[int, int], keys: list[tuple[np.uint64, np.uint64]]) -> int:
    digits = [number % sides[0], number // sides[0]]
    for index, key in enumerate(keys):
        changed = 1 - index % 2
        side = sides[changed]
        digits[changed] = (digits[changed] + plain_round(digits[1 - changed], side, key)) % side
    return digits[0] + sides[0] * digits[1]


@given(st.integers(1, 2**31), st.integers(1, 2**31), st.integers(0, 9), st.data())
def test_network_equals_plain_arithmetic(low, high, rounds, data):
    number = data.draw(st.integers(0, low * high - 1))
    words = draws(1, 2, np.arange(2 * rounds), Purpose.ORDER)
    keys = list(zip(words[0::2], words[1::2], strict=True))
    network = Network((low, high), keys)
    image = network(np.array([number], dtype=np.uint64))
    assert image.tolist() == [plain_network(number, (low, high), keys)]


@pytest.mark.parametrize("n", [7, 5000])
@pytest.mark.parametrize("shape", [(), (0,), (2, 3)])
def test_shape_is_kept_and_positions_are_left_alone(n, shape):
    positions = np.arange(np.prod(shape, dtype=int)).reshape(shape)
    before = positions.copy()
    values = Permutation(n, 0, 0)(positions)
    assert values.shape == shape
    assert values.reshape(-1).tolist() == Permutation(n, 0, 0)(np.arange(positions.size)).tolist()
    assert np.array_equal(positions, before)


@pytest.mark.parametrize("n", [7, 5000])
def test_numbers_outside_are_refused_by_name(n):
    permutation = Permutation(n, 0, 0)
    with pytest.raises(IndexError, match=f"position -1 of a permutation of {n}; give 0 to {n - 1}"):
        permutation(np.array([0, -1]))
    with pytest.raises(IndexError, match=f"position {n} of a permutation"):
        permutation(np.array([n]))


@pytest.mark.parametrize("n", [0, -1, MAX_POSITIONS + 1])
def test_a_count_out_of_range_is_refused(n):
    with pytest.raises(ConfigError, match=f"n={n}"):
        Permutation(n, 0, 0)


@pytest.mark.parametrize(("n", "count"), [(2, 10_000), (3, 20_000), (5, 20_000), (10, 20_000), (37, 10_000)])
def test_each_value_is_equally_likely_at_each_position(n, count):
    assert uniformity.position_p(orders(n, count)) > DOUBT


@pytest.mark.parametrize(("n", "count"), [(3, 10_000), (5, 20_000), (10, 20_000), (37, 20_000)])
@pytest.mark.parametrize("across", ["epochs", "seeds"])
def test_each_pair_of_values_is_equally_likely_at_two_positions(n, count, across):
    if across == "epochs":
        sample = orders(n, count)
    else:
        sample = np.stack([Permutation(n, seed, 0)(np.arange(n)) for seed in range(count)])
    for first, second in ((0, 1), (n // 2, n - 1)):
        assert uniformity.pair_p(sample, first, second) > DOUBT


@pytest.mark.parametrize(("n", "count"), [(3, 10_000), (4, 20_000), (5, 20_000), (6, 30_000)])
def test_each_order_of_few_samples_is_equally_likely(n, count):
    assert uniformity.whole_order_p(orders(n, count)) > DOUBT


@pytest.fixture(
    scope="module", params=[(1000, 1000), (4097, 400), (10_007, 150), (1_000_000, 3)], ids=lambda p: str(p[0])
)
def many(request) -> Orders:
    return orders(*request.param)


def test_values_are_independent_of_positions(many):
    assert uniformity.binned_position_p(many, 20) > DOUBT


@pytest.mark.parametrize("distance", [1, 2, 16, "side"])
def test_successors_are_independent(many, distance):
    if distance == "side":
        distance = sides(many.shape[1])[0]
    assert uniformity.successor_p(many, 20, distance) > DOUBT


def test_neighbours_stay_neighbours_as_seldom_as_by_chance(many):
    n = many.shape[1]
    assert uniformity.small_number_p(uniformity.kept_neighbours(many), 2 * (n - 1) / n) > DOUBT


def test_values_stay_where_they_were_as_seldom_as_by_chance(many):
    assert uniformity.small_number_p(uniformity.fixed_points(many), 1) > DOUBT


def test_batches_hold_each_part_as_if_drawn_without_return(many):
    assert uniformity.share_p(many, 16, many.shape[1] // 6) > DOUBT


def test_epochs_are_independent_of_each_other(many):
    assert uniformity.correlation_p(many[:-1], many[1:]) > DOUBT
    assert uniformity.table_p(many[:-1], many[1:], many.shape[1], 20) > DOUBT


@pytest.mark.parametrize("bit", [0, 1, 31, 32, 62])
def test_seeds_that_differ_by_one_bit_give_independent_orders(bit):
    n = 5000
    one, other = orders(n, 40, seed=12345), orders(n, 40, seed=12345 ^ 1 << bit)
    assert uniformity.correlation_p(one, other) > DOUBT
    assert uniformity.table_p(one, other, n, 20) > DOUBT


def test_seed_and_epoch_do_not_stand_for_each_other():
    n = 1000
    seen = {Permutation(n, seed, epoch)(np.arange(n)).tobytes() for seed in range(20) for epoch in range(20)}
    assert len(seen) == 400


def test_network_leaves_no_trace_in_moves_where_fewer_rounds_do():
    n = 66 * 63
    assert sides(n) == (66, 63)
    assert abs(uniformity.equal_moves_z(orders(n, 500), (66, 63))) < 4
    words = draws(0, 0, np.arange(500 * 8), Purpose.ORDER).reshape(500, 4, 2)
    numbers = np.arange(n, dtype=np.uint64)
    four_rounds = np.stack([Network((66, 63), [(a, b) for a, b in keys])(numbers) for keys in words]).astype(np.int64)
    assert uniformity.equal_moves_z(four_rounds, (66, 63)) > 20


@pytest.mark.parametrize("n", [65**2, 66**2, 5000])
def test_half_of_the_orders_are_odd(n):
    """An odd order has an odd number of cycles of even length: n minus the number of cycles is odd."""
    odd = sum((n - cycles(order)) % 2 for order in orders(n, 200))
    assert uniformity.normal_p((odd - 100) / np.sqrt(50)) > DOUBT


def cycles(order: np.ndarray) -> int:
    """Count the cycles by pointer doubling: each element learns the smallest of its cycle."""
    least, jump = np.arange(len(order)), order
    for _ in range(len(order).bit_length()):
        least = np.minimum(least, least[jump])
        jump = jump[jump]
    return len(np.unique(least))
