"""An index says what a step holds: all its entries once an epoch, by position, and nothing that is no sample."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from loader_client.indexes import ENDLESS, AnnouncedIndex, RowIndex, StepContents, rows_of_keys
from loader_service.errors import ConfigError
from loader_service.protocol.spec import Frame, Spec


def spec(batch_size: int, **options: Any) -> Spec:
    return Spec(batch_size, Frame(), indexed=True, **options)


def epoch_of(index: RowIndex, epoch: int) -> list[tuple[int, int]]:
    """Return (sample, position) of all rows of an epoch."""
    steps = [index.contents(epoch, step) for step in range(index.steps_per_epoch)]
    return [pair for step in steps for pair in zip(step.samples, step.positions, strict=True)]


@settings(max_examples=100)
@given(st.lists(st.integers(0, 9), min_size=1, max_size=60), st.integers(1, 7), st.integers(0, 3))
def test_an_epoch_has_each_entry_once_with_its_sample(entries, batch_size, epoch):
    index = RowIndex(entries, spec(batch_size, drop_remainder=False))
    rows = epoch_of(index, epoch)
    assert sorted(position for _, position in rows) == list(range(len(entries)))
    assert all(entries[position] == sample for sample, position in rows)


def test_epochs_are_different_shuffles_and_without_shuffle_the_index_itself():
    entries = np.arange(100)[::-1]
    shuffled = RowIndex(entries, spec(10))
    assert epoch_of(shuffled, 0) == epoch_of(RowIndex(entries, spec(10)), 0)
    assert epoch_of(shuffled, 0) != epoch_of(shuffled, 1)
    assert epoch_of(RowIndex(entries, spec(10, shuffle=False)), 3) == [(99 - place, place) for place in range(100)]


def test_shards_of_an_index_are_disjoint_and_cover_it():
    parts = [epoch_of(RowIndex([5] * 31, spec(4, shard=(rank, 3), drop_remainder=False)), 2) for rank in range(3)]
    assert sorted(position for part in parts for _, position in part) == list(range(31))


def test_the_users_array_may_change_afterwards():
    entries = np.arange(8)
    index = RowIndex(entries, spec(8, shuffle=False))
    entries[:] = -1
    index.check(8)
    assert index.contents(0, 0).samples == tuple(range(8))


@pytest.mark.parametrize(
    ("entries", "says"),
    [
        ([[1, 2]], r"shape \(1, 2\)"),
        ([0.5], "dtype float64"),
        ([], r"shape \(0,\)"),
        (["a"], "dtype str"),
    ],
)
def test_what_is_no_column_of_whole_numbers_is_no_index(entries, says):
    with pytest.raises(ConfigError, match=says):
        RowIndex(entries, spec(1))


def test_an_index_too_short_for_a_batch_says_so():
    with pytest.raises(ConfigError, match=r"batch_size=4 is more than the entries of shard \(0, 1\) of an index of 3"):
        RowIndex([1, 2, 3], spec(4))
    assert RowIndex([1, 2, 3], spec(4, drop_remainder=False)).steps_per_epoch == 1


def test_an_entry_out_of_range_is_named_with_its_value_and_the_range():
    with pytest.raises(ConfigError, match=r"index\[2\] is 7 .*the service has 7 samples, numbered 0 to 6"):
        RowIndex([1, 2, 7, 8], spec(1)).check(7)
    with pytest.raises(ConfigError, match=r"index\[1\] is -1"):
        RowIndex([1, -1], spec(1)).check(7)


def test_an_announced_step_is_known_until_it_is_forgotten():
    index = AnnouncedIndex(4)
    index.check(100)
    assert index.steps_per_epoch == ENDLESS
    index.announce(1, 2, np.array([5, 5, 99]), 40)
    assert index.knows(1, 2)
    assert index.contents(1, 2) == StepContents((5, 5, 99), (40, 41, 42))
    index.forget(1, 2)
    assert not index.knows(1, 2)


def test_what_is_announced_is_checked():
    index = AnnouncedIndex(2)
    index.check(100)
    with pytest.raises(ConfigError, match=r"entry 11 of the index dataset is 100, and the service has 100 samples"):
        index.announce(0, 5, np.array([5, 100]), 10)
    for samples in ([1, 2, 3], []):
        with pytest.raises(ConfigError, match=f"gave {len(samples)} samples for step 5 of epoch 0.*batch_size=2"):
            index.announce(0, 5, np.array(samples, np.int64), 10)


_KEYS = np.array([b"cat", b"dog", b"owl", b"dog", "bär".encode()])
_SAMPLES = np.array([10, 11, 12, 13, 14])


def test_keys_name_samples_in_any_multiplicity_and_form():
    assert rows_of_keys(["owl", "cat", "owl", "bär"], _KEYS, _SAMPLES, "key").tolist() == [12, 10, 12, 14]
    assert rows_of_keys(np.array([b"owl"]), _KEYS, _SAMPLES, "key").tolist() == [12]
    assert rows_of_keys(np.array(["owl", "bär"]), _KEYS, _SAMPLES, "key").tolist() == [12, 14]


def test_keys_that_name_no_sample_or_several_are_named():
    with pytest.raises(ConfigError, match=r"2 of 3 index_keys name no sample by its field 'key': 'ow', 'owls'"):
        rows_of_keys(["ow", "owl", "owls"], _KEYS, _SAMPLES, "key")
    with pytest.raises(ConfigError, match=r"1 of 2 index_keys name more than one sample by its field 'key': 'dog'"):
        rows_of_keys(["dog", "cat"], _KEYS, _SAMPLES, "key")
    with pytest.raises(ConfigError, match="index_keys is empty"):
        rows_of_keys([], _KEYS, _SAMPLES, "key")
