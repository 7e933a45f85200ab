"""Splits that names say, over trees without files: what confirms one, what is in it, and what says nothing."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from loader_service.catalog.hdf5.tree import DatasetInfo, ElementKind, Tree
from loader_service.catalog.split_words import WORDS, Said, said_by
from loader_service.catalog.splits.split_names import (
    NamedSplits,
    only_split,
    restricted,
    splits_by_name,
)


def tree_of(
    *paths: str, kind: ElementKind = ElementKind.FLOAT, shape: tuple[int, ...] = (5, 3), **others: DatasetInfo
) -> Tree:
    infos = {path: DatasetInfo(path, kind, shape, 60, None, "float32") for path in paths}
    return Tree({**infos, **others}, (), ())


def found(*paths: str, **options) -> NamedSplits | None:
    return splits_by_name(tree_of(*paths, **options))


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("train", Said("train", "")),
        ("Validation", Said("Validation", "")),
        ("X_train", Said("train", "x")),
        ("train_img", Said("train", "img")),
        ("trainX", Said("train", "x")),
        ("Xtest", Said("test", "x")),
        ("test_set_y", Said("test", "set_y")),
        ("level_2_split_train_x", Said("train", "level_#_split_x")),
        ("val.007", Said("val", "#")),
        ("train2017", Said("train", "#")),
        ("frames", None),
        ("retained_levers", None),
    ],
)
def test_what_a_name_says(name, said):
    assert said_by(name) == said


@pytest.mark.parametrize(
    ("paths", "of"),
    [
        (["train/ep0/rgb", "val/ep1/rgb"], ["train", "val"]),
        (["training/a", "evaluation/a"], ["train", "eval"]),
        (["X_train", "y_train", "X_test", "y_test", "classes"], ["train", "train", "test", "test", None]),
        (["train_set_x", "test_set_x"], ["train", "test"]),
        (["cats/train/1", "cats/test/2", "dogs/train/3", "dogs/test/4"], ["train", "test", "train", "test"]),
        (["root/data/train/1", "root/data/valid/1"], ["train", "val"]),
        (["train_001/rgb", "train_002/rgb", "val_003/rgb"], ["train", "train", "val"]),
        (["Xtrain", "Xtest"], ["train", "test"]),
        (["cats/train/1", "cats/test/2", "dogs/train/3"], ["train", "test", "train"]),
        (["x_train", "x_val", "x_test", "z_train", "z_test"], ["train", "val", "test", "train", "test"]),
    ],
)
def test_neighbours_that_say_different_splits_are_splits(paths, of):
    splits = found(*paths)
    assert splits is not None
    assert [splits.of(path) for path in paths] == of
    assert list(splits.words) == [meaning for meaning in dict.fromkeys(WORDS.values()) if meaning in of]


@pytest.mark.parametrize(
    "paths",
    [
        ["train/ep0/rgb", "train/ep1/rgb"],  # one alone
        ["val/a", "valid/a", "validation/a"],  # three words for one
        ["train_x", "test_y"],  # nothing in common
        ["ep0/validity", "ep0/latest", "ep0/interval", "ep0/value"],
        ["train_idx", "test_idx"],
        ["train_mask", "val_mask", "test_mask"],
        ["splits_train_indices", "splits_test_indices"],
    ],
)
def test_names_without_such_neighbours_are_no_splits(paths):
    assert found(*paths) is None


@pytest.mark.parametrize(
    ("kind", "shape"),
    [
        (ElementKind.TEXT, (5,)),
        (ElementKind.TEXT, (5, 1)),
        (ElementKind.INTEGER, (5,)),
        (ElementKind.FLOAT, (5,)),
        (ElementKind.BYTES, (5,)),
    ],
)
def test_lists_labels_and_logs_are_no_splits_of_what_has_as_many_entries(kind, shape):
    listed = {path: DatasetInfo(path, kind, shape, 40, None) for path in ("train", "val")}
    for entries, are_data in ((5, False), (4, True)):
        rest = DatasetInfo("ids", ElementKind.INTEGER, (entries,), 40, None)
        assert (splits_by_name(Tree({**listed, "ids": rest}, (), ())) is not None) == are_data


@pytest.mark.parametrize(
    ("kind", "shape"), [(ElementKind.VLEN_BYTES, (5,)), (ElementKind.FLOAT, (5, 2)), (ElementKind.OTHER, (5,))]
)
def test_frames_and_tables_are(kind, shape):
    assert found("train", "val", kind=kind, shape=shape) is not None


@given(paths=st.lists(st.text("abtrinvles/_01", min_size=1, max_size=20), max_size=12))
def test_splits_of_a_file_are_disjoint_and_each_holds_something(paths):
    tree = tree_of(*(path.strip("/") for path in paths if path.strip("/")))
    splits = splits_by_name(tree)
    if splits is not None:
        parts = [set(restricted(tree, splits, meaning).datasets) for meaning in splits.words]
        assert len(parts) > 1
        assert all(parts)
        assert len(set.union(*parts)) == sum(map(len, parts))


def test_a_split_without_another_one_is_found_when_it_is_asked_for():
    tree = tree_of("train/a/rgb", "train/b/rgb", "meta/x")
    splits = only_split(tree, "training")
    assert splits is not None
    assert list(restricted(tree, splits, "train").datasets) == ["train/a/rgb", "train/b/rgb"]
    assert only_split(tree, "val") is None
    assert only_split(tree, "meta") is None
