"""Fields and the layout of a slot."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from loader_service.protocol.fields import ALIGNMENT_BYTES, Field, SlotLayout

FIELDS = st.lists(
    st.builds(
        Field,
        st.just("x"),
        st.sampled_from(["uint8", "int16", "float32", "int64", "S7"]),
        st.lists(st.integers(0, 9), max_size=3).map(tuple),
    ),
    min_size=1,
    max_size=5,
)


@given(FIELDS, st.integers(1, 9))
def test_fields_of_a_slot_are_aligned_and_do_not_overlap(fields, batch_size):
    named = tuple(Field(f"f{number}", field.dtype, field.shape) for number, field in enumerate(fields))
    layout = SlotLayout(named, batch_size)
    buffer = np.zeros(layout.size_bytes, np.uint8)
    assert layout.size_bytes % ALIGNMENT_BYTES == 0
    end = 0
    for number, field in enumerate(named):
        assert layout.offsets[number] % ALIGNMENT_BYTES == 0
        assert layout.offsets[number] >= end
        view = layout.view(field.name, buffer)
        assert view.shape == (batch_size, *field.shape)
        assert view.nbytes == field.sample_bytes * batch_size
        end = layout.offsets[number] + view.nbytes
    assert end <= layout.size_bytes


def test_views_write_through_and_take_fewer_rows():
    layout = SlotLayout((Field("a", "int64", ()), Field("b", "uint8", (2, 3))), 4)
    buffer = bytearray(layout.size_bytes)
    layout.view("b", buffer)[3, 1, 2] = 77
    assert buffer[layout.offsets[1] + 23] == 77
    assert layout.view("b", buffer, 2).shape == (2, 2, 3)
    assert layout.view("a", buffer, 0).shape == (0,)


def test_a_slot_of_empty_fields_can_be_mapped():
    assert SlotLayout((Field("a", "int64", (0,)),), 4).size_bytes == ALIGNMENT_BYTES


def test_an_unknown_field_is_a_key_error():
    with pytest.raises(KeyError, match="nothing"):
        SlotLayout((Field("a", "int64", ()),), 1).view("nothing", bytearray(64))
