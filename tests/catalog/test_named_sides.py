"""One list of names says the sides of pictures: for raw bytes, and for rows of as many numbers."""

from __future__ import annotations

from contextlib import closing

import h5py
import numpy as np
import pytest

from tests.support.catalogs import catalog_of

_NAMES = [("height", "width"), ("H", "W"), ("image_height", "image_width"), ("img_h", "img_w")]


@pytest.mark.parametrize("names", _NAMES)
def test_rows_of_as_many_numbers_as_a_picture_have_a_line(tmp_path, names):
    with h5py.File(tmp_path / "a.h5", "w") as root:
        root["pixels"] = np.zeros((5, 6 * 8 * 3), np.float32)
        for name, side in zip(names, (6, 8), strict=True):
            root[name] = np.full(5, side)
    with closing(catalog_of(tmp_path)) as found:
        assert any("as many numbers as a picture of 6 x 8" in line for line in found.left_out)


@pytest.mark.parametrize("names", _NAMES)
def test_raw_bytes_of_such_pictures_are_images(tmp_path, names):
    with h5py.File(tmp_path / "a.h5", "w") as root:
        pixels = root.create_dataset("pixels", (5,), h5py.vlen_dtype(np.uint8))
        for row in range(5):
            pixels[row] = np.full(6 * 8 * 3, row, np.uint8)
        for name, side in zip(names, (6, 8), strict=True):
            root[name] = np.full(5, side)
    with closing(catalog_of(tmp_path)) as found:
        assert found.field("frames").kind == "image"
