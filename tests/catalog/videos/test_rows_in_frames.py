"""Groups that are called as frames are, with a row for each camera or environment, have a line with their schema."""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING

import h5py
import numpy as np
import pytest

from tests.catalog.advice import schemas_in
from tests.public_layouts.pictures import jpegs, write_vlen
from tests.support.catalogs import catalog_of, declared_catalog

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

_FRAMES, _CAMERAS = 5, 4


def _write(path: Path, names: Sequence[str], inner: str = "images", *, more: int = 0) -> None:
    """Write a group for each name, with a picture of each camera; `more` of the last."""
    with h5py.File(path, "w") as file:
        for name in names:
            count = _CAMERAS + more * (name == names[-1])
            file[f"{name}/{inner}"] = np.zeros((count, 24, 32, 3), np.uint8)
            file[f"{name}/pose"], file[f"{name}/time"] = np.zeros((count, 3, 3)), 0.5


def _lines(folder: Path) -> list[str]:
    with closing(catalog_of(folder)) as catalog:
        return [line for line in catalog.left_out if "rows cameras or environments" in line]


@pytest.mark.parametrize("inner", ["images", "obs/rgb"])
@pytest.mark.parametrize("stem", ["frame_{:05d}", "step_{:03d}", "chunk0/step{}"])
def test_rows_of_frames_have_the_schema_of_one_video_with_all_rows_in_a_frame(tmp_path: Path, stem, inner) -> None:
    _write(tmp_path / "a.h5", [stem.format(number) for number in range(_FRAMES)], inner)
    (line,) = _lines(tmp_path)
    assert f"5 groups such as {stem.format(0)!r} are videos of 4 frames each" in line
    (schema,) = schemas_in(line)
    with closing(declared_catalog(tmp_path, schema)) as catalog:
        assert catalog.frame_counts.tolist() == [_FRAMES]
        assert {field.shape[:1] for field in catalog.fields} == {(_CAMERAS,), ()}


def test_encoded_rows_of_frames_have_a_line_without_a_schema(tmp_path: Path) -> None:
    with h5py.File(tmp_path / "a.h5", "w") as file:
        for number in range(_FRAMES):
            write_vlen(file.create_group(f"frame_{number:05d}"), "images", jpegs(0, _CAMERAS))
    (line,) = _lines(tmp_path)
    assert "write what each camera sees as one dataset" in line


@pytest.mark.parametrize(
    ("names", "more"),
    [
        ([f"episode_{number}" for number in range(_FRAMES)], 0),
        ([f"step_{number}" for number in range(_FRAMES)], 1),
        ([f"step_{number}" for number in (0, 3, 9)], 0),
    ],
    ids=["episodes", "other_lengths", "gaps"],
)
def test_videos_that_are_not_called_frames_or_differ_in_length_have_no_such_line(tmp_path: Path, names, more) -> None:
    _write(tmp_path / "a.h5", names, more=more)
    assert not _lines(tmp_path)
