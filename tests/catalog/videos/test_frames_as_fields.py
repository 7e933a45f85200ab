"""Raw pictures in a group a frame, of videos of one length: fields of one frame, or frames, as a line says."""

from __future__ import annotations

from contextlib import closing

import h5py
import numpy as np
import pytest

from tests.catalog.advice import schemas_in
from tests.support.catalogs import catalog_of, declared_catalog, names_of


def _lines(found):
    return [line for line in found.left_out if "have numbers that count" in line]


@pytest.mark.parametrize("frame", ["frame_{}", "{:05d}"])
@pytest.mark.parametrize("videos", [("ep0", "ep1", "ep2"), ("bear_a", "camel_b")])
def test_fields_that_numbers_count_have_a_line_with_the_schema_that_makes_them_frames(tmp_path, videos, frame):
    with h5py.File(tmp_path / "a.h5", "w") as root:
        for number, video in enumerate(videos):
            for step in range(12):
                group = f"{video}/{frame.format(step)}"
                root[f"{group}/rgb"] = np.full((24, 32, 3), 20 * number + step, np.uint8)
                root[f"{group}/depth"] = np.full((24, 32), step, np.float32)
    with closing(catalog_of(tmp_path)) as found:
        (line,) = _lines(found)
    with closing(declared_catalog(tmp_path, schemas_in(line)[0])) as found:
        assert names_of(found) == [*videos]
        assert found.frame_counts.tolist() == [12] * len(videos)
        assert {field.name for field in found.fields} == {"rgb", "depth"}


def test_fields_that_words_name_have_no_such_line(tmp_path):
    with h5py.File(tmp_path / "a.h5", "w") as root:
        for video in range(3):
            for name in ("top1/rgb", "left/rgb", "right/rgb"):
                root[f"scene_{video}/{name}"] = np.full((24 + video, 32, 3), video, np.uint8)
    with closing(catalog_of(tmp_path)) as found:
        assert not _lines(found)
