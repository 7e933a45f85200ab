"""What lies beside pictures: numbers, texts, lists of any length, and what JSON can say else."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest

from loader_service.pack.alike_values import AlikeValues, values_alike
from loader_service.pack.named_values import RaggedColumn, as_label, field_name, put_value
from loader_service.pack.records import Beside, PackedVideo, of_plain, to_plain


def put(value: Any, frames: int = 3) -> Beside:
    beside = Beside()
    put_value(beside, "it", value, frames)
    return beside


def test_lists_that_differ_from_frame_to_frame_keep_their_frames() -> None:
    entries, bounds = put([[1, 2], [], [3]]).lists["it"]
    assert (entries.tolist(), bounds.tolist()) == ([1, 2, 3], [0, 2, 2, 3])
    ragged = RaggedColumn.of([np.array([[1.0, 2.0]]), [], np.array([[3.0, 4.0]])])
    assert ragged is not None
    assert put(ragged).lists["it"] == ragged
    typed = RaggedColumn.of([[1.0], []], np.dtype(np.float32))
    assert typed is not None
    assert typed.entries.dtype == np.float32
    assert put(ragged, frames=5).values["it"].tolist() == [[1.0, 2.0], [3.0, 4.0]]


@pytest.mark.parametrize("value", [[[1, 2, 3], [4, 5, 6]], [[7]], np.eye(3)])
def test_tables_of_a_video_keep_their_shape(value: Any) -> None:
    assert put(value, frames=7).values["it"].tolist() == np.asarray(value).tolist()


@pytest.mark.parametrize("value", [{"a": [1, None]}, [{"x": 1}, {"x": 2}], [1, "two"], [[1], [2, 3]], [2**70], 2**70])
def test_what_is_neither_number_nor_text_is_kept_as_json(value: Any) -> None:
    assert json.loads(put(value, frames=1).values["it"]) == value


def test_null_is_nothing_and_a_number_stays_one() -> None:
    assert put(None) == Beside()
    assert put(7).values == {"it": 7}
    assert put(["one"]).values == {"it": "one"}
    assert put(["a", "bc", "d"]).columns["it"].tolist() == [b"a", b"bc", b"d"]


def test_half_a_character_is_kept_as_its_bytes() -> None:
    half = "\ud800"  # as JSON can say it, and UTF-8 cannot
    assert put(half, frames=1).values["it"].tolist() == list(b"\xed\xa0\x80")
    for name in (field_name(half), as_label(half)):
        assert str(name).encode("utf-8", "surrogateescape") == b"\xed\xa0\x80"


@pytest.mark.parametrize("value", [np.nan, np.inf, 2**63, "a\0b", "x" * 4097, "", [1, 2], None])
def test_what_no_catalog_takes_for_a_label_is_none(value: Any) -> None:
    assert as_label(value) is None


@pytest.mark.parametrize(
    "value",
    [
        np.array([0.1, 2.5], np.float32),
        np.array([], np.int64),
        np.zeros((0, 4), np.float32),
        np.array([1, 2]),
        np.uint8(3),
        np.float64("nan"),
        np.array([b"a", b"bcd"]),
        np.bool_(True),
    ],
)
def test_values_come_back_from_json_with_their_type(value: Any) -> None:
    found = of_plain(json.loads(json.dumps(to_plain(value))))
    assert found.dtype == np.asarray(value).dtype
    assert found.shape == np.shape(value)
    assert np.array_equal(found, value, equal_nan=found.dtype.kind == "f")


def video(**values: Any) -> PackedVideo:
    plain = {name: to_plain(value) for name, value in values.items()}
    return PackedVideo("v", "s", 0, 0, 1, (), plain, 0, 0)


def test_what_is_a_list_in_one_video_is_one_in_all_but_for_the_label() -> None:
    box = np.array([1, 2], np.float32)
    seen = AlikeValues()
    videos = values_alike(
        [video(box=np.float32(3), label=1), video(box=box, label=np.array([1, 2])), video(box=np.zeros(0))], seen
    )
    assert [of_plain(each.attributes["box"]).tolist() for each in videos] == [[3.0], [1.0, 2.0], []]
    assert {of_plain(each.attributes["box"]).dtype for each in videos} == {np.dtype(np.float32)}
    assert videos[0].attributes["label"] == 1
    assert of_plain(values_alike([video(box=np.float32(4))], seen)[0].attributes["box"]).tolist() == [4.0]


def test_boxes_of_a_picture_without_any_have_the_shape_of_others() -> None:
    boxes = [np.array([[1, 2, 3, 4]]), np.zeros(0), np.array([[1, 2, 3, 4], [5, 6, 7, 8]])]
    found = [
        of_plain(each.attributes["box"]) for each in values_alike([video(box=box) for box in boxes], AlikeValues())
    ]
    assert [each.shape for each in found] == [(1, 4), (0, 4), (2, 4)]
    assert {each.dtype for each in found} == {np.dtype(np.int64)}


def test_numbers_of_several_types_are_of_one_that_holds_all_and_what_none_holds_stays() -> None:
    shares = [video(share=1, large=2**60 + 1, seen=True), video(share=0.5, large=0.5, seen=2), video(share="none")]
    found = [each.attributes for each in values_alike(shares, AlikeValues())]
    assert [each["share"] for each in found] == [1.0, 0.5, "none"]
    assert isinstance(found[0]["share"], float)
    assert found[0]["large"] == 2**60 + 1
    assert [each["seen"] for each in found[:2]] == [1, 2]
    assert found[0]["seen"] is not True
