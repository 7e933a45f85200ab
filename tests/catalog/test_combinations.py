"""Files of many combinations of groups, names, encodings and sides: each read as it is meant, asked about, or told.

The truth of each is known, since it is written here; a file that is accepted as something else must have a line.
"""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

import cv2
import h5py
import numpy as np
import pytest

from loader_service.catalog.scan.file_scan import scan_file
from loader_service.errors import CatalogError
from loader_service.scan_options import ScanOptions

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

_RANDOM = np.random.default_rng(0)
_WORDS = ("bird", "bus", "cat", "dog", "hill", "lake", "lamp", "road", "sea", "sky", "tree", "wall")

#: Names of samples, or of videos, in twelve ways to tell them apart.
_NAMES = {
    "words": _WORDS,
    "numbers": tuple(map(str, range(12))),
    "padded": tuple(f"{number:06d}" for number in range(12)),
    "gaps": tuple(f"{7 * number * number + 3:06d}" for number in range(12)),
    "images": tuple(f"img_{number}" for number in range(12)),
    "ids": tuple(f"n{4711 * (number + 1) ** 3 % 9973:05d}_{811 * (number + 3) ** 3 % 97}" for number in range(12)),
    "demos": tuple(f"demo_{number}" for number in range(12)),
}


def _picture(height: int) -> np.ndarray:
    return _RANDOM.integers(0, 256, (height, 32, 3)).astype(np.uint8)


def _jpeg(height: int) -> np.ndarray:
    return np.asarray(cv2.imencode(".jpg", _picture(height))[1]).ravel()


def _map(height: int) -> np.ndarray:
    return _RANDOM.integers(0, 9, (height, 32)).astype(np.uint8)


#: What a picture, and what is said of each of its pixels, may be kept as.
_KINDS = {
    "jpeg and png": (_jpeg, lambda height: np.asarray(cv2.imencode(".png", _map(height))[1]).ravel()),
    "jpegs": (_jpeg, _jpeg),
    "pixels and map": (_picture, _map),
    "pixels": (_picture, _picture),
    "jpeg and map": (_jpeg, _map),
}


def _is_told(folder: Path, videos: int, frames: int) -> bool:
    """Tell whether the only file of a folder is refused, has so many videos of so many frames, or has a line."""
    try:
        found = scan_file(str(folder / "a.h5"), ScanOptions())
        return (len(found.frame_counts), int(max(found.frame_counts))) == (videos, frames) or bool(found.left_out)
    except CatalogError as error:
        return "internal error" not in str(error)


def _samples() -> Iterator[tuple[str, str, str, int, int]]:
    """Yield what tells samples apart, their two parts, how these are kept, how many there are, and how they differ."""
    return itertools.product(_NAMES, ("images/masks", "input/target"), _KINDS, (3, 12), (0, 1))


@pytest.mark.parametrize("inside", [True, False], ids=["a group a sample", "a group a part"])
def test_samples_of_two_parts_are_read_or_asked_about(tmp_path, inside):
    silent = []
    for names, parts, kind, count, more in _samples():
        with h5py.File(tmp_path / "a.h5", "w") as file:
            for place, name in enumerate(_NAMES[names][:count]):
                for part, make in zip(parts.split("/"), _KINDS[kind], strict=True):
                    file[f"{name}/{part}" if inside else f"{part}/{name}"] = make(24 + more * place)
        counted = names not in {"words", "gaps", "ids"}  # frames of one video, then
        if not _is_told(tmp_path, count, 1) and not (counted and _is_told(tmp_path, 1, count)):
            silent.append((names, parts, kind, count, more))
    assert silent == []


_PLACES = ("{name}", "{name}/frames", "{half}/{name}", "{half}/{name}/video", "data/{name}/obs/image")


@pytest.mark.parametrize("grey", [False, True], ids=["colours", "grey"])
def test_videos_wherever_they_lie_are_read_or_asked_about(tmp_path, grey):
    silent = []
    combinations = itertools.product(_NAMES, _PLACES, (2, 12), ("equal", "unequal", "one of three"))
    for names, place, count, lengths in combinations:
        frames = [6 + each * (lengths == "unequal") for each in range(count)]
        frames[0] = 3 if lengths == "one of three" else frames[0]
        with h5py.File(tmp_path / "a.h5", "w") as file:
            for each, name in enumerate(_NAMES[names][:count]):
                path = place.format(name=name, half=("walk", "run")[each % 2])
                file[path] = np.full((frames[each], 24, 32) if grey else (frames[each], 24, 32, 3), each, np.uint8)
        if not _is_told(tmp_path, count, max(frames)):
            silent.append((names, place, count, lengths))
    assert silent == []
