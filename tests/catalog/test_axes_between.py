"""Files that agree on the rows of a matrix and differ in its columns have a line: columns may be time."""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING

import h5py
import numpy as np

from tests.catalog.advice import schemas_in
from tests.support.catalogs import catalog_of, declared_catalog

if TYPE_CHECKING:
    from pathlib import Path


def _write(folder: Path, frames: list[int], *, rows: int = 96, **beside: int) -> None:
    folder.mkdir(exist_ok=True)
    for number, count in enumerate(frames):
        with h5py.File(folder / f"walk{number}.h5", "w") as root:
            root["3D_positions"] = np.arange(rows * count, dtype=np.float32).reshape(rows, count)
            for name, entries in beside.items():
                root[name] = np.arange(entries)


def _lines(folder: Path) -> list[str]:
    with closing(catalog_of(folder)) as found:
        return [line for line in found.left_out if "(axes)" in line.partition(":")[0]]


def test_joints_of_each_frame_in_columns_have_a_line_whose_remedies_work(tmp_path: Path) -> None:
    _write(tmp_path, [14, 9, 11])
    (line,) = _lines(tmp_path)
    assert "96 rows in each file, of (14,) and of (9,): its first axis may be no time" in line
    assert "of which array.T has frames first" in line
    (schema,) = schemas_in(line)
    with closing(declared_catalog(tmp_path, schema)) as found:
        assert found.frame_counts.tolist() == [1, 1, 1]
    for path in tmp_path.glob("*.h5"):
        with h5py.File(path, "a") as root:
            turned = root["3D_positions"][()].T
            del root["3D_positions"]
            root["3D_positions"] = turned
    with closing(catalog_of(tmp_path)) as found:
        assert found.frame_counts.tolist() == [14, 9, 11]
    assert not _lines(tmp_path)


def test_columns_of_one_count_or_rows_that_others_have_too_have_no_line(tmp_path: Path) -> None:
    _write(tmp_path / "alike", [14, 14])
    _write(tmp_path / "times", [14, 9], times=96)
    assert not _lines(tmp_path / "alike")
    assert not _lines(tmp_path / "times")
