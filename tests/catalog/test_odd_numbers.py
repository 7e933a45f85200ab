"""Numbers whose bits in the file are not those in memory are read as HDF5 converts them, and not as they lie."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest

from loader_service.worker.reader import Reader
from tests.support.catalogs import catalog_of


def of_24_bits() -> Any:
    kind = h5py.h5t.STD_I32LE.copy()
    kind.set_precision(24)
    return kind


def of_12_bits() -> Any:
    """As cameras and detectors give them."""
    kind = h5py.h5t.STD_I16LE.copy()
    kind.set_precision(12)
    return kind


def of_12_bits_at_the_top() -> Any:
    kind = h5py.h5t.STD_U16LE.copy()
    kind.set_precision(12)
    kind.set_offset(4)
    return kind


def bfloat16() -> Any:
    kind = h5py.h5t.IEEE_F16LE.copy()
    kind.set_fields(15, 7, 8, 0, 7)
    kind.set_ebias(127)
    return kind


def bits_of_a_field() -> Any:
    return h5py.h5t.STD_B16LE


def enumerated() -> Any:
    return h5py.h5t.py_create(h5py.enum_dtype({"A": 0, "B": 1}, ">i4"), logical=True)


@pytest.mark.parametrize("kind", [of_24_bits, of_12_bits, of_12_bits_at_the_top, bfloat16, bits_of_a_field, enumerated])
@pytest.mark.parametrize("chunks", [None, (2, 4)], ids=["contiguous", "chunked"])
def test_values_are_those_that_hdf5_gives(tmp_path: Path, kind: Callable[[], Any], chunks: Any) -> None:
    values = np.arange(24).reshape(6, 4) % 2 if kind is enumerated else np.arange(24).reshape(6, 4) * 7
    if kind in {of_24_bits, of_12_bits, bfloat16}:
        values = values - 80
    with h5py.File(tmp_path / "a.h5", "w") as file:
        properties = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
        if chunks:
            properties.set_chunk(chunks)
        h5py.h5d.create(file.id, b"x", kind(), h5py.h5s.create_simple(values.shape), properties)
        dataset = file["x"]
        dataset[...] = values.astype(dataset.dtype)
        file["y"] = np.arange(len(values))
        expected = dataset[()]
    catalog = catalog_of(tmp_path)
    reader = Reader(catalog)
    try:
        out = np.zeros(expected.shape, catalog.field("x").dtype)
        reader.read_array(0, "x", 0, out)
    finally:
        reader.close()
        catalog.close()
    np.testing.assert_array_equal(out, expected)
    np.testing.assert_array_equal(out, values)


def test_bits_of_another_byte_order_are_left_out_as_hdf5_converts_them_to_no_numbers(tmp_path: Path) -> None:
    with h5py.File(tmp_path / "a.h5", "w") as file:
        file["x"] = np.arange(24.0).reshape(6, 4)
        written = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
        written.set_alloc_time(h5py.h5d.ALLOC_TIME_EARLY)
        h5py.h5d.create(file.id, b"bits", h5py.h5t.STD_B8BE, h5py.h5s.create_simple((6, 4)), written)
    catalog = catalog_of(tmp_path)
    assert [field.name for field in catalog.fields] == ["x"]
    assert any("'bits': found bits in a foreign byte order" in line for line in catalog.left_out), catalog.left_out
