"""Draws: exact values, evenness, independence, and whole numbers made from them."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from loader_service.plan.randomness import Purpose, _key, _mix_one, below, draws, mix
from tests.plan.uniformity import even_counts_p, normal_p

WORDS = st.integers(0, 2**64 - 1)
GOLDEN = {
    Purpose.ORDER: (0x3E46293E9FA053DC, 0xBEA8656D09C8486F, 0x8313FCE77BF90B64),
    Purpose.START: (0x7F50306025F94CD3, 0xEB1D8B719B62452C, 0xBD80FDE395BF05B4),
    Purpose.CROP_TOP: (0x4A8F83C593A810A7, 0x157F6636897BDCFC, 0x2428B4A243AB0C8A),
    Purpose.CROP_LEFT: (0x4D39A7DFED145B94, 0xDEEB0645B04747B8, 0xF12D05637D24A021),
    Purpose.FLIP: (0x95F6F0581DD367E2, 0xE2374F5EAB2BE2AB, 0xA893E03071175748),
    Purpose.SUBSTITUTE: (0x7523C2C4C3F8AD7B, 0xB39007158105ED96, 0xC63F641731873A77),
    Purpose.BUCKET: (0xCEB2EFF30A682049, 0x00F1D940F61DA3E5, 0xAE7861FC47A81AA5),
    Purpose.TRANSFORM: (0x087952BB4B3F8C70, 0xCA66CF7C2A836340, 0x1BF93EBB2C2801FC),
    Purpose.SPLIT: (0x54C1340EA2C37F83, 0x50F3600B8F4D8F44, 0xE1BE4E9B8080F42A),
    Purpose.WINDOW_0: (0x7163D77608A991C0, 0xC79075E5EDA9EA5C, 0xF25F77A50800080F),
    Purpose.WINDOW_1: (0x1DA4DD2A46CA409D, 0x8AAD2A6A7F50F8A0, 0x9CE671C74BB2B9E8),
    Purpose.WINDOW_2: (0xDAA9D5A8CBCCF80F, 0x9203A06909716D81, 0x07EA1CF77DAEFC03),
    Purpose.WINDOW_3: (0x165D793C61EC9383, 0x1B10948FF9C1FE70, 0xDEE9809B2C2366F9),
    Purpose.WINDOW_4: (0x104BED48E719EEFC, 0xF2F28938A063505A, 0x6C9BF9F75AF3452F),
    Purpose.WINDOW_5: (0xA519D34EFE1C1A17, 0x057CAFA485EAB54A, 0xF600671C57AAACC5),
    Purpose.WINDOW_6: (0x0F8EAA30A983D483, 0x86AFDD680EF5B69B, 0x4C89E8E1739C3251),
    Purpose.WINDOW_7: (0x2C7867743AAAB131, 0xEA0FD2DD23ED1FF8, 0xA9AD9C6A538990DA),
    Purpose.BOX: (0x3B40F1B409FB1206, 0x9E98DF552CE5EA88, 0xA46E4123FC6983F5),
    Purpose.SHORT_SIDE: (0xD4B2AF1B754180E6, 0x51F28A4703AF7FC0, 0xBA0E4F961F71B63B),
}


@pytest.mark.parametrize("purpose", Purpose)
def test_draws_are_those_of_earlier_versions(purpose):
    first, second, far = GOLDEN[purpose]
    assert draws(0, 0, np.arange(2), purpose).tolist() == [first, second]
    assert draws(2**63 - 1, 7, np.array([2**40]), purpose).tolist() == [far]


def test_purposes_keep_their_numbers():
    assert {purpose.name: purpose.value for purpose in Purpose} == {
        "ORDER": 0,
        "START": 1,
        "CROP_TOP": 2,
        "CROP_LEFT": 3,
        "FLIP": 4,
        "SUBSTITUTE": 5,
        "BUCKET": 6,
        "TRANSFORM": 7,
        "SPLIT": 8,
        **{f"WINDOW_{axis}": 9 + axis for axis in range(8)},
        "BOX": 17,
        "SHORT_SIDE": 18,
    }


def plain_mix(word: int, key: tuple[int, int]) -> int:
    word = (word + key[0]) % 2**64
    word = (word ^ word >> 32) * 0xBEA225F9EB34556D % 2**64
    word = (word ^ word >> 29) * 0xBEA225F9EB34556D % 2**64
    word ^= key[1]
    word = (word ^ word >> 32) * 0xBEA225F9EB34556D % 2**64
    return word ^ word >> 29


@given(st.lists(WORDS, min_size=1, max_size=20), st.tuples(WORDS, WORDS))
def test_vectorised_mix_equals_plain_arithmetic(words, key):
    mixed = np.array(words, dtype=np.uint64)
    mix(mixed, (np.uint64(key[0]), np.uint64(key[1])))
    assert mixed.tolist() == [plain_mix(word, key) for word in words]


@given(WORDS)
def test_mix_of_one_word_equals_mix_under_the_zero_key(word):
    assert _mix_one(word) == plain_mix(word, (0, 0))


@pytest.mark.parametrize("shape", [(), (0,), (3,), (2, 3)])
def test_draws_keep_the_shape_and_each_depends_on_its_sample_alone(shape):
    samples = np.arange(np.prod(shape, dtype=int)).reshape(shape) + 5
    words = draws(1, 2, samples, Purpose.FLIP)
    assert words.shape == shape
    assert words.dtype == np.uint64
    each = [int(draws(1, 2, np.array([sample]), Purpose.FLIP)[0]) for sample in samples.flat]
    assert words.reshape(-1).tolist() == each


def test_draws_leave_the_samples_alone():
    samples = np.arange(4, dtype=np.uint64)
    draws(1, 2, samples, Purpose.FLIP)
    assert samples.tolist() == [0, 1, 2, 3]


def test_keys_of_seeds_epochs_and_purposes_differ():
    numbers = [*range(12), *(2**bit for bit in range(4, 63))]
    keys = {_key(seed, epoch, purpose) for seed in numbers for epoch in numbers for purpose in range(6)}
    assert len(keys) == 6 * len(numbers) ** 2


@pytest.mark.parametrize("shift", [0, 8, 16, 24, 32, 40, 48, 56])
@pytest.mark.parametrize("purpose", [Purpose.START, Purpose.FLIP])
def test_each_byte_of_the_draws_is_even(shift, purpose):
    words = draws(0, 0, np.arange(200_000), purpose)
    assert even_counts_p(np.bincount((words >> np.uint64(shift) & np.uint64(255)).astype(int), minlength=256)) > 1e-4


@pytest.mark.parametrize(
    ("first", "second"),
    [
        *(((0, 0, a), (0, 0, b)) for a, b in itertools.combinations(Purpose, 2)),
        *(((0, 0, Purpose.START), (0, epoch, Purpose.START)) for epoch in (1, 2, 2**20)),
        *(((8, 3, Purpose.START), (8 ^ 1 << bit, 3, Purpose.START)) for bit in (0, 1, 31, 32, 62)),
    ],
)
def test_streams_of_one_bit_less_or_more_are_independent(first, second):
    """High bits against high bits, and each bit against its fellow."""
    samples = np.arange(50_000)
    one, other = (draws(seed, epoch, samples, purpose) for seed, epoch, purpose in (first, second))
    high = np.uint64(60)
    assert even_counts_p(np.bincount((one >> high << np.uint64(4) | other >> high).astype(int), minlength=256)) > 1e-4
    differing = np.unpackbits((one ^ other).view(np.uint8).reshape(-1, 8), axis=1).sum(axis=0)
    z = (differing - len(samples) / 2) / np.sqrt(len(samples) / 4)
    assert normal_p(float(np.abs(z).max())) * 64 > 1e-4


def test_neighbouring_samples_draw_independently():
    words = draws(4, 4, np.arange(100_001), Purpose.CROP_TOP) >> np.uint64(60)
    pairs = (words[:-1] << np.uint64(4) | words[1:]).astype(int)
    assert even_counts_p(np.bincount(pairs, minlength=256)) > 1e-4


@given(WORDS, st.integers(1, 2**63 - 1))
def test_below_is_the_exact_high_half_of_the_product(word, bound):
    assert below(np.array([word], dtype=np.uint64), bound).tolist() == [word * bound >> 64]


@given(st.lists(st.tuples(WORDS, st.integers(1, 2**63 - 1)), min_size=1, max_size=10))
def test_below_takes_a_bound_for_each_word(pairs):
    words, bounds = zip(*pairs, strict=True)
    numbers = below(np.array(words, dtype=np.uint64), np.array(bounds))
    assert numbers.dtype == np.int64
    assert numbers.tolist() == [word * bound >> 64 for word, bound in pairs]


@pytest.mark.parametrize("bound", [2, 3, 7, 100, 1000])
def test_numbers_below_a_bound_are_even(bound):
    numbers = below(draws(0, 0, np.arange(200_000), Purpose.SUBSTITUTE), bound)
    assert even_counts_p(np.bincount(numbers, minlength=bound)) > 1e-4


def test_below_works_on_a_single_word_and_on_none():
    assert below(draws(0, 0, np.array(3), Purpose.FLIP), 1).tolist() == 0
    assert below(draws(0, 0, np.arange(0), Purpose.FLIP), 5).tolist() == []


@pytest.mark.parametrize("bounds", [0, -1, np.array([3, 0])])
def test_a_bound_below_one_is_refused(bounds):
    with pytest.raises(ValueError, match="give bounds of 1 or more"):
        below(draws(0, 0, np.arange(2), Purpose.FLIP), bounds)
