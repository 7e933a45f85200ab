"""Small arrays called as videos that are a dataset each, with more behind the name, have a line with their schema."""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING

import h5py
import numpy as np

from tests.catalog.advice import schemas_in
from tests.support.catalogs import catalog_of, declared_catalog

if TYPE_CHECKING:
    from pathlib import Path

_SUBJECTS = (1, 2, 10)


def _write(path: Path, *, affine_of: tuple[int, ...] = _SUBJECTS, group: str = "") -> None:
    with h5py.File(path, "w") as root:
        for number in _SUBJECTS:
            root[f"{group}subject_{number}"] = np.full((8, 10, 9), number, np.float64)
        for number in affine_of:
            root[f"{group}subject_{number}_affine"] = np.eye(4) * number


def _lines(folder: Path) -> list[str]:
    with closing(catalog_of(folder)) as found:
        assert found.video_count == len(_SUBJECTS)
        return [line for line in found.left_out if "_affine" in line.partition(":")[0]]


def _check_schema(folder: Path) -> None:
    lines = _lines(folder)
    (schema,) = {each for line in lines for each in schemas_in(line)}
    with closing(declared_catalog(folder, schema)) as found:
        assert found.frame_counts.tolist() == [8, 8, 8]
        served = found.values("affine")
        np.testing.assert_array_equal(served, [np.eye(4) * number for number in _SUBJECTS])


def test_affines_beside_volumes_are_values_by_the_schema_of_their_line(tmp_path: Path) -> None:
    _write(tmp_path / "a.h5")
    _check_schema(tmp_path)


def test_affines_in_the_group_of_the_volumes_are_values_too(tmp_path: Path) -> None:
    _write(tmp_path / "a.h5", group="mri/")
    _check_schema(tmp_path)


def test_what_some_videos_lack_has_no_schema(tmp_path: Path) -> None:
    _write(tmp_path / "a.h5", affine_of=(1, 2))
    assert all("`videos = " not in line for line in _lines(tmp_path))
