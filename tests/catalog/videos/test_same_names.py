"""Encoded pictures whose names several groups have: ``images/anna.jpg`` beside ``masks/anna.png``."""

from __future__ import annotations

from contextlib import closing

import cv2
import h5py
import numpy as np
import pytest

from loader_service.errors import CatalogError
from tests.catalog.advice import schemas_in
from tests.public_layouts.pictures import jpegs
from tests.support.catalogs import catalog_of, declared_catalog, frames_of, names_of

_WORDS = ("bird", "boat", "bus", "car", "cat", "dog", "fish", "hill", "lake", "lamp")
_FAR_APART = tuple(f"{number:06d}" for number in (3, 10, 31, 66, 115, 178, 255, 346))


def _mask(number):
    return cv2.imencode(".png", np.full((24, 32), number, np.uint8))[1].ravel()


def _write(path, names, groups=("images", "masks"), before=("", ""), behind=("", "")):
    """Write a JPEG and a PNG for each name; return the JPEGs."""
    pictures = jpegs(0, len(names))
    with h5py.File(path, "w") as file:
        for number, (name, jpeg) in enumerate(zip(names, pictures, strict=True)):
            file[f"{groups[0]}/{before[0]}{name}{behind[0]}"] = np.frombuffer(jpeg, np.uint8)
            file[f"{groups[1]}/{before[1]}{name}{behind[1]}"] = _mask(number)
    return pictures


#: What the names of pictures, and of masks, begin and end with.
_AFFIXES = {
    "alike": (("", ""), ("", "")),
    "endings": (("", ""), (".jpg", ".png")),
    "words behind": (("", ""), (".jpg", "_mask.png")),
    "words before": (("img_", "gt_"), ("", ".png")),
}


@pytest.mark.parametrize(
    ("names", "affixes"),
    [
        *((_WORDS[:3], each) for each in _AFFIXES),
        *((_WORDS, each) for each in _AFFIXES),
        *((_FAR_APART, each) for each in ("endings", "words behind")),  # numbers alone are asked about elsewhere
    ],
)
def test_pictures_and_masks_of_the_same_names_are_asked_about(tmp_path, names, affixes):
    before, behind = _AFFIXES[affixes]
    pictures = _write(tmp_path / "a.h5", names, before=before, behind=behind)
    with pytest.raises(CatalogError, match=r"in 2 groups such as 'images': a sample for each name or") as caught:
        catalog_of(tmp_path)
    schemas = schemas_in(str(caught.value))
    with closing(declared_catalog(tmp_path, schemas[0])) as found:
        assert [field.name for field in found.fields] == ["images", "masks"]
        assert len(names_of(found)) == len(names)
        last = names_of(found).index(next(name for name in names_of(found) if names[-1] in name))
        assert frames_of(found, last, "images") == [pictures[-1]]
        assert frames_of(found, last, "masks") == [_mask(len(names) - 1).tobytes()]
    with closing(declared_catalog(tmp_path, schemas[-1])) as found:
        assert len(names_of(found)) == 2 * len(names)


def test_groups_that_say_nothing_are_asked_about_unless_they_are_classes(tmp_path):
    _write(tmp_path / "a.h5", _WORDS, groups=("input", "target"))
    with pytest.raises(CatalogError, match=r"or give --label '\{group\}'"):
        catalog_of(tmp_path)
    with closing(catalog_of(tmp_path, label="{group}")) as found:
        assert len(names_of(found)) == 2 * len(_WORDS)


@pytest.mark.parametrize("ids", [False, True], ids=["words", "ids"])
def test_pictures_of_classes_that_have_other_names_are_not_asked_about(tmp_path, ids):
    with h5py.File(tmp_path / "a.h5", "w") as file:
        for group, first in (("cat", 0), ("dog", 11)):
            for number, (word, jpeg) in enumerate(zip(_WORDS, jpegs(0, len(_WORDS)), strict=True)):
                place = number + first
                name = f"n{place**2:05d}_{37 * place % 101}.jpg" if ids else f"{word}_of_a_{group}.jpg"
                file[f"{group}/{name}"] = np.frombuffer(jpeg, np.uint8)
    with closing(catalog_of(tmp_path, label="{group}")) as found:
        assert len(names_of(found)) == 2 * len(_WORDS)
    if ids:
        with closing(catalog_of(tmp_path)) as found:
            assert len(names_of(found)) == 2 * len(_WORDS)
