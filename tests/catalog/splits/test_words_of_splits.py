"""Texts that are words of splits, and nothing else, say the splits of videos or rows whatever they are called."""

from __future__ import annotations

from contextlib import closing

import h5py
import numpy as np
import pytest

from loader_service.advice import volume_advice
from loader_service.errors import CatalogError
from tests.public_layouts.pictures import jpegs, write_vlen
from tests.support.catalogs import catalog_of, names_of


def _write_videos(tmp_path, words, *, attribute):
    with h5py.File(tmp_path / "a.h5", "w") as root:
        for number, word in enumerate(words):
            group = root.create_group(f"videos/vid{number}")
            group["embeddings"] = np.full((20 + number, 8), number, np.float32)
            if attribute:
                group.attrs["data_type"] = word
            else:
                group["data_type"] = word


@pytest.mark.parametrize("attribute", [True, False])
def test_videos_of_splits_by_a_text_of_any_name_are_never_mixed(tmp_path, attribute):
    _write_videos(tmp_path, ["train", "train", "val", "train"], attribute=attribute)
    with pytest.raises(CatalogError, match=r"'train' \(3 videos\), 'val' \(1 video\)"):
        catalog_of(tmp_path)
    with closing(catalog_of(tmp_path, split="val")) as found:
        assert names_of(found) == ["videos/vid2"]


@pytest.mark.parametrize("words", [["train", "bus", "car"], ["train", "train", "train"], ["query", "gallery", "query"]])
def test_texts_with_other_words_one_split_or_no_training_are_values(tmp_path, words):
    _write_videos(tmp_path, words, attribute=True)
    with closing(catalog_of(tmp_path)) as found:
        assert found.video_count == 3
        assert "data_type" in {field.name for field in found.fields}


def test_runs_of_rows_of_a_split_are_called_no_files(tmp_path):
    with h5py.File(tmp_path / "a.h5", "w") as root:
        root["spectrograms"], root["splits"] = np.ones((12, 6, 6), np.float32), [b"train", b"train", b"val"] * 4
    with closing(catalog_of(tmp_path, split="train")) as found:
        assert found.frame_counts.tolist() == [2, 2, 2, 2]
        assert "files has" not in (volume_advice(found) or "")


@pytest.mark.parametrize("words", [("test_seen", "test_unseen"), ("tr", "te"), ("testA", "testB")])
@pytest.mark.parametrize("by_rows", [True, False])
def test_a_split_that_names_subsets_or_opposites_alone_is_never_mixed(tmp_path, words, by_rows):
    with h5py.File(tmp_path / "a.h5", "w") as root:
        for number in range(4 * (not by_rows)):
            write_vlen(root, f"v{number}/frames", jpegs(number, 2))
            root[f"v{number}"].attrs["split"] = words[number % 2]
        if by_rows:
            root["x"], root["split"] = np.zeros((4, 3)), np.array([words[0], words[1]] * 2, "S")
    with pytest.raises(CatalogError, match=rf"never mixed: '{words[0]}' \(2 .*'{words[1]}' \(2"):
        catalog_of(tmp_path)
    with closing(catalog_of(tmp_path, split=words[1])) as catalog:
        assert catalog.frame_count == (2 if by_rows else 4)


@pytest.mark.parametrize(
    ("name", "words"),
    [("phase", ("tr", "te")), ("set", ("TR", "VA", "TE")), ("subset", ("T", "V")), ("partition", ("t", "v", "e"))],
)
def test_short_words_and_initials_of_splits_in_columns_called_so_are_never_mixed(tmp_path, name, words):
    with h5py.File(tmp_path / "a.h5", "w") as root:
        root["x"], root[name] = np.zeros((4 * len(words), 3)), np.array(words * 4, "S")
    with pytest.raises(CatalogError, match=rf"never mixed: '{words[0]}' \(4 rows\), '{words[1]}' \(4 rows\)"):
        catalog_of(tmp_path)
    for word in words:
        with closing(catalog_of(tmp_path, split=word)) as catalog:
            assert catalog.frame_count == 4


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("phase", ("T", "V")),
        ("phase", ("tr", "on")),
        ("subset", ("A", "B")),
        ("subset", ("V", "H")),
        ("x", ("tr", "te")),
    ],
)
def test_other_letters_and_names_say_no_split(tmp_path, name, words):
    with h5py.File(tmp_path / "a.h5", "w") as root:
        root["rows"], root[name] = np.zeros((8, 3)), np.array(words * 4, "S")
    with closing(catalog_of(tmp_path)) as catalog:
        assert catalog.frame_count == 8


@pytest.mark.parametrize("words", [("kitchen", "garden"), ("seen once", "unseen yet")])
def test_other_texts_of_a_split_are_values(tmp_path, words):
    with h5py.File(tmp_path / "a.h5", "w") as root:
        root["x"], root["subset"] = np.zeros((4, 3)), np.array([words[0], words[1]] * 2, "S")
    with closing(catalog_of(tmp_path)) as catalog:
        assert catalog.frame_count == 4


@pytest.mark.parametrize("words", [("fold_0", "fold_1"), ("base", "novel"), ("support", "query")])
def test_parts_of_a_split_that_a_subset_names_are_never_mixed(tmp_path, words):
    with h5py.File(tmp_path / "a.h5", "w") as root:
        root["x"], root["subset"] = np.zeros((4, 3)), np.array([words[0], words[1]] * 2, "S")
    with pytest.raises(CatalogError, match="never mixed"):
        catalog_of(tmp_path)
    with closing(catalog_of(tmp_path, split=words[1])) as catalog:
        assert catalog.frame_count == 2


def _say_by_attribute(root, word):
    root.attrs["split"] = word


def _say_by_dataset(root, word):
    root["split"] = word


def _say_by_videos(root, word):
    for video in range(2):
        root[f"v{video}"].attrs["split"] = word


@pytest.mark.parametrize("say", [_say_by_attribute, _say_by_dataset, _say_by_videos])
@pytest.mark.parametrize("words", [("test_seen", "test_unseen"), ("train", "test_seen"), ("tr", "te")])
def test_files_that_are_a_subset_or_opposite_each_are_never_mixed(tmp_path, words, say):
    for number, word in enumerate(words):
        with h5py.File(tmp_path / f"{number}.h5", "w") as root:
            for video in range(2):
                write_vlen(root, f"v{video}/frames", jpegs(video, 2 + number))
            say(root, word)
    with pytest.raises(CatalogError, match=rf"never mixed: '{words[0]}' \(1 file\), '{words[1]}' \(1 file\)"):
        catalog_of(tmp_path)
    for number, word in enumerate(words):
        with closing(catalog_of(tmp_path, split=word)) as catalog:
            assert (catalog.video_count, catalog.frame_count) == (2, 2 * (2 + number))
    with closing(catalog_of(tmp_path, tmp_path / "1.h5")) as catalog:
        assert catalog.split == words[1]


@pytest.mark.parametrize("key", ["train", "is_train"])
def test_files_of_one_video_that_a_flag_parts_have_a_line_and_are_chosen(tmp_path, key):
    for number in range(3):
        with h5py.File(tmp_path / f"{number}.h5", "w") as root:
            write_vlen(root, "v/frames", jpegs(number, 2))
            root["v"].attrs[key] = number == 0
    with closing(catalog_of(tmp_path)) as catalog:
        assert catalog.video_count == 3
        assert any("nothing is of the split 'train'" in line for line in catalog.left_out)
    with closing(catalog_of(tmp_path, split="train")) as catalog:
        assert names_of(catalog) == ["0"]


@pytest.mark.parametrize(("key", "value"), [("train", 1), ("test", 3), ("val", 0.5), ("valid", True)])
def test_a_value_that_all_videos_have_is_no_flag(tmp_path, key, value):
    with h5py.File(tmp_path / "a.h5", "w") as root:
        for number in range(3):
            write_vlen(root, f"v{number}/frames", jpegs(number, 2))
            root[f"v{number}"].attrs[key] = value
    with closing(catalog_of(tmp_path)) as catalog:
        assert (catalog.video_count, catalog.split) == (3, "")
        assert not any("(split)" in line for line in catalog.left_out)
