"""Videos of a split that lie end to end in its rows are cut where a list that is called as the split says."""

from __future__ import annotations

from contextlib import closing

import h5py
import numpy as np
import pytest

from loader_service.errors import CatalogError
from tests.catalog.advice import schemas_in
from tests.public_layouts.pictures import jpegs, write_vlen
from tests.support.catalogs import catalog_of, declared_catalog

_RANGES = np.array(
    [("train", "images", 0, 12), ("valid", "images", 12, 17)],
    [("split", "S5"), ("source", "S6"), ("start", "i8"), ("stop", "i8")],
)


def _write(path, lists, *, rows=17, ranges=_RANGES):
    with h5py.File(path / "a.h5", "w") as root:
        write_vlen(root, "images", jpegs(0, rows))
        for name, numbers in lists.items():
            root[name] = np.array(numbers, np.uint32)
        if ranges is not None:
            root.attrs["split"] = ranges


@pytest.mark.parametrize(
    "lists",
    [
        {"video_indexes/train": [3, 8, 12], "video_indexes/valid": [2, 5]},
        {"clip_idx/training": [0, 3, 8], "clip_idx/val": [0, 2]},
    ],
)
def test_rows_of_a_split_are_cut_where_its_own_list_says(tmp_path, lists):
    _write(tmp_path, lists)
    for (split, counts), own in zip((("train", [3, 5, 4]), ("valid", [2, 3])), lists, strict=True):
        with closing(catalog_of(tmp_path, split=split)) as found:
            assert found.frame_counts.tolist() == counts
            assert any(f"{own!r}: says which rows" in line for line in found.left_out)


@pytest.mark.parametrize("name", ["chosen/train", "class_indexes/train", "video_indexes/test", "video_indexes/other"])
def test_other_lists_cut_no_rows_of_a_split(tmp_path, name):
    _write(tmp_path, {name: [3, 8, 12]})
    with closing(catalog_of(tmp_path, split="train")) as found:
        assert found.frame_counts.tolist() == [12]


def test_such_a_list_beside_all_rows_is_asked_about(tmp_path):
    _write(tmp_path, {"video_indexes/train": [3, 8, 12]}, rows=12, ranges=None)
    with pytest.raises(CatalogError, match="last rows of videos that lie end to end, or some of the rows") as refused:
        catalog_of(tmp_path)
    for schema, counts in zip(schemas_in(str(refused.value)), ([3, 5, 4], [12]), strict=True):
        with closing(declared_catalog(tmp_path, schema)) as found:
            assert found.frame_counts.tolist() == counts
