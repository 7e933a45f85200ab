"""Numbered groups with a picture of each camera have a line with the schema for frames, or with what is missing."""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING

import h5py
import numpy as np
import pytest

from tests.catalog.advice import schemas_in
from tests.public_layouts.pictures import jpegs
from tests.support.catalogs import catalog_of, declared_catalog

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence
    from pathlib import Path

_PICTURES = jpegs(0, 8)


def _write(
    path: Path, videos: Sequence[str], names: Sequence[str], *, without: Collection[str] = (), raw: bool = False
) -> None:
    """Write a group for each frame with a picture for each name, but for those that `without` names."""
    with h5py.File(path, "w") as file:
        for video in videos:
            for number, jpeg in enumerate(_PICTURES):
                for name in names:
                    if f"{number}/{name}" not in without:
                        picture = np.full((24, 32, 3), number, np.uint8) if raw else np.frombuffer(jpeg, np.uint8)
                        file[f"{video}/{number:06d}/{name}"] = picture


def _lines(folder: Path) -> list[str]:
    with closing(catalog_of(folder)) as catalog:
        return [line for line in catalog.left_out if "numbers of these groups count frames" in line]


@pytest.mark.parametrize("raw", [False, True], ids=["encoded", "raw"])
@pytest.mark.parametrize("videos", [("ep0",), ("ep0", "ep1")], ids=["one", "two"])
def test_complete_groups_have_the_schema_of_frames_with_all_cameras(tmp_path: Path, videos, raw) -> None:
    _write(tmp_path / "a.h5", videos, ("cam0", "cam1"), raw=raw)
    (line,) = _lines(tmp_path)
    (schema,) = schemas_in(line)
    with closing(declared_catalog(tmp_path, schema)) as catalog:
        assert catalog.frame_counts.tolist() == [8] * len(videos)
        assert [field.name for field in catalog.fields] == ["cam0", "cam1"]


@pytest.mark.parametrize("names", [("cam0", "cam1"), ("left", "right")])
def test_groups_of_which_one_lacks_a_camera_name_it_and_have_the_schema_of_the_others(tmp_path: Path, names) -> None:
    _write(tmp_path / "a.h5", ("ep0", "ep1"), names, without=(f"3/{names[1]}",))
    (line,) = _lines(tmp_path)
    assert f"to have all, write {names[1]!r}, which is missing in 2 groups such as 'ep0/000003'" in line
    (schema,) = schemas_in(line)
    with closing(declared_catalog(tmp_path, schema)) as catalog:
        assert catalog.frame_counts.tolist() == [8, 8]
        assert [field.name for field in catalog.fields] == ([names[0]] if names[0] == "left" else ["cam0"])


@pytest.mark.parametrize("raw", [False, True], ids=["encoded", "raw"])
def test_groups_that_lack_a_camera_each_say_what_is_missing(tmp_path: Path, raw) -> None:
    _write(tmp_path / "a.h5", ("ep0", "ep1"), ("cam0", "cam1"), without=("3/cam0", "6/cam1"), raw=raw)
    (line,) = _lines(tmp_path)
    assert "write 'cam0', which is missing in 2 groups such as 'ep0/000003', and 'cam1', which is missing" in line


@pytest.mark.parametrize(
    "names", [("a", "b", "c"), ("0", "1"), ("frame_0", "frame_1")], ids=["words", "numbers", "frames"]
)
def test_pictures_that_no_word_calls_cameras_have_no_such_line(tmp_path: Path, names) -> None:
    _write(tmp_path / "a.h5", ("ep0", "ep1"), names)
    assert not _lines(tmp_path)
