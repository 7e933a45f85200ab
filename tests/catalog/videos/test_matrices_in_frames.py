"""Matrices called by a frame and a number, ``frame_0_cell_1``, may be grey pictures, and are asked about."""

from __future__ import annotations

from contextlib import closing

import h5py
import numpy as np
import pytest

from loader_service.errors import CatalogError
from tests.catalog.advice import schemas_in
from tests.support.catalogs import catalog_of, declared_catalog


def _write(tmp_path, name, sides, dtype="u1"):
    with h5py.File(tmp_path / "a.h5", "w") as root:
        for frame in range(3):
            for cell in (1, 2, 7):
                root[name.format(frame, cell)] = np.zeros(sides(frame, cell), dtype)


@pytest.mark.parametrize("sides", [lambda frame, cell: (10 + cell, 12 + frame), lambda *_: (12, 12)])
def test_grey_ones_are_asked_about_and_a_schema_makes_each_a_sample(tmp_path, sides):
    _write(tmp_path, "frame_{}_cell_{}", sides)
    with pytest.raises(CatalogError, match="a grey picture each") as asked:
        catalog_of(tmp_path)
    counts = []
    for schema in schemas_in(str(asked.value)):
        with closing(declared_catalog(tmp_path, schema)) as found:
            counts.append(found.frame_counts.tolist())
    assert [1] * 9 in counts


def test_so_are_small_ones_of_which_not_each_frame_has_all(tmp_path):
    _write(tmp_path, "frame_{}_cell_{}", lambda *_: (12, 12))
    with h5py.File(tmp_path / "a.h5", "a") as root:
        del root["frame_1_cell_7"]
    with pytest.raises(CatalogError, match=r"found 8 datasets as .*: a grey picture each") as asked:
        catalog_of(tmp_path)
    with closing(declared_catalog(tmp_path, schemas_in(str(asked.value))[0])) as found:
        assert found.frame_counts.tolist() == [1] * 8


@pytest.mark.parametrize("name", ["arm_{}_trial_{}", "sensor{}_run_{}"])
def test_numbers_of_what_is_no_frame_stay_fields_of_videos(tmp_path, name):
    _write(tmp_path, name, lambda _, cell: (20 + cell, 12), "i2")
    with closing(catalog_of(tmp_path)) as found:
        assert found.frame_counts.tolist() == [21, 22, 27]
        assert len(found.fields) == 3


def test_features_in_frames_stay_fields_of_videos(tmp_path):
    _write(tmp_path, "frame_{}_cell_{}", lambda _, cell: (20 + cell, 12), "f4")
    with closing(catalog_of(tmp_path)) as found:
        assert found.frame_counts.tolist() == [21, 22, 27]
