"""Splits by the names of files and folders: refused when none is named, and served alone."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

import h5py
import pytest

from loader_service.catalog.splits.file_names import files_of_split
from loader_service.errors import CatalogError
from tests.public_layouts.pictures import jpegs, write_vlen
from tests.support.catalogs import catalog_of, names_of

_LAYOUTS = {
    "names": ("train.h5", "val.h5"),
    "folders": ("train/a.h5", "train/b.h5", "val/c.h5"),
    "endings": ("kitchen_train.h5", "kitchen_val.h5"),
    "numbers": ("train_000.h5", "train_001.h5", "validation_000.h5"),
    "folders below": ("cats/train/a.h5", "cats/val/a.h5", "dogs/train/a.h5", "dogs/val/b.h5"),
}


@pytest.mark.parametrize("names", _LAYOUTS.values(), ids=_LAYOUTS)
def test_files_of_several_splits_are_refused_and_one_is_chosen(names):
    paths = [f"/data/test_run/{name}" for name in names]
    with pytest.raises(CatalogError, match=r"never mixed: 'train' \(. files?\), 'val.*choose one: --split train or"):
        files_of_split(paths, None)
    train, val = files_of_split(paths, "train"), files_of_split(paths, "val")
    assert sorted([*train.paths, *val.paths]) == sorted(paths)
    assert all("train" in path.removeprefix("/data/test_run/") for path in train.paths)
    assert not any("train" in path.removeprefix("/data/test_run/") for path in val.paths)
    assert files_of_split(paths, "all").paths == paths


@pytest.mark.parametrize(
    "names",
    [
        ("train.h5",),
        ("train_x.h5", "train_y.h5"),
        ("latest.h5", "greatest.h5"),
        ("train_a.h5", "val_b.h5", "more.h5"),
        ("clip1.h5", "clip2.h5"),
    ],
)
def test_names_that_say_no_two_splits_choose_nothing(names):
    paths = [f"/data/train/{name}" for name in names]
    assert files_of_split(paths, None).paths == paths
    assert not files_of_split(paths, "train").chosen_by_name


def test_a_split_that_no_file_has_is_refused(tmp_path):
    with pytest.raises(CatalogError, match=r"'/data'.*--split test is none of them; choose one: --split train or"):
        files_of_split(["/data/train.h5", "/data/val.h5"], "test")


def test_a_catalog_holds_the_files_of_one_split_and_says_which_it_left_out(tmp_path):
    for number, name in enumerate(("train_0.h5", "train_1.h5", "val_0.h5")):
        with h5py.File(tmp_path / name, "w") as root:
            write_vlen(root, "video", jpegs(number, 3))
    with pytest.raises(CatalogError, match="never mixed"):
        catalog_of(tmp_path)
    for split, names in (("train", ["train_0", "train_1"]), ("val", ["val_0"])):
        with closing(catalog_of(tmp_path, split=split)) as catalog:
            assert (names_of(catalog), catalog.split) == (names, split)
            assert any("files of other splits" in line for line in catalog.left_out)
    with closing(catalog_of(tmp_path, split="all")) as catalog:
        assert catalog.video_count == 3
    assert Path(tmp_path / "val_0.h5").exists()
