"""A word for a recording, or for a frame, is one wherever a name is looked at."""

from __future__ import annotations

from pathlib import Path

import h5py
import numpy as np
import pytest

from loader_service.catalog.findings import FileScan
from loader_service.catalog.scan.file_scan import scan_file
from loader_service.catalog.vocabulary import RECORDINGS
from loader_service.errors import CatalogError
from loader_service.scan_options import ScanOptions

_ROWS = np.arange(18.0).reshape(6, 3)
_PLURALS = {"trajectorie": "trajectories"}


def _scan(path: Path, **beside: object) -> FileScan:
    with h5py.File(path, "w") as root:
        root["state"] = _ROWS
        for name, values in beside.items():
            root[name] = values
    return scan_file(str(path), ScanOptions())


@pytest.mark.parametrize("word", RECORDINGS.split("|"))
def test_each_word_for_a_recording_says_where_one_ends(tmp_path: Path, word: str) -> None:
    name = _PLURALS.get(word, word)
    for beside in ({f"{name}_ends": [2, 6]}, {f"{name}_lengths": [2, 4]}, {f"{name}_starts": [0, 2]}):
        assert _scan(tmp_path / "rows.h5", **beside).frame_counts.tolist() == [2, 4]
    assert _scan(tmp_path / "flags.h5", **{f"{name}_start": [1, 0, 1, 0, 0, 0]}).frame_counts.tolist() == [2, 4]


@pytest.mark.parametrize("word", ["frame", "step", "timestep", "time_step"])
def test_groups_by_each_word_for_a_frame_are_asked_about(tmp_path: Path, word: str) -> None:
    with h5py.File(tmp_path / "a.h5", "w") as root:
        for number in range(4):
            root[f"{word}_{number}/picture"] = np.full((20, 30, 3), number, np.uint8)
    with pytest.raises(CatalogError, match=f"4 groups such as '{word}_0' of one frame each"):
        scan_file(str(tmp_path / "a.h5"), ScanOptions())
