"""Splits by the names of files and folders: refused when none is named, and served alone."""

from __future__ import annotations

import re
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
        ("train_a.h5", "val_b.h5", "more.h5", "others.h5"),
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


def test_files_that_mostly_say_splits_are_refused_and_what_becomes_of_the_rest_is_said():
    paths = [f"/data/{name}" for name in ("train_a.h5", "val_b.h5", "more.h5")]
    with pytest.raises(CatalogError, match=r"'train' \(1 file\), 'val' \(1 file\), beside 1 file of none, which each"):
        files_of_split(paths, None)
    chosen = files_of_split(paths, "train")
    assert chosen.paths == paths[:1]
    assert "'val' (1 file), 'none of them' (1 file), as --split train" in chosen.left_out


def test_few_files_that_say_splits_beside_others_have_a_line_with_each():
    paths = [f"/data/{name}" for name in ("train_a.h5", "train_b.h5", "val_c.h5", "u.h5", "v.h5", "w.h5")]
    line = files_of_split(paths, None).left_out
    assert "'train' has 2 of 6 files, such as 'train_a' and 'val' has 1 of 6 files, such as 'val_c'; give" in line


def test_the_line_of_lone_words_counts_the_files_of_each():
    paths = [f"/data/{name}" for name in ("train/a.h5", "train/b.h5", "x/test/c.h5", "d.h5", "e.h5")]
    line = files_of_split(paths, None).left_out
    assert "'train' has 2 of 5 files, such as 'a' and 'test' has 1 of 5 files, such as 'c'; give" in line


@pytest.mark.parametrize(
    "names",
    [
        ("val_seen.h5", "val_unseen.h5"),
        ("val_seen/a.h5", "val_unseen/a.h5"),
        ("test_easy_0.h5", "test_easy_1.h5", "test_hard_0.h5"),
        ("train.h5", "dev_clean.h5", "dev_other.h5"),
        ("test.h5", "test_ood.h5"),
    ],
)
def test_subsets_of_one_split_by_names_of_files_are_never_mixed(names):
    paths = [f"/data/{name}" for name in names]
    with pytest.raises(CatalogError, match="never mixed") as refused:
        files_of_split(paths, None)
    words = re.findall("--split ([a-z_]+)(?= or|,)", str(refused.value).partition("choose one: ")[2])
    taken = [path for word in words for path in files_of_split(paths, word).paths]
    assert (sorted(taken), len(words) > 1) == (sorted(paths), True)


def test_a_split_of_subsets_is_all_of_them_with_a_line():
    paths = [f"/data/{name}.h5" for name in ("train", "val_seen", "val_unseen")]
    chosen = files_of_split(paths, "val")
    assert chosen.paths == paths[1:]
    assert "'val_seen' (1 file), 'val_unseen' (1 file); --split val_seen or --split val_unseen" in chosen.left_out
    clean = [f"/data/{split}_{kind}.h5" for split in ("train", "dev") for kind in ("clean", "other")]
    assert files_of_split(clean, "train").paths == clean[:2]


def test_files_of_other_subsets_of_a_test_have_a_line_and_can_be_chosen():
    paths = ["/data/test_A.h5", "/data/test_B.h5"]
    line = files_of_split(paths, None).left_out
    assert "'test_A' (1 file), 'test_B' (1 file); --split test_A or --split test_B serves one alone" in line
    assert files_of_split(paths, "test_B").paths == paths[1:]
    assert not files_of_split(["/data/train_A.h5", "/data/train_B.h5"], None).left_out


@pytest.mark.parametrize("names", [("test_A", "test_B"), ("testA", "testB"), ("test_1", "test_2"), ("test",)])
def test_a_split_that_all_files_are_in_by_their_names_is_refused_with_a_remedy(tmp_path, names):
    for name in names:
        with h5py.File(tmp_path / f"{name}.h5", "w") as root:
            write_vlen(root, "video", jpegs(1, 3))
    with pytest.raises(CatalogError, match="all files are of --split test by their names, so leave it out"):
        catalog_of(tmp_path, split="test")
    with pytest.raises(CatalogError) as refused:
        catalog_of(tmp_path, split="val")
    assert "all files are" not in str(refused.value)
    with closing(catalog_of(tmp_path)) as catalog:
        assert catalog.video_count == len(names)
