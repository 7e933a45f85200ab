"""Sequences that ids name, in groups that numbers name, are cameras or videos of their own: of one length, too."""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING

import h5py
import numpy as np
import pytest

from loader_service.errors import CatalogError
from tests.catalog.advice import schemas_in
from tests.public_layouts.pictures import jpegs
from tests.support.catalogs import catalog_of, declared_catalog

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

_COUNT = 5


def _write(path: Path, names: Sequence[str], *, raw: bool, text: bool = False) -> None:
    with h5py.File(path, "w") as file:
        for speaker in ("s1", "s2"):
            for name in names:
                for number, jpeg in enumerate(jpegs(0, _COUNT)):
                    picture = np.full((24, 32, 3), number, np.uint8) if raw else np.frombuffer(jpeg, np.uint8)
                    file[f"{speaker}/{name}/{number:02d}"] = picture
                if text:
                    file[f"{speaker}/{name}/align"] = "bin blue"


@pytest.mark.parametrize("raw", [False, True], ids=["encoded", "raw"])
@pytest.mark.parametrize("text", [False, True], ids=["alone", "beside_texts"])
def test_utterances_of_each_speaker_are_asked_about(tmp_path: Path, raw, text) -> None:
    _write(tmp_path / "a.h5", ("bbaf2n", "bbaf3s"), raw=raw, text=text)
    with pytest.raises(CatalogError, match="cameras of one video or videos of their own") as asked:
        catalog_of(tmp_path)
    found = []
    for schema in schemas_in(str(asked.value)):
        with closing(declared_catalog(tmp_path, schema)) as catalog:
            found.append((catalog.video_count, catalog.frame_count, len(catalog.fields)))
    assert found == [(2, 2 * _COUNT, 2), (4, 4 * _COUNT, 1)]


@pytest.mark.parametrize("raw", [False, True], ids=["encoded", "raw"])
@pytest.mark.parametrize("names", [("left", "right"), ("view_0422061", "view_7522f3a"), ("north", "south")])
def test_cameras_of_numbered_recordings_are_fields_of_one_video(tmp_path: Path, raw, names) -> None:
    _write(tmp_path / "a.h5", names, raw=raw)
    with closing(catalog_of(tmp_path)) as catalog:
        assert (catalog.video_count, {field.name for field in catalog.fields}) == (2, set(names))
