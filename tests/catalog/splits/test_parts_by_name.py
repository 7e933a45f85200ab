"""Parts that are seldom meant to be mixed, and are no splits: served together with a line, and each alone."""

from __future__ import annotations

from contextlib import closing

import h5py
import numpy as np
import pytest

from loader_service.catalog.splits.file_names import files_of_split
from tests.public_layouts.pictures import jpegs, write_vlen
from tests.support.catalogs import catalog_of, names_of

_PARTS = [
    ("fold_1", "fold_2", "fold_3"),
    ("Fold1", "Fold2"),
    ("cv_0", "cv_1"),
    ("support", "query"),
    ("base", "novel"),
    ("source", "target"),
]


def _lines_of(catalog):
    return [line for line in catalog.left_out if "parts that are not meant to be mixed" in line]


@pytest.mark.parametrize("above", ["", "data/"])
@pytest.mark.parametrize("names", _PARTS)
def test_groups_of_parts_have_a_line_and_each_is_served_alone(tmp_path, names, above):
    with h5py.File(tmp_path / "a.h5", "w") as root:
        for name in names:
            for video in range(2):
                write_vlen(root, f"{above}{name}/v{video}/frames", jpegs(video, 2))
    with closing(catalog_of(tmp_path)) as catalog:
        (line,) = _lines_of(catalog)
        assert catalog.video_count == 2 * len(names)
        assert f"`--split {min(names)}` serves one alone" in line
    for name in names:
        with closing(catalog_of(tmp_path, split=name)) as catalog:
            assert names_of(catalog) == [f"{above}{name}/v0", f"{above}{name}/v1"]


def test_groups_of_parts_that_are_a_table_each_have_a_line(tmp_path):
    with h5py.File(tmp_path / "a.h5", "w") as root:
        for name in ("fold_1", "fold_2"):
            root[f"{name}/x"], root[f"{name}/y"] = np.zeros((6, 5)), np.arange(6)
    with closing(catalog_of(tmp_path)) as catalog:
        assert (catalog.frame_count, len(_lines_of(catalog))) == (12, 1)
    with closing(catalog_of(tmp_path, split="fold_2")) as catalog:
        assert catalog.frame_count == 6


@pytest.mark.parametrize("names", [("fold_1", "kitchen"), ("query", "novel"), ("base", "extra"), ("fold_1", "fold_1x")])
def test_other_names_beside_those_of_parts_have_no_line(tmp_path, names):
    with h5py.File(tmp_path / "a.h5", "w") as root:
        for name in names:
            for video in range(2):
                write_vlen(root, f"{name}/v{video}/frames", jpegs(video, 2))
    with closing(catalog_of(tmp_path)) as catalog:
        assert (catalog.video_count, _lines_of(catalog)) == (4, [])


def test_parts_of_other_fields_have_no_line(tmp_path):
    with h5py.File(tmp_path / "a.h5", "w") as root:
        for video in range(3):
            write_vlen(root, f"v{video}/source/frames", jpegs(video, 2))
            root[f"v{video}/target/pose"] = np.zeros((2, 4), np.float32)
    with closing(catalog_of(tmp_path)) as catalog:
        assert not _lines_of(catalog)


@pytest.mark.parametrize("names", _PARTS)
def test_files_of_parts_have_a_line(names):
    chosen = files_of_split([f"/data/{name}.h5" for name in names], None)
    assert "give its files alone" in chosen.left_out
    assert len(chosen.paths) == len(names)
    assert not files_of_split(["/data/fold_1.h5", "/data/more.h5"], None).left_out
