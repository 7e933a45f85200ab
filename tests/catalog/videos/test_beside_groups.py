"""Numbered pictures in a group for each video, and what has the names of these groups beside them: fields."""

from __future__ import annotations

from contextlib import closing

import h5py
import numpy as np
import pytest

from tests.public_layouts.pictures import jpegs
from tests.support.catalogs import catalog_of, frames_of, names_of

_COUNTS = {"01_0014": 4, "01_0015": 6, "01_0016": 5}


def _write(path, entries):
    with h5py.File(path, "w") as file:
        for name, count in _COUNTS.items():
            for frame, jpeg in enumerate(jpegs(count, count)):
                file[f"frames/{name}/{frame:03d}.jpg"] = np.frombuffer(jpeg, np.uint8)
            file[f"marks/{name}"] = entries(count)


@pytest.mark.parametrize(
    ("entries", "kind"),
    [
        (np.arange, "array"),
        (lambda count: np.zeros((count, 12, 16), np.uint8), "array"),
        (lambda count: count, "value"),
    ],
    ids=["a number a frame", "a map a frame", "a number a video"],
)
def test_what_has_the_name_of_a_group_of_pictures_is_a_field_of_that_video(tmp_path, entries, kind):
    _write(tmp_path / "a.h5", entries)
    with closing(catalog_of(tmp_path)) as found:
        assert names_of(found) == [f"frames/{name}" for name in _COUNTS]
        assert [(field.name, field.kind) for field in found.fields] == [("frames", "image"), ("marks", kind)]
        assert frames_of(found, 1) == jpegs(6, 6)


def test_what_counts_something_else_than_frames_is_none_of_their_fields(tmp_path):
    _write(tmp_path / "a.h5", lambda count: np.zeros(100 * count, np.float32))
    with closing(catalog_of(tmp_path)) as found:
        assert [field.name for field in found.fields] == ["frames"]
        assert any("marks" in line for line in found.left_out)
