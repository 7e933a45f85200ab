"""Whole videos come padded or ragged over the memory of their slot, and a lone sample without its batch axis."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from loader_client.forms import Ragged, alone, shaped
from loader_service.errors import ProtocolError
from loader_service.protocol.fields import Field
from loader_service.protocol.spec import Spec

_FIELDS = (Field("sound", "int16", (2,), varies=True), Field("label", "int64", ()), Field("length", "int64", ()))


def slot(frames: int, lengths: list[int]) -> dict[str, Any]:
    sound = np.arange(2 * frames, dtype=np.int16).reshape(frames, 2)
    return {"sound": sound, "label": np.arange(len(lengths)), "length": np.array(lengths)}


def test_padded_rows_have_the_room_of_the_longest_and_share_the_slots_memory():
    raw = slot(6, [3, 1])
    batch = shaped(raw, _FIELDS, Spec(2, None))
    assert batch["sound"].shape == (2, 3, 2)
    assert np.shares_memory(batch["sound"], raw["sound"])
    np.testing.assert_array_equal(batch["sound"][1], raw["sound"][3:])
    assert list(batch) == ["sound", "label", "length"]


def test_ragged_rows_lie_one_after_the_other_without_padding():
    raw = slot(6, [3, 1, 2])
    sound = shaped(raw, _FIELDS, Spec(3, None, batching="ragged"))["sound"]
    assert isinstance(sound, Ragged)
    assert np.shares_memory(sound.values, raw["sound"])
    assert sound.row_splits.tolist() == [0, 3, 4, 6]
    assert sound.lengths.tolist() == [3, 1, 2]
    assert [len(row) for row in sound] == [3, 1, 2]
    np.testing.assert_array_equal(sound[-1], raw["sound"][4:])
    with pytest.raises(IndexError, match="row 3 of 3"):
        sound[3]


def test_lengths_that_were_not_asked_for_are_not_there():
    batch = shaped(slot(6, [3, 3]), _FIELDS, Spec(2, None, fields=("sound", "label")))
    assert list(batch) == ["sound", "label"]


@pytest.mark.parametrize(("batching", "lengths"), [("ragged", [3, 2]), ("pad", [3, 1, 2, 1]), ("pad", [4, 1])])
def test_a_slot_that_contradicts_its_lengths_is_an_error_and_not_a_wrong_batch(batching, lengths):
    with pytest.raises(ProtocolError, match="6 frames of 'sound'"):
        shaped(slot(6, lengths), _FIELDS, Spec(len(lengths), None, batching=batching))


@pytest.mark.parametrize("batching", ["pad", "ragged"])
def test_a_lone_sample_has_no_batch_axis(batching):
    sample = alone(shaped(slot(3, [3]), _FIELDS, Spec(1, None, batching=batching)))
    assert sample["sound"].shape == (3, 2)
    assert isinstance(sample["label"], np.ndarray)
    assert sample["label"].shape == ()
