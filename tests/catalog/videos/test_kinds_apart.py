"""Raw sequences of the same names in groups by what is seen, which may also be classes, have a line or are refused."""

from __future__ import annotations

from contextlib import closing

import h5py
import numpy as np
import pytest

from loader_service.errors import CatalogError
from loader_service.scan_options import GROUP
from tests.catalog.advice import schemas_in
from tests.public_layouts.pictures import jpegs, write_vlen
from tests.support.catalogs import catalog_of, declared_catalog

_NUMBERED = ("video_1", "video_2", "video_10")
_FRAME = (16, 24)


def _write(path, kinds, names, counts):
    """Write a sequence of each kind, by the shape of a frame, for each name."""
    with h5py.File(path, "w") as root:
        for group, shape in kinds.items():
            for name, count in zip(names, counts, strict=True):
                root[f"{group}/{name}"] = np.zeros((count, *shape), np.uint8)


def _lines(found):
    return [line for line in found.left_out if "hold sequences of the same names" in line]


@pytest.mark.parametrize(
    ("kinds", "counts"),
    [
        ({"rgb": (*_FRAME, 3), "depth": (*_FRAME, 3)}, (6, 6, 6)),
        ({"GT/full": (*_FRAME, 3), "LQ/full": (*_FRAME, 3)}, (5, 8, 6)),
        ({"JPEGImages/480p": (*_FRAME, 3), "Annotations/480p": _FRAME}, (6, 6, 6)),
    ],
    ids=["videos of one length", "other lengths", "fields of one video"],
)
def test_sequences_of_the_same_names_have_a_line_with_the_schema_that_makes_them_fields(tmp_path, kinds, counts):
    _write(tmp_path / "a.h5", kinds, _NUMBERED, counts)
    with closing(catalog_of(tmp_path)) as found:
        (line,) = _lines(found)
    with closing(declared_catalog(tmp_path, schemas_in(line)[0])) as found:
        assert found.frame_counts.tolist() == list(counts)
        assert {facts.sources for facts in found.facts} == {(f"{group}/{{video}}",) for group in kinds}


@pytest.mark.parametrize("encoded", [False, True])
def test_the_schema_names_what_lies_in_a_group_a_video(tmp_path, encoded):
    with h5py.File(tmp_path / "a.h5", "w") as root:
        for group in ("Archery", "Bowling"):
            for number in range(3):
                if encoded:
                    write_vlen(root, f"{group}/v{number}/rgb", jpegs(number, 5 + number))
                else:
                    root[f"{group}/v{number}/rgb"] = np.zeros((5 + number, *_FRAME, 3), np.uint8)
    with closing(catalog_of(tmp_path)) as found:
        lines = _lines(found)
    for schema in schemas_in(lines[0]) if lines or not encoded else ():
        with closing(declared_catalog(tmp_path, schema)) as found:
            assert found.frame_counts.tolist() == [5, 6, 7]


@pytest.mark.parametrize(
    ("kinds", "names", "counts"),
    [
        ({"run": (*_FRAME, 3), "walk": (*_FRAME, 3)}, ("cam_left", "cam_right"), (6, 6)),
        ({"ep_0": (*_FRAME, 3), "ep_1": (*_FRAME, 3)}, ("0", "1"), (6, 6)),
    ],
    ids=["cameras", "recordings"],
)
def test_cameras_and_recordings_have_no_such_line(tmp_path, kinds, names, counts):
    _write(tmp_path / "a.h5", kinds, names, counts)
    with closing(catalog_of(tmp_path)) as found:
        assert not _lines(found)


def test_a_user_who_says_that_groups_are_classes_has_no_such_line(tmp_path):
    _write(tmp_path / "a.h5", {"run": (*_FRAME, 3), "walk": (*_FRAME, 3)}, _NUMBERED, (6, 6, 6))
    with closing(catalog_of(tmp_path, label=GROUP)) as found:
        assert not _lines(found)


def test_raw_frames_beside_masks_that_are_a_dataset_each_are_refused_with_what_to_write(tmp_path):
    with h5py.File(tmp_path / "a.h5", "w") as root:
        for group, shape in (("frames", (*_FRAME, 3)), ("masks", _FRAME)):
            for name in ("bear", "camel", "dog"):
                for number in range(5):
                    root[f"{group}/{name}/{number:05d}"] = np.full(shape, number, np.uint8)
    with pytest.raises(CatalogError, match=r"'frames/bear' and 'masks/bear'.*write the frames of each as one dataset"):
        catalog_of(tmp_path)
