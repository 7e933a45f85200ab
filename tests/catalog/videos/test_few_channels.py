"""Arrays whose last axis counts samples, though it is as long as colours are many, or their first two axes agree."""

from __future__ import annotations

from contextlib import closing

import h5py
import numpy as np
import pytest

from tests.catalog.advice import schemas_in
from tests.support.catalogs import catalog_of, declared_catalog


def _lines(folder, mark, **arrays):
    with h5py.File(folder / "a.h5", "w") as file:
        for name, shape in arrays.items():
            file[name] = np.ones(shape, np.int64 if name == "labels" else np.uint8)
    with closing(catalog_of(folder)) as found:
        return [line for line in found.left_out if mark in line]


@pytest.mark.parametrize("count", [3, 4])
def test_a_picture_beside_as_many_labels_as_it_has_channels_has_a_line(tmp_path, count):
    (line,) = _lines(tmp_path, "(channels)", X=(24, 32, count), labels=(count,))
    assert f"one picture of {count} channels here, and 'labels' has {count} entries; if its last axis counts" in line


@pytest.mark.parametrize("name", ["images", "frames"])
def test_what_is_called_several_pictures_has_a_line(tmp_path, name):
    assert _lines(tmp_path, "(channels)", **{name: (24, 32, 4)})


def test_three_matrices_that_are_one_picture_have_a_schema_for_rows(tmp_path):
    (line,) = _lines(tmp_path, "(channels)", X=(3, 24, 32))
    (schema,) = schemas_in(line)
    with closing(declared_catalog(tmp_path, schema)) as found:
        assert found.frame_counts.tolist() == [3]


def test_pictures_as_narrow_as_colours_are_many_have_a_line(tmp_path):
    (line,) = _lines(tmp_path, "(channels)", images=(24, 32, 3, 3))
    assert "its 24 pictures are 32 x 3 pixels of 3 colours each; if its last axis counts samples" in line


@pytest.mark.parametrize("name", ["image", "rgb", "X"])
def test_a_picture_alone_has_none(tmp_path, name):
    assert not _lines(tmp_path, "(channels)", **{name: (24, 32, 3)})


def test_a_mean_of_colours_beside_a_picture_says_nothing(tmp_path):
    assert not _lines(tmp_path, "(channels)", image=(24, 32, 3), mean=(3,))


@pytest.mark.parametrize("count", [5, 100])
def test_square_pictures_behind_each_other_beside_their_masks_have_a_line(tmp_path, count):
    (line,) = _lines(tmp_path, "(axes)", images=(16, 16, 3, count), masks=(16, 16, count))
    assert f"all arrays begin with 16 x 16 and end with {count}; if the last axis counts samples" in line


def test_square_pictures_before_each_other_have_no_such_line(tmp_path):
    assert not _lines(tmp_path, "all arrays begin with", images=(16, 16, 16, 3), masks=(16, 16, 16))
