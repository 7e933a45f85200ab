"""Columns in no split by their names that have as many entries as one split alone are served with it, with a line."""

from __future__ import annotations

from contextlib import closing

import h5py
import numpy as np
import pytest

from tests.public_layouts.pictures import jpegs, write_vlen
from tests.support.catalogs import catalog_of


def _fields(catalog):
    return {field.name for field in catalog.fields}


def _write_features(path, *, train=8, test=5, **beside):
    with h5py.File(path, "w") as root:
        root["train"] = np.ones((train, 16), np.float32)
        root["test"] = np.zeros((test, 16), np.float32)
        for name, entries in beside.items():
            root[name] = entries
    return path


def test_labels_of_as_many_rows_as_one_split_are_served_with_it(tmp_path):
    _write_features(tmp_path / "a.h5", label=np.arange(8))
    with closing(catalog_of(tmp_path, split="train")) as found:
        assert _fields(found) == {"train", "label"}
        assert found.frame_counts.tolist() == [8]
        (line,) = found.left_out
        assert "'label (split)': is in none of the splits by its name, and is served with --split train" in line
    with closing(catalog_of(tmp_path, split="test")) as found:
        assert _fields(found) == {"test"}
        (line,) = found.left_out
        assert "'label': in none of the splits, of which --split test takes one" in line


def test_answers_beside_numbers_of_words_are_served_with_their_split(tmp_path):
    with h5py.File(tmp_path / "a.h5", "w") as root:
        for name, rows in (("train", 12), ("test", 8)):
            root[f"ques_{name}"] = np.ones((rows, 7), np.uint32)
            root[f"ques_length_{name}"] = np.full(rows, 7, np.uint32)
        root["answers"] = np.arange(12, dtype=np.uint32)
    with closing(catalog_of(tmp_path, split="train")) as found:
        assert _fields(found) == {"ques_train", "ques_length_train", "answers"}
    with closing(catalog_of(tmp_path, split="test")) as found:
        assert _fields(found) == {"ques_test", "ques_length_test"}


def test_labels_beside_encoded_pictures_of_a_split_are_served_with_it(tmp_path):
    with h5py.File(tmp_path / "a.h5", "w") as root:
        write_vlen(root, "images_train", jpegs(1, 6))
        write_vlen(root, "images_test", jpegs(2, 4))
        root["targets"] = np.arange(6)
    with closing(catalog_of(tmp_path, split="train")) as found:
        assert "targets" in _fields(found)


@pytest.mark.parametrize(
    ("beside", "test"),
    [
        ({"label": np.arange(8)}, 8),  # of either split
        ({"label": np.arange(13)}, 5),  # of both, one after the other
        ({"label": np.arange(7)}, 5),
        ({"scale": np.float32(2)}, 5),
    ],
)
def test_what_is_of_no_one_split_by_its_length_is_left_out(tmp_path, beside, test):
    _write_features(tmp_path / "a.h5", test=test, **beside)
    with closing(catalog_of(tmp_path, split="train")) as found:
        assert _fields(found) == {"train"}
        (line,) = found.left_out
        assert "in none of the splits, of which --split train takes one" in line


def test_labels_that_are_of_one_split_in_some_files_alone_are_left_out_of_all(tmp_path):
    _write_features(tmp_path / "a.h5", label=np.arange(8))
    _write_features(tmp_path / "b.h5", test=8, label=np.arange(8))
    with closing(catalog_of(tmp_path, split="train")) as found:
        assert _fields(found) == {"train"}
        assert found.frame_counts.tolist() == [8, 8]
        assert [line.partition(":")[0] for line in found.left_out if "label" in line] == ["'label'"]


def test_columns_called_as_those_of_a_split_without_its_word_stay_apart(tmp_path):
    with h5py.File(tmp_path / "a.h5", "w") as root:
        for name, rows in (("X_train", 8), ("X_test", 5), ("X", 8)):
            root[name] = np.zeros((rows, 4), np.float32)
    with closing(catalog_of(tmp_path, split="train")) as found:
        assert _fields(found) == {"X_train"}
        (line,) = found.left_out
        assert "'X': in none of the splits" in line
