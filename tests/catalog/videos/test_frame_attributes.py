"""Attributes of each frame have a line with how many there are, and how to serve them of all frames."""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING

import h5py
import numpy as np
import pytest

from tests.public_layouts.pictures import jpegs
from tests.support.catalogs import catalog_of

if TYPE_CHECKING:
    from pathlib import Path

_FRAMES = 12


def _write(path: Path, *, raw: bool, beside: bool = False) -> None:
    with h5py.File(path, "w") as file:
        for video in ("game_0", "game_1"):
            for number, jpeg in enumerate(jpegs(0, _FRAMES)):
                picture = np.full((24, 32), number, np.uint16) if raw else np.frombuffer(jpeg, np.uint8)
                frame = file.create_dataset(f"{video}/frame_{number}", data=picture)
                if not beside:
                    frame.attrs.update(action=number, reward=0.5 * number)
            if beside:
                file[f"{video}/action"] = np.arange(_FRAMES)


@pytest.mark.parametrize("raw", [False, True], ids=["encoded", "raw"])
def test_the_line_counts_all_frames_and_advises_an_entry_for_each(tmp_path: Path, raw) -> None:
    _write(tmp_path / "a.h5", raw=raw)
    with closing(catalog_of(tmp_path)) as catalog:
        lines = [line for line in catalog.left_out if "24 attributes: attribute of 'game_0/frame_0'" in line]
    assert len(lines) == 2
    assert all("write a dataset beside the frames with an entry for each" in line for line in lines)
    assert not any("[[field]]" in line for line in lines)


@pytest.mark.parametrize("raw", [False, True], ids=["encoded", "raw"])
def test_what_is_written_as_advised_is_a_field(tmp_path: Path, raw) -> None:
    _write(tmp_path / "a.h5", raw=raw, beside=True)
    with closing(catalog_of(tmp_path)) as catalog:
        assert catalog.frame_counts.tolist() == [_FRAMES, _FRAMES]
        assert "action" in [field.name for field in catalog.fields]
