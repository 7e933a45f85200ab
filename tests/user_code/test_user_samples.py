"""Whatever a user's code returns becomes flat fields of arrays, or is refused with the field and the type."""

from __future__ import annotations

import datetime as dt
from collections import OrderedDict, namedtuple
from pathlib import Path

import numpy as np
import pytest

from loader_service.errors import SourceError
from loader_service.user_code.user_samples import flatten


def form(sample):
    return {name: (array.dtype.name, array.shape) for name, array in flatten(sample, "it").items()}


def test_dicts_are_fields_and_dicts_in_them_are_joined_with_slashes():
    sample = OrderedDict(
        image=np.zeros((4, 5, 3), np.uint8), robot={"arm": {"joints": [1.0, 2.0]}, "grip": True}, **{"7": np.int8(1)}
    )
    assert form(sample) == {
        "image": ("uint8", (4, 5, 3)),
        "robot/arm/joints": ("float64", (2,)),
        "robot/grip": ("bool", ()),
        "7": ("int8", ()),
    }
    assert list(flatten(sample, "it")) == ["image", "robot/arm/joints", "robot/grip", "7"]


def test_tuples_and_lists_are_numbered_fields():
    x, y = np.zeros((8, 3), np.float32), np.ones(8, np.int64)
    assert form((x, y)) == form([x, y]) == {"0": ("float32", (8, 3)), "1": ("int64", (8,))}
    assert form(({"left": x, "right": x}, y)) == {
        "0/left": ("float32", (8, 3)),
        "0/right": ("float32", (8, 3)),
        "1": ("int64", (8,)),
    }
    assert form(((x, y), y)) == {"0/0": ("float32", (8, 3)), "0/1": ("int64", (8,)), "1": ("int64", (8,))}
    assert form(namedtuple("Pair", "x y")(x, y)) == form((x, y))  # noqa: PYI024


def test_a_single_array_is_the_field_value():
    assert form(np.zeros((2, 2), np.float16)) == {"value": ("float16", (2, 2))}
    assert form(3.5) == {"value": ("float64", ())}
    assert flatten("text", "it")["value"] == b"text"


def test_lists_and_tuples_of_numbers_are_arrays():
    assert form({"size": (480, 640), "boxes": [[1, 2], [3, 4]], "images": [np.zeros((2, 3))] * 4}) == {
        "size": ("int64", (2,)),
        "boxes": ("int64", (2, 2)),
        "images": ("float64", (4, 2, 3)),
    }


def test_texts_are_utf_8_bytes():
    fields = flatten({"text": "zoë", "bytes": b"raw", "texts": ["a", "bcd"], "empty": ""}, "it")
    assert fields["text"].item() == "zoë".encode()
    assert fields["texts"].tolist() == [b"a", b"bcd"]
    assert [fields[name].dtype.kind for name in fields] == ["S"] * 4


def test_a_foreign_byte_order_becomes_the_machines_own_with_the_same_numbers():
    array = flatten({"a": np.arange(4, dtype=">i4")}, "it")["a"]
    assert array.dtype.isnative
    assert array.tolist() == [0, 1, 2, 3]


def test_arrays_are_not_copied():
    array = np.zeros((3, 3), np.float32)[:, ::2]
    assert flatten({"a": array}, "it")["a"] is array


@pytest.mark.parametrize(
    ("value", "said"),
    [
        (None, "a NoneType of dtype object"),
        (object(), "a object of dtype object"),
        (np.array([1, None]), "a ndarray of dtype object"),
        ({1, 2}, "a set of dtype object"),
        (Path("x"), "of dtype object"),
        ([{"x": 1}, {"x": 2}], "a list of dtype object"),
        (dt.datetime(2026, 1, 1, tzinfo=dt.timezone.utc), "a datetime of dtype object"),
        (np.datetime64("2026-01-01"), "a datetime64 of dtype datetime64"),
        (1 + 2j, "a complex of dtype complex128"),
        (np.zeros(2, np.longdouble), "a ndarray of dtype float128"),
        (np.zeros(2, [("a", "i4")]), "a ndarray of dtype [('a', '<i4')]"),
        (2**70, "a int of dtype object"),
        ([[1, 2], [3]], "a list that makes no array"),
        ([np.zeros((2, 3)), np.zeros((3, 3))], "a list that makes no array"),
    ],
    ids=lambda each: each if isinstance(each, str) else type(each).__name__,
)
def test_a_type_without_a_tensor_form_is_refused_by_field_and_type(value, said):
    with pytest.raises(SourceError) as caught:
        flatten({"outer": {"inner": value}}, "item 3 of source 'a:B'")
    assert "field 'outer/inner' of item 3 of source 'a:B'" in str(caught.value)
    assert said in str(caught.value)
    assert "return numbers" in str(caught.value) or "pad it" in str(caught.value)


def test_a_value_that_refuses_to_be_an_array_is_refused_with_its_reason():
    class OnDevice:
        def __array__(self, *args, **kwargs):
            raise RuntimeError("call detach() first")

    with pytest.raises(SourceError, match=r"field 'x' of it: a OnDevice that makes no array \(RuntimeError: call deta"):
        flatten({"x": OnDevice()}, "it")


def test_names_that_collide_after_joining_are_refused():
    with pytest.raises(SourceError, match="it has two fields called 'a/b'; rename one"):
        flatten({"a/b": 1, "a": {"b": 2}}, "it")


@pytest.mark.parametrize("nothing", [{}, (), [], {"a": {}}])
def test_a_sample_of_nothing_is_refused(nothing):
    with pytest.raises(SourceError, match="it is empty; return a dict or tuple of arrays"):
        flatten(nothing, "it")


def test_more_fields_or_longer_names_than_a_stream_can_have_are_refused_in_short_words():
    with pytest.raises(SourceError, match="return at most 64 fields") as caught:
        flatten({f"field{number}": 0 for number in range(100_000)}, "it")
    assert len(str(caught.value)) < 300
    with pytest.raises(SourceError, match="names of at most 200") as caught:
        flatten({"x" * 100_000: 0}, "it")
    assert len(str(caught.value)) < 300
