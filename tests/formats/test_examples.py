"""Examples and SequenceExamples, both ways against TensorFlow."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from loader_service.formats.examples import (
    decode_example,
    decode_sequence_example,
    encode_example,
    encode_sequence_example,
    is_exact,
)
from tests.support.late_tensorflow import tf

pytestmark = pytest.mark.usefixtures("tf")

NAMES = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=8)
FEATURES = st.one_of(
    st.lists(st.binary(max_size=20), min_size=1, max_size=4),
    hnp.arrays(np.int64, st.integers(1, 5)),
    hnp.arrays(np.float32, st.integers(1, 5)),
)


def same(left: Any, right: Any) -> bool:
    if isinstance(left, list):
        return isinstance(right, list) and left == right
    return left.dtype == right.dtype and left.tobytes() == right.tobytes()


def from_tensorflow(features: Any) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name, feature in features.feature.items():
        kind = feature.WhichOneof("kind")
        values = getattr(feature, kind).value
        dtype = {"int64_list": np.int64, "float_list": np.float32}.get(kind)
        found[name] = list(values) if dtype is None else np.array(values, dtype)
    return found


@settings(max_examples=60)
@given(st.dictionaries(NAMES, FEATURES, max_size=4))
def test_tensorflow_and_this_project_read_the_same_example(features: dict[str, Any]) -> None:
    data = encode_example(features)
    theirs = from_tensorflow(tf.train.Example.FromString(data).features)
    ours = decode_example(data)
    assert ours.keys() == theirs.keys() == features.keys()
    for name, value in features.items():
        assert same(ours[name], value)
        assert same(ours[name], theirs[name])


@settings(max_examples=30)
@given(st.dictionaries(NAMES, FEATURES, max_size=3), st.dictionaries(NAMES, st.lists(FEATURES, max_size=3), max_size=2))
def test_sequence_examples_come_back(context: dict[str, Any], lists: dict[str, list[Any]]) -> None:
    data = encode_sequence_example(context, lists)
    theirs = tf.train.SequenceExample.FromString(data)
    ours = decode_sequence_example(data)
    assert from_tensorflow(theirs.context).keys() == ours.context.keys()
    assert {name: len(each.feature) for name, each in theirs.feature_lists.feature_list.items()} == {
        name: len(each) for name, each in ours.lists.items()
    }
    for name, steps in lists.items():
        assert all(same(left, right) for left, right in zip(ours.lists[name], steps, strict=True))


def test_tensorflow_parses_an_example_with_all_kinds() -> None:
    data = encode_example(
        {
            "frames": [b"one", b"two"],
            "label": np.int32(7).reshape(()),
            "pose": np.ones((2, 3), np.float16),
            "ok": np.array(True),
        }
    )
    parsed = tf.io.parse_single_example(
        data,
        {
            "frames": tf.io.FixedLenSequenceFeature([], tf.string, allow_missing=True),
            "label": tf.io.FixedLenFeature([], tf.int64),
            "pose": tf.io.FixedLenSequenceFeature([3], tf.float32, allow_missing=True),
            "ok": tf.io.FixedLenFeature([], tf.int64),
        },
    )
    assert parsed["frames"].numpy().tolist() == [b"one", b"two"]
    assert parsed["label"].numpy() == 7
    assert parsed["pose"].shape == (2, 3)
    assert parsed["ok"].numpy() == 1


def test_an_example_is_a_sequence_example_without_lists() -> None:
    found = decode_sequence_example(encode_example({"a": b"x"}))
    assert found.context == {"a": [b"x"]}
    assert found.lists == {}


def test_a_feature_that_holds_nothing_is_an_empty_list() -> None:
    example = tf.train.Example()
    example.features.feature["empty"].SetInParent()
    assert decode_example(example.SerializeToString()) == {"empty": []}


def test_the_same_features_give_the_same_bytes() -> None:
    assert encode_example({"a": b"x", "b": b"y"}) == encode_example({"b": b"y", "a": b"x"})


@pytest.mark.parametrize(
    "value", [np.float64(0.1).reshape(()), np.array([2**63], np.uint64)], ids=["float64", "uint64"]
)
def test_numbers_that_would_not_come_back_are_refused(value: Any) -> None:
    assert not is_exact(value.dtype)
    with pytest.raises(ValueError, match="cannot hold exactly"):
        encode_example({"a": value})


def test_bytes_that_are_no_example_are_refused() -> None:
    with pytest.raises(ValueError, match=r"6 bytes that are no tf\.train\.Example"):
        decode_example(b"\xff\xd8\xff\xe0ab")
