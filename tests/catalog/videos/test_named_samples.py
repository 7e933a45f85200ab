"""Pictures and maps of one group, paired by a word before what is seen: ``cat_image`` beside ``cat_mask``."""

from __future__ import annotations

from contextlib import closing

import cv2
import h5py
import numpy as np
import pytest

from loader_service.errors import CatalogError
from tests.catalog.advice import schemas_in
from tests.public_layouts.pictures import jpegs
from tests.support.catalogs import catalog_of, declared_catalog, names_of

_WORDS = ("bus", "cat", "dog")


def _write(path, *, unequal, group="", seen=("image", "mask")):
    with h5py.File(path, "w") as file:
        for number, word in enumerate(_WORDS):
            height = 24 + number * unequal
            file[f"{group}{word}_{seen[0]}"] = np.full((height, 32, 3), number, np.uint8)
            file[f"{group}{word}_{seen[1]}"] = np.full((height, 32), 10 + number, np.uint8)


@pytest.mark.parametrize("group", ["", "data/"])
@pytest.mark.parametrize("seen", [("image", "mask"), ("rgb", "gt")], ids="-".join)
def test_raw_pictures_of_unlike_sides_are_asked_about_with_their_masks(tmp_path, group, seen):
    _write(tmp_path / "a.h5", unequal=True, group=group, seen=seen)
    with pytest.raises(CatalogError, match="and such of 2 other names: a sample for each name") as caught:
        catalog_of(tmp_path)
    (schema,) = schemas_in(str(caught.value))
    with closing(declared_catalog(tmp_path, schema)) as found:
        assert names_of(found) == [*_WORDS]
        assert [field.name for field in found.fields] == [*seen]


def test_those_of_equal_sides_are_one_frame_and_a_line_has_the_schema_for_samples(tmp_path):
    _write(tmp_path / "a.h5", unequal=False)
    with closing(catalog_of(tmp_path)) as found:
        (line,) = (line for line in found.left_out if "(names)" in line)
        assert len(found.fields) == 6
        assert "if each is a sample" in line
    (schema,) = schemas_in(line)
    with closing(declared_catalog(tmp_path, schema)) as found:
        assert names_of(found) == [*_WORDS]


@pytest.mark.parametrize("encoded_mask", [False, True])
def test_encoded_pictures_are_asked_about_with_their_masks(tmp_path, encoded_mask):
    mask = np.eye(24, 32, dtype=np.uint8)
    with h5py.File(tmp_path / "a.h5", "w") as file:
        for word, jpeg in zip(_WORDS, jpegs(0, len(_WORDS)), strict=True):
            file[f"{word}_image"] = np.frombuffer(jpeg, np.uint8)
            file[f"{word}_mask"] = cv2.imencode(".png", mask)[1].ravel() if encoded_mask else mask
    with pytest.raises(CatalogError, match="a sample for each name or a video of one frame each") as caught:
        catalog_of(tmp_path)
    samples, pictures = schemas_in(str(caught.value))
    with closing(declared_catalog(tmp_path, samples)) as found:
        assert names_of(found) == [*_WORDS]
        assert [field.name for field in found.fields] == ["image", "mask"]
    with closing(declared_catalog(tmp_path, pictures)) as found:
        assert f"{_WORDS[0]}_image" in names_of(found)


def test_cameras_of_one_frame_have_no_line(tmp_path):
    with h5py.File(tmp_path / "a.h5", "w") as file:
        for camera in ("front", "rear"):
            file[f"{camera}_rgb"] = np.zeros((24, 32, 3), np.uint8)
            file[f"{camera}_depth"] = np.ones((24, 32), np.float32)
    with closing(catalog_of(tmp_path)) as found:
        assert len(found.fields) == 4
        assert not any("(names)" in line for line in found.left_out)


@pytest.mark.parametrize(
    ("names", "endings", "encoded"),
    [
        (names, endings, encoded)
        for names in (_WORDS, ("000003", "000010", "000031"), ("ISIC_17a", "ISIC_32b", "ISIC_47c"))
        for endings in (("images", "masks"), ("A", "B"))
        for encoded in (False, True)
        if (names[0], endings[0], encoded) != ("000003", "A", False)  # may be numbered videos, and is asked about so
    ],
)
def test_names_with_the_same_endings_have_a_question_or_a_line_with_the_schema_for_samples(
    tmp_path, names, endings, encoded
):
    with h5py.File(tmp_path / "a.h5", "w") as file:
        for number, name in enumerate(names):
            for ending in endings:
                raw, jpeg = np.full((24, 32, 3), number, np.uint8), np.frombuffer(jpegs(number, 1)[0], np.uint8)
                file[f"{name}_{ending}"] = jpeg if encoded else raw
    try:
        with closing(catalog_of(tmp_path)) as found:
            said = next(line for line in found.left_out if "(names)" in line)
    except CatalogError as error:
        said = str(error)
    served = []
    for schema in schemas_in(said):
        with closing(declared_catalog(tmp_path, schema)) as found:
            served.append((names_of(found), len(found.fields)))
    assert ([*names], len(endings)) in served


def test_names_with_other_endings_each_have_no_line(tmp_path):
    with h5py.File(tmp_path / "a.h5", "w") as file:
        for name in ("bus_a", "cat_b", "dog_c", "elk_d"):
            file[name] = np.frombuffer(jpegs(0, 1)[0], np.uint8)
    with closing(catalog_of(tmp_path)) as found:
        assert not [line for line in found.left_out if "if each is a sample, " in line]
