"""Encoded pictures, or sequences, of kinds of which some lack one have a line, and ``--frames`` serves those of one."""

from __future__ import annotations

from contextlib import closing

import cv2
import h5py
import numpy as np
import pytest

from tests.public_layouts.pictures import jpegs, write_vlen
from tests.support.catalogs import catalog_of

_PNG = cv2.imencode(".png", np.eye(24, 32, dtype=np.uint8))[1].ravel()


def _picture(root, path, seed):
    root[path] = _PNG if "mask" in path or "Annotations" in path else np.frombuffer(jpegs(seed, 1)[0], np.uint8)


def _lines(found):
    return [line for line in found.left_out if " lies beside " in line]


@pytest.mark.parametrize(
    ("most", "other"),
    [("ISIC_{}a/image", "ISIC_{}a/mask"), ("case_{}x/left_eye", "case_{}x/right_eye"), ("{}k/rgb.jpg", "{}k/mask.png")],
)
def test_pictures_of_which_some_lack_another_kind_have_a_line_with_the_frames_of_one(tmp_path, most, other):
    with h5py.File(tmp_path / "a.h5", "w") as root:
        for seed, number in enumerate((24306, 24307, 24319, 24402, 24520)):
            _picture(root, most.format(number), seed)
            if seed % 2 == 0:
                _picture(root, other.format(number), seed)
    with closing(catalog_of(tmp_path)) as found:
        assert found.video_count == 8
        (line,) = _lines(found)
    assert "lies beside 3 of the 5" in line
    pattern = line.partition("--frames '")[2].partition("'")[0]
    with closing(catalog_of(tmp_path, frames=pattern)) as found:
        assert found.video_count == 5
        assert not _lines(found)


def test_sequences_of_which_one_lacks_its_masks_have_the_line(tmp_path):
    with h5py.File(tmp_path / "a.h5", "w") as root:
        for seed, name in enumerate(("bear", "camel", "dog", "elk")):
            write_vlen(root, f"JPEGImages/{name}", jpegs(seed, 4 + seed))
            if seed:
                write_vlen(root, f"Annotations/{name}", [_PNG.tobytes()] * (4 + seed))
    with closing(catalog_of(tmp_path)) as found:
        (line,) = _lines(found)
    assert "'Annotations' lies beside 3 of the 4 'JPEGImages'" in line


def test_classes_have_no_such_line(tmp_path):
    with h5py.File(tmp_path / "a.h5", "w") as root:
        for seed, name in enumerate(("run/p01", "run/p02", "run/p03", "walk/p01", "walk/p03")):
            write_vlen(root, name, jpegs(seed, 4 + seed))
    with closing(catalog_of(tmp_path)) as found:
        assert not _lines(found)


@pytest.mark.parametrize("storage", ["vlen", "numbered"])
def test_one_sequence_of_each_kind_has_the_line_too_where_they_are_as_long(tmp_path, storage):
    with h5py.File(tmp_path / "a.h5", "w") as root:
        for group, pictures in (("images", jpegs(0, 6)), ("annotations", [_PNG.tobytes()] * 6)):
            for split, count in (("train", 6), ("val", 4)):
                if storage == "vlen":
                    write_vlen(root, f"{group}/{split}", pictures[:count])
                    continue
                for number, picture in enumerate(pictures[:count]):
                    root[f"{group}/{split}/{number:05d}"] = np.frombuffer(picture, np.uint8)
    with closing(catalog_of(tmp_path, split="train")) as found:
        (line,) = _lines(found)
    assert "write each as a field of its own in the group of its video" in line


def test_pictures_of_two_formats_in_one_field_have_a_line_with_the_frames_of_one(tmp_path):
    with h5py.File(tmp_path / "a.h5", "w") as root:
        for seed, name in enumerate(("anna", "bob", "eve")):
            root[f"{name}/{name}.jpg"] = np.frombuffer(jpegs(seed, 1)[0], np.uint8)
            root[f"{name}/{name}_m.png"] = _PNG
    with closing(catalog_of(tmp_path)) as found:
        assert found.video_count == 6
        (line,) = [line for line in found.left_out if "3 of the 6 videos are PNG" in line]
    pattern = line.partition("--frames '")[2].partition("'")[0]
    with closing(catalog_of(tmp_path, frames=pattern)) as found:
        assert found.video_count == 3
