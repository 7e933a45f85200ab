"""What `record` makes behaves as a dataclass, whose functions Python writes for each class, does."""

from __future__ import annotations

import copy
import dataclasses
import math
import pickle

import pytest

from loader_service.record_class import record

FIELDS = {"number": 3, "text": "a'b", "more": (1, 2)}


@record(frozen=True)
class Ours:
    """One."""

    number: int
    text: str
    more: tuple[int, ...] = ()


@dataclasses.dataclass(frozen=True)
class Control:
    """The same."""

    number: int
    text: str
    more: tuple[int, ...] = ()


def test_its_text_hash_and_fields_are_those_of_a_dataclass():
    one, control = Ours(**FIELDS), Control(**FIELDS)
    assert repr(one) == repr(control).replace("Control", "Ours")
    assert hash(one) == hash(control)
    assert dataclasses.asdict(one) == dataclasses.asdict(control)
    assert dataclasses.replace(one, number=4) == Ours(4, "a'b", (1, 2))
    assert pickle.loads(pickle.dumps(one)) == copy.deepcopy(one) == one
    match one:
        case Ours(3, text, _):
            assert text == "a'b"


@pytest.mark.parametrize("other", [Ours(3, "a'b", (1, 3)), Ours(4, "a'b", (1, 2)), Control(**FIELDS), 3, None])
def test_it_equals_only_what_is_of_its_class_and_has_the_same_values(other):
    assert Ours(**FIELDS) != other
    assert Ours(**FIELDS) == Ours(**FIELDS)
    nan = math.nan
    assert (Ours(nan, "") == Ours(nan, "")) == (Control(nan, "") == Control(nan, ""))  # type: ignore[arg-type]
