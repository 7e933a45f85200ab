"""Names that say a split beside others: words that say none alone, names that say more, and lone words of a split."""

from __future__ import annotations

from contextlib import closing

import h5py
import numpy as np
import pytest

from loader_service.catalog.splits.file_names import files_of_split
from loader_service.errors import CatalogError
from tests.public_layouts.pictures import jpegs, write_vlen
from tests.support.catalogs import catalog_of, names_of


def _write_videos(directory, *groups: str) -> None:
    with h5py.File(directory / "a.h5", "w") as root:
        for group in groups:
            for number in range(2):
                write_vlen(root, f"{group}/v{number}/frames", jpegs(number, 2))


@pytest.mark.parametrize(
    "groups",
    [
        ("train", "holdout"),
        ("train", "held_out"),
        ("trainval", "test"),
        ("train", "minival"),
        ("train", "xval"),
        ("train", "public_test", "private_test"),
        ("train", "val_seen", "val_unseen"),
        ("train", "test", "test_ood"),
        ("val_seen", "val_unseen"),
        ("test_easy", "test_medium", "test_hard"),
        ("test", "test_ood"),
        ("train", "train_unlabeled"),
        ("train_label", "train_unlabel"),
        ("tr", "va", "te"),
        ("iid", "ood"),
        ("train", "calibration"),
        ("development", "evaluation"),
        ("tr", "te"),
        ("seen", "unseen"),
        ("cats_train", "dogs_test"),
        ("cats/train", "dogs/val"),
        ("cats/train", "dogs/train", "mice/val"),
    ],
)
def test_groups_that_say_splits_beside_each_other_are_never_mixed(tmp_path, groups):
    _write_videos(tmp_path, *groups)
    with pytest.raises(CatalogError, match="never mixed") as refused:
        catalog_of(tmp_path)
    words = str(refused.value).rpartition("choose one: ")[2].removeprefix("--split ").split(" or --split ")
    assert len(words) == len({group.rpartition("/")[2] for group in groups})
    taken = []
    for word in words:
        with closing(catalog_of(tmp_path, split=word)) as catalog:
            taken += names_of(catalog)
            assert all(word in name for name in names_of(catalog))
    assert sorted(taken) == sorted(f"{group}/v{number}" for group in groups for number in range(2))


@pytest.mark.parametrize(
    ("first", "second"),
    [("X_tr", "X_te"), ("x_train", "x_holdout"), ("x_trainval", "x_test"), ("train_x", "public_x"), ("Xtr", "Xte")],
)
def test_tables_of_splits_are_no_fields_of_one_table(tmp_path, first, second):
    with h5py.File(tmp_path / "a.h5", "w") as root:
        for name in (first, second):
            root[name] = np.ones((6, 4, 4, 3), np.uint8)
            root[name.lower().replace("x", "y", 1)] = np.arange(6)
    with pytest.raises(CatalogError, match=r"never mixed: .* \(6 rows\), .* \(6 rows\); choose one"):
        catalog_of(tmp_path)


@pytest.mark.parametrize("groups", [("test", "other"), ("train", "extra"), ("train", "car", "festival")])
def test_the_word_of_a_split_beside_other_names_has_a_line_and_can_be_chosen(tmp_path, groups):
    _write_videos(tmp_path, *groups)
    with closing(catalog_of(tmp_path)) as catalog:
        assert catalog.video_count == 2 * len(groups)
        (line,) = (line for line in catalog.left_out if "may be a split by its name" in line)
    assert f"has 2 of {2 * len(groups)} videos, which `--split {groups[0]}` serves alone" in line
    with closing(catalog_of(tmp_path, split=groups[0])) as catalog:
        assert names_of(catalog) == [f"{groups[0]}/v0", f"{groups[0]}/v1"]


@pytest.mark.parametrize(
    "groups", [("seen", "others"), ("calibration", "clips"), ("festival", "carnival"), ("public", "private")]
)
def test_words_that_say_no_split_alone_say_none(tmp_path, groups):
    _write_videos(tmp_path, *groups)
    with closing(catalog_of(tmp_path)) as catalog:
        assert catalog.video_count == 4
        assert not any("split" in line for line in catalog.left_out)


@pytest.mark.parametrize("groups", [("test_A", "test_B"), ("trainA", "trainB"), ("train", "train_extra")])
def test_groups_of_one_split_that_say_more_have_a_line_and_can_be_chosen(tmp_path, groups):
    _write_videos(tmp_path, *groups)
    first, second = groups
    flags = f"--split {second}" if first == "train" else f"--split {first} or --split {second}"  # `train` is both
    line = f"'{first}' (2 videos), '{second}' (2 videos); {flags} serves one alone"
    with closing(catalog_of(tmp_path)) as catalog:
        assert catalog.video_count == 4
        assert any(line in each for each in catalog.left_out)
    with closing(catalog_of(tmp_path, split=second)) as catalog:
        assert names_of(catalog) == [f"{second}/v0", f"{second}/v1"]


@pytest.mark.parametrize("split", ["test", "all"])
def test_subsets_of_the_split_that_is_asked_for_have_a_line(tmp_path, split):
    _write_videos(tmp_path, "test_A", "test_B", *(["train_A", "train_B"] if split == "test" else []))
    with closing(catalog_of(tmp_path, split=split)) as catalog:
        assert catalog.video_count == 4
        assert any("'test_A' (2 videos), 'test_B' (2 videos)" in each for each in catalog.left_out) == (split == "test")


def test_videos_called_by_what_was_tested_have_no_line(tmp_path):
    with h5py.File(tmp_path / "a.h5", "w") as root:
        for name in ("test_tension", "test_torsion", "test_bending"):
            write_vlen(root, f"{name}/frames", jpegs(len(name), 2))
    with closing(catalog_of(tmp_path)) as catalog:
        assert catalog.video_count == 3
        assert not any("split" in line for line in catalog.left_out)


def test_a_group_of_other_things_beside_a_split_is_none(tmp_path):
    _write_videos(tmp_path, "train")
    with h5py.File(tmp_path / "a.h5", "a") as root:
        root["calibration/intrinsics"] = np.eye(3)
        root["test_notes/numbers"] = np.eye(3)
    with closing(catalog_of(tmp_path)) as catalog:
        assert names_of(catalog) == ["train/v0", "train/v1"]


@pytest.mark.parametrize(
    "names",
    [
        ("train/a.h5", "holdout/b.h5"),
        ("trainval/a.h5", "test/b.h5"),
        ("seen/a.h5", "unseen/b.h5"),
        ("cats/train/a.h5", "dogs/val/b.h5"),
        ("pick/done/train/a.h5", "pick/done/train/b.h5", "bread/done/val/c.h5"),
        ("train.h5", "public_test.h5"),
    ],
)
def test_files_that_say_splits_beside_each_other_are_never_mixed(names):
    with pytest.raises(CatalogError, match="never mixed"):
        files_of_split([f"/data/{name}" for name in names], None)


def test_files_with_the_word_of_a_split_beside_other_names_have_a_line():
    paths = ["/data/train/a.h5", "/data/more/b.h5", "/data/more/c.h5"]
    chosen = files_of_split(paths, None)
    assert chosen.paths == paths
    assert "'train' has 1 of 3 files" in chosen.left_out
    assert not files_of_split(paths, "all").left_out
