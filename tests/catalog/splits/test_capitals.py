"""Words of splits that capitals part, as ``PublicTest``: in texts of each row, and in names."""

from __future__ import annotations

from contextlib import closing

import h5py
import numpy as np
import pytest

from loader_service.catalog.split_words import SPLIT_WORDS, said_beside, said_by
from loader_service.catalog.splits.file_names import files_of_split
from loader_service.errors import CatalogError
from tests.public_layouts.pictures import jpegs, write_vlen
from tests.support.catalogs import catalog_of, names_of


@pytest.mark.parametrize("kind", ["S12", h5py.string_dtype()])
@pytest.mark.parametrize("words", [("Training", "PublicTest", "PrivateTest"), ("train", "public_test", "private_test")])
def test_texts_of_any_name_that_all_say_splits_are_some(tmp_path, words, kind):
    with h5py.File(tmp_path / "a.h5", "w") as root:
        root["pixels"], root["emotion"] = np.zeros((12, 48, 48), np.uint8), np.arange(12) % 7
        rows = [words[2], *[words[0]] * 6, *[words[1]] * 3, *[words[2]] * 2]
        root.create_dataset("Usage", data=np.array(rows, kind if kind == "S12" else object), dtype=kind)
    with pytest.raises(CatalogError, match=rf"'{words[0]}' \(6 rows\).*'{words[2]}' \(3 rows\)"):
        catalog_of(tmp_path)
    for split, count in (("train", 6), (words[0], 6), (words[1], 3), (words[2], 3)):
        with closing(catalog_of(tmp_path, split=split)) as catalog:
            assert catalog.frame_count == count
    with closing(catalog_of(tmp_path, split="test")) as catalog:
        assert catalog.frame_count == 6
        assert any(f"--split {words[1]} serves one alone" in line for line in catalog.left_out)


@pytest.mark.parametrize(
    "words", [("train", "latest"), ("train", "test drive"), ("train", "train_bus"), ("PublicTest", "PrivateTest")]
)
def test_texts_of_any_name_that_say_one_split_or_none_are_values(tmp_path, words):
    with h5py.File(tmp_path / "a.h5", "w") as root:
        root["x"], root["kind"] = np.zeros((8, 3)), np.array([*words] * 4, "S")
    with closing(catalog_of(tmp_path)) as catalog:
        assert catalog.frame_count == 8


@pytest.mark.parametrize(
    ("name", "word"),
    [
        ("TrainSet", "Train"),
        ("myTestData", "Test"),
        ("TrainValLoc", "TrainVal"),
        ("PublicTest", "Test"),
        ("latestData", None),
        ("maxValue", None),
        ("contestants", None),
    ],
)
def test_capitals_part_the_words_of_a_name(name, word):
    said = said_by(name)
    assert (None if said is None else said.word) == word


def test_capitals_part_words_that_say_a_split_beside_others():
    said = said_beside("UnlabeledData")
    assert said is not None
    assert said.word == "Unlabeled"
    assert SPLIT_WORDS.search("a/LabeledData/x")
    assert said_beside("relabeledData") is None
    assert not SPLIT_WORDS.search("a/relabeled/x")


@pytest.mark.parametrize(
    "names",
    [("PublicTest", "PrivateTest"), ("Training", "PublicTest", "PrivateTest"), ("LabeledData", "UnlabeledData")],
)
def test_groups_and_files_that_say_splits_by_capitals_are_never_mixed(tmp_path, names):
    with h5py.File(tmp_path / "a.h5", "w") as root:
        for name in names:
            for video in range(2):
                write_vlen(root, f"{name}/v{video}/frames", jpegs(video, 2))
    with pytest.raises(CatalogError, match=r"never mixed: '\w+' \(2 videos\), '\w+' \(2 videos\)"):
        catalog_of(tmp_path)
    word = names[-1].removesuffix("Data")
    with closing(catalog_of(tmp_path, split=word)) as catalog:
        assert names_of(catalog) == [f"{names[-1]}/v0", f"{names[-1]}/v1"]
    paths = [f"/data/{name}.h5" for name in names]
    with pytest.raises(CatalogError, match="never mixed"):
        files_of_split(paths, None)
    assert files_of_split(paths, word).paths == paths[-1:]
