"""Copies by native code: the same bytes as NumPy's, at any address and of any length, and nothing beside them."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from loader_service.native import copies

_ROOM = 300_000


@pytest.fixture(params=["native", "numpy"])
def copy(request, monkeypatch):
    """Return the function, with copies of any length taken for large ones; by native code, or without any."""
    monkeypatch.setattr(copies, "_LARGE_BYTES", 0)
    if request.param == "numpy":
        monkeypatch.setattr(copies, "_native_copy", lambda: None)
    else:
        assert copies._native_copy() is not None
    return copies.copy


def _check(copy, length, begin_out, begin_data):
    data = np.random.default_rng(length).integers(0, 256, _ROOM).astype(np.uint8)
    out = np.full(_ROOM, 7, np.uint8)
    copy(out[begin_out : begin_out + length], data[begin_data : begin_data + length])
    assert (out[begin_out : begin_out + length] == data[begin_data : begin_data + length]).all()
    assert (out[:begin_out] == 7).all()
    assert (out[begin_out + length :] == 7).all()


@pytest.mark.parametrize("length", [0, 1, 15, 16, 63, 64, 65, 127, 128, 262_656])
def test_as_many_bytes_are_copied_as_are_asked_for(copy, length):
    for begin in (0, 1, 48, 63, 64):
        _check(copy, length, begin, 64 - begin)


def test_bytes_are_copied_at_any_address():
    native = copies._native_copy()
    assert native is not None

    @settings(max_examples=100)
    @given(st.integers(0, 5_000), st.integers(0, 130), st.integers(0, 130))
    def check(length, begin_out, begin_data):
        _check(lambda out, data: native(out.ctypes.data, data.ctypes.data, len(out)), length, begin_out, begin_data)

    check()


def test_arrays_of_different_length_are_an_error(copy):
    with pytest.raises(ValueError, match="broadcast"):
        copy(np.zeros(10, np.uint8), np.zeros(11, np.uint8))
