"""Sequences of one length that the same numbers name in several groups have a line with the schema for cameras."""

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
    from pathlib import Path


def _write(path: Path, name: str, *, raw: bool) -> None:
    """Write three sequences of five pictures in each of two groups; `name`: of a picture, by its number."""
    with h5py.File(path, "w") as file:
        for group in ("s1", "s2"):
            for sequence in range(3):
                for number, jpeg in enumerate(jpegs(0, 5)):
                    picture = np.full((24, 32, 3), number, np.uint8) if raw else np.frombuffer(jpeg, np.uint8)
                    file[f"{group}/{sequence:03d}/{name.format(number)}"] = picture


@pytest.mark.parametrize("raw", [False, True], ids=["encoded", "raw"])
def test_the_schema_in_the_line_makes_each_group_a_video(tmp_path: Path, raw) -> None:
    _write(tmp_path / "a.h5", "{:02d}", raw=raw)
    with closing(catalog_of(tmp_path)) as catalog:
        assert catalog.video_count == 6
        (line,) = [line for line in catalog.left_out if "of the same numbers in 2 groups" in line]
    (schema,) = schemas_in(line)
    with closing(declared_catalog(tmp_path, schema)) as catalog:
        assert (catalog.frame_counts.tolist(), len(catalog.fields)) == ([5, 5], 3)
