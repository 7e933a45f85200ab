"""Splits of videos that lists of numbers say, or each video of itself: never mixed, and served alone."""

from __future__ import annotations

from contextlib import closing

import h5py
import numpy as np
import pytest

from loader_service.errors import CatalogError
from loader_service.schema import Schema, SchemaField
from tests.public_layouts.pictures import jpegs, write_vlen
from tests.support.catalogs import catalog_of, names_of


def test_masks_of_videos_beside_their_group_are_no_data_of_splits(tmp_path):
    with h5py.File(tmp_path / "a.h5", "w") as root:
        for number in range(4):
            root[f"videos/v{number}"] = np.zeros((5 + number, 16, 16, 3), np.uint8)
        root["train"], root["test"] = np.array([1, 1, 0, 1], bool), np.array([0, 0, 1, 0], bool)
    with pytest.raises(CatalogError, match=r"never mixed: 'train' \(3 videos\), 'test' \(1 video\)"):
        catalog_of(tmp_path)
    with closing(catalog_of(tmp_path, split="test")) as catalog:
        assert names_of(catalog) == ["videos/v2"]


def _write_videos(path, say):
    """Write four videos with labels in one dataset, the second and last of which are for tests."""
    with h5py.File(path, "w") as root:
        for number in range(4):
            video = root.create_group(f"clip_{number}")
            write_vlen(video, "frames", jpegs(number, 3))
            say(video, "test" if number % 2 else "train")
        root["label"] = np.arange(4) + 7
    return path


def _by_attribute(video, split):
    video.attrs["split"] = split


def _by_value(video, split):
    video["split"] = split


@pytest.mark.parametrize("say", [_by_attribute, _by_value])
def test_videos_that_say_their_split_are_never_mixed_and_keep_their_labels(tmp_path, say):
    path = _write_videos(tmp_path / "clips.h5", say)
    with pytest.raises(CatalogError, match=r"'train' \(2 videos\), 'test' \(2 videos\); choose one: --split train or"):
        catalog_of(tmp_path, path)
    with closing(catalog_of(tmp_path, path, split="test")) as catalog:
        assert (names_of(catalog), catalog.labels.tolist()) == (["clip_1", "clip_3"], [8, 10])


@pytest.mark.parametrize("columns", [{"split": ["train", "test"] * 2}, {"train_idx": [0, 2], "test_idx": [1, 3]}])
def test_a_dataset_beside_the_videos_says_their_splits(tmp_path, columns):
    path = _write_videos(tmp_path / "clips.h5", lambda *_: None)
    with h5py.File(path, "a") as root:
        for name, values in columns.items():
            root[name] = values
    with pytest.raises(CatalogError, match="never mixed"):
        catalog_of(tmp_path, path)
    with closing(catalog_of(tmp_path, path, split="test")) as catalog:
        assert names_of(catalog) == ["clip_1", "clip_3"]


def test_files_that_are_in_one_split_each_by_an_attribute_are_never_mixed(tmp_path):
    files = []
    for number, split in enumerate(("train", "train", "val")):
        files.append(tmp_path / f"{number}.h5")
        with h5py.File(files[-1], "w") as root:
            write_vlen(root, "video", jpegs(number, 3))
            root.attrs["split"] = split
    with pytest.raises(
        CatalogError, match=r"'train' \(2 files\), 'val' \(1 file\); choose one: --split train or --split"
    ):
        catalog_of(tmp_path, *files)
    for split, names in (("train", ["0", "1"]), ("val", ["2"]), ("all", ["0", "1", "2"])):
        with closing(catalog_of(tmp_path, *files, split=split)) as catalog:
            assert names_of(catalog) == names
    with pytest.raises(
        CatalogError, match=r"--split leaves nothing of 3 videos, or table, in 3 files such as '.*\.h5'"
    ):
        catalog_of(tmp_path, *files, split="test")


def test_a_schema_mixes_no_splits_that_videos_or_files_say_of_themselves(tmp_path):
    clips = _write_videos(tmp_path / "clips.h5", _by_attribute)
    named = Schema(("groups",), (SchemaField("frames", "image", ("{video}/frames",)),))
    with pytest.raises(CatalogError, match=r"'train' \(2 videos\), 'test' \(2 videos\); choose one: --split train or"):
        catalog_of(tmp_path, clips, schema=named)
    with closing(catalog_of(tmp_path, clips, schema=named, split="test")) as catalog:
        assert names_of(catalog) == ["clip_1", "clip_3"]
    songs = [tmp_path / f"song_{number}.h5" for number in range(3)]
    for path, split in zip(songs, (b"train", b"train", b"test"), strict=True):
        with h5py.File(path, "w") as root:
            root["waveform"], root["event_time"] = np.zeros(90, np.int16), np.zeros(5, np.float32)
            root.attrs.create("split", split, dtype="S20")
    wave = Schema(("table",), (SchemaField("waveform", "array", ("waveform",)),))
    with pytest.raises(CatalogError, match=r"'train' \(2 files\), 'test' \(1 file\); choose one: --split train or"):
        catalog_of(tmp_path, *songs, schema=wave)
    with closing(catalog_of(tmp_path, *songs, schema=wave, split="train")) as catalog:
        assert names_of(catalog) == ["song_0", "song_1"]


@pytest.mark.parametrize("named", [True, False])
def test_a_split_of_each_video_is_that_of_its_name_where_names_do_not_count(tmp_path, named):
    names = ["walk", "run", "jump"]
    with h5py.File(tmp_path / "a.h5", "w") as root:
        for number, name in enumerate(names):
            write_vlen(root.create_group(name), "frames", jpegs(number, 3))
        root["split"], root["name"] = ["train", "train", "test"], names if named else ["x", "y", "z"]
    if named:
        with closing(catalog_of(tmp_path, split="test")) as catalog:
            assert names_of(catalog) == ["jump"]
        return
    with pytest.raises(CatalogError, match=r"'split' string \(3,\) beside 3 videos .*do not count.*--split all"):
        catalog_of(tmp_path)
    with closing(catalog_of(tmp_path, split="all")) as catalog:
        assert names_of(catalog) == sorted(names)


@pytest.mark.parametrize("name", ["ep{}", "data/demo_{}", "{}", "s{:03}"])
def test_lists_of_numbers_divide_videos_that_count_from_0_whatever_their_alphabet(tmp_path, name):
    _write_numbered(tmp_path, name, range(12))
    with pytest.raises(CatalogError, match="never mixed: 'train'"):
        catalog_of(tmp_path)
    with closing(catalog_of(tmp_path, split="train")) as found:
        assert names_of(found) == [name.format(number) for number in (0, 1, 2, 10)]


@pytest.mark.parametrize("split", [None, "train"])
def test_lists_of_numbers_beside_videos_that_count_from_1_are_refused(tmp_path, split):
    _write_numbered(tmp_path, "ep{}", range(1, 13))
    with pytest.raises(CatalogError, match="12 videos whose names do not count from 0, such as 'ep1' and 'ep12'"):
        catalog_of(tmp_path, split=split)
    with closing(catalog_of(tmp_path, split="all")) as found:
        assert found.video_count == 12


def _write_numbered(tmp_path, name, numbers):
    with h5py.File(tmp_path / "a.h5", "w") as root:
        for number in numbers:
            root[f"{name.format(number)}/x"] = np.zeros((3 + number, 4), np.float32)
        root["train_idx"], root["test_idx"] = [0, 1, 2, 10], [3, 4, 5, 6, 7, 8, 9, 11]


@pytest.mark.parametrize("said", [{"train_idx": [0, 2], "test_idx": [1]}, {"split": [b"train", b"test", b"train"]}])
def test_videos_whose_rows_come_in_another_order_than_their_names_are_divided_by_names_alone(tmp_path, said):
    with h5py.File(tmp_path / "a.h5", "w") as root:
        root["x"], root["ends/walk"], root["ends/run"], root["ends/sit"] = np.zeros((16, 3)), 5, 12, 16
        root.update(said)
    with pytest.raises(CatalogError, match="nothing says"):
        catalog_of(tmp_path)
    with h5py.File(tmp_path / "a.h5", "a") as root:
        for name in said:
            del root[name]
        root["mask/train"], root["mask/test"] = [b"walk", b"sit"], [b"run"]
    with closing(catalog_of(tmp_path, split="train")) as found:
        assert names_of(found) == ["sit", "walk"]


def _write_said(tmp_path, words, *, attribute):
    with h5py.File(tmp_path / "a.h5", "w") as root:
        for number, word in enumerate(words):
            root[f"ep{number}/x"] = np.zeros((4 + number, 3))
            if attribute and word is not None:
                root[f"ep{number}"].attrs["split"] = word
            elif word is not None:
                root[f"ep{number}/split"] = word


@pytest.mark.parametrize("attribute", [True, False])
def test_a_video_that_says_no_split_beside_others_that_do_is_refused(tmp_path, attribute):
    for words in (["train", "test", None], [None, "test", "train"], ["train", None, "test"]):
        _write_said(tmp_path, words, attribute=attribute)
        with pytest.raises(CatalogError, match=f"video 'ep{words.index(None)}' has no '@?split'"):
            catalog_of(tmp_path)
        with closing(catalog_of(tmp_path, split="all")) as found:
            assert found.video_count == 3


@pytest.mark.parametrize("attribute", [True, False])
@pytest.mark.parametrize("words", [["train", "test", "holdout"], [0, 1, 2]])
def test_each_word_or_number_of_what_is_called_a_split_is_one(tmp_path, attribute, words):
    _write_said(tmp_path, [words[0], *words], attribute=attribute)
    with pytest.raises(CatalogError, match="never mixed") as said:
        catalog_of(tmp_path)
    assert all(f"--split {word}" in str(said.value) for word in words)
    with closing(catalog_of(tmp_path, split=str(words[2]))) as found:
        assert names_of(found) == ["ep3"]


def _say_by_attribute(root, split):
    root.attrs["subset"] = split


def _say_by_attribute_of_bytes(root, split):
    root.attrs["split"] = np.bytes_(split)


def _say_by_dataset(root, split):
    root["split"] = split


def _say_by_attribute_beside(root, split):
    root.create_group("meta").attrs["split"] = split


@pytest.mark.parametrize(
    "say", [_say_by_attribute, _say_by_attribute_of_bytes, _say_by_dataset, _say_by_attribute_beside]
)
def test_files_of_several_videos_that_say_their_split_are_never_mixed(tmp_path, say):
    for number, split in enumerate(("train", "train", "val")):
        with h5py.File(tmp_path / f"{number}.h5", "w") as root:
            say(root, split)
            for video in range(2):
                write_vlen(root, f"v{video}/frames", jpegs(video, 3))
    with pytest.raises(CatalogError, match=r"never mixed: 'train' \(2 files\), 'val' \(1 file\)"):
        catalog_of(tmp_path)
    for split, count in (("train", 4), ("val", 2), ("all", 6)):
        with closing(catalog_of(tmp_path, split=split)) as catalog:
            assert catalog.video_count == count
    with closing(catalog_of(tmp_path, tmp_path / "2.h5")) as catalog:
        assert (catalog.video_count, catalog.split) == (2, "val")


def test_groups_that_say_the_split_of_the_videos_in_them_are_never_mixed(tmp_path):
    with h5py.File(tmp_path / "a.h5", "w") as root:
        for group, split in (("monday", "train"), ("friday", "test")):
            root.create_group(group).attrs["split"] = split
            for video in range(2):
                write_vlen(root, f"{group}/v{video}/frames", jpegs(video, 3))
    with pytest.raises(CatalogError, match=r"never mixed: 'train' \(2 videos\), 'test' \(2 videos\)"):
        catalog_of(tmp_path)
    with closing(catalog_of(tmp_path, split="test")) as catalog:
        assert names_of(catalog) == ["friday/v0", "friday/v1"]


@pytest.mark.parametrize("value", ["cooking", "v1", ""])
def test_other_texts_of_a_file_are_no_splits(tmp_path, value):
    with h5py.File(tmp_path / "a.h5", "w") as root:
        root.attrs["set"] = value
        for video in range(2):
            write_vlen(root, f"v{video}/frames", jpegs(video, 3))
    with closing(catalog_of(tmp_path)) as catalog:
        assert (catalog.video_count, catalog.split) == (2, "")


def _write_demos(path, *groups):
    with h5py.File(path, "w") as root:
        for number in range(4):
            write_vlen(root, f"data/demo_{number}/frames", jpegs(number, 3))
        for group in groups:
            root.require_group(group)


@pytest.mark.parametrize(
    ("group", "train", "valid"),
    [
        ("mask", [0, 2], [1, 3]),
        ("mask", np.array([1, 0, 1, 0], bool), np.array([0, 1, 0, 1], bool)),
        ("splits", ["demo_0", "demo_2"], ["demo_1", "demo_3"]),
        ("/", np.array(["demo_0", "demo_2"], "S"), np.array(["demo_1", "demo_3"], "S")),
        ("data", ["demo_0", "demo_2"], ["demo_1", "demo_3"]),
    ],
)
def test_lists_that_are_attributes_of_a_group_are_lists(tmp_path, group, train, valid):
    _write_demos(tmp_path / "a.h5", group)
    with h5py.File(tmp_path / "a.h5", "a") as root:
        root[group].attrs["train"], root[group].attrs["valid"] = train, valid
    for split, names in (("train", ["demo_0", "demo_2"]), ("valid", ["demo_1", "demo_3"])):
        with closing(catalog_of(tmp_path, split=split)) as catalog:
            assert names_of(catalog) == [f"data/{name}" for name in names]
    if np.asarray(train).dtype.kind in "US":
        with closing(catalog_of(tmp_path)) as catalog:
            assert sum("`--split train` serves alone" in line for line in catalog.left_out) == 1
    else:
        with pytest.raises(CatalogError, match=r"never mixed: 'train' \(2 videos\), 'valid' \(2 videos\)"):
            catalog_of(tmp_path)


def test_attributes_that_list_other_things_are_no_splits(tmp_path):
    _write_demos(tmp_path / "a.h5")
    with h5py.File(tmp_path / "a.h5", "a") as root:
        root.attrs["train_ids"] = [1001, 1002]
        root["data"].attrs["valid_range"] = [0, 3]
        root["data/demo_0"].attrs["train_idx"] = [0, 1]
    with closing(catalog_of(tmp_path)) as catalog:
        assert catalog.video_count == 4


@pytest.mark.parametrize("split", [None, "train", "val"])
def test_an_attribute_that_lists_videos_that_are_not_there_is_refused_with_a_remedy(tmp_path, split):
    _write_demos(tmp_path / "a.h5")
    with h5py.File(tmp_path / "a.h5", "a") as root:
        root.attrs["train_idx"], root.attrs["val_idx"] = [0, 1], [2, 9]
    with pytest.raises(CatalogError, match=r"'@val_idx', entry 1: expected .* 4 videos, from 0, found 9.*--split all"):
        catalog_of(tmp_path, split=split)
    with closing(catalog_of(tmp_path, split="all")) as catalog:
        assert catalog.video_count == 4


@pytest.mark.parametrize("kind", [bool, np.uint8, int])
@pytest.mark.parametrize("name", ["is_test", "test"])
def test_a_flag_of_each_video_has_a_line_and_chooses(tmp_path, name, kind):
    _write_demos(tmp_path / "a.h5")
    with h5py.File(tmp_path / "a.h5", "a") as root:
        for number in range(4):
            root[f"data/demo_{number}"].attrs[name] = kind(number == 3)
    with closing(catalog_of(tmp_path)) as catalog:
        assert any("takes 1 video, which `--split test` serves alone" in line for line in catalog.left_out)
    with closing(catalog_of(tmp_path, split="test")) as catalog:
        assert names_of(catalog) == ["data/demo_3"]


def test_flags_of_each_video_that_part_them_are_never_mixed(tmp_path):
    _write_demos(tmp_path / "a.h5")
    with h5py.File(tmp_path / "a.h5", "a") as root:
        for number in range(4):
            root[f"data/demo_{number}"].attrs["is_test"] = number == 3
            root[f"data/demo_{number}"].attrs["is_train"] = number != 3
    with pytest.raises(CatalogError, match=r"never mixed: 'train' \(3 videos\), 'test' \(1 video\)"):
        catalog_of(tmp_path)


@pytest.mark.parametrize("mask", [np.ones(3, bool), np.array([1.0, 2.0]), np.array([[b"demo_0", b"demo_1"]] * 2)])
def test_what_is_called_as_a_list_is_and_is_none_is_named(tmp_path, mask):
    _write_demos(tmp_path / "a.h5")
    with h5py.File(tmp_path / "a.h5", "a") as root:
        root["mask/train"] = mask
    with pytest.raises(CatalogError, match=r"where 'mask/train' .* is no list: expected texts or .* for 4 videos"):
        catalog_of(tmp_path, split="train")


def test_a_split_beside_that_of_a_flag_is_refused_with_what_was_found(tmp_path):
    _write_demos(tmp_path / "a.h5")
    with h5py.File(tmp_path / "a.h5", "a") as root:
        for number in range(4):
            root[f"data/demo_{number}"].attrs["is_train"] = number != 3
    with pytest.raises(CatalogError, match=r"found 'train' \(3 videos\); give --split train, or leave the file out"):
        catalog_of(tmp_path, split="test")
