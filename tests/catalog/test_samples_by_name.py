"""Files that hold a part of each sample under its name become one by the command, and the schema, of their refusal."""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING

import h5py
import numpy as np
import pytest

from loader_service.errors import CatalogError
from tests.catalog.advice import run_command_in, schemas_in
from tests.support.catalogs import catalog_of, declared_catalog, names_of

if TYPE_CHECKING:
    from pathlib import Path

_PLACES = ("0.00|1.25|0|-30", "10.00|1.25|0|0", "-1.00|0.25|90|0")


def _write(folder: Path, features: dict[str, tuple[int, ...]]) -> None:
    with h5py.File(folder / "images.h5", "w") as root:
        for number, place in enumerate(_PLACES):
            root[place] = np.full((16, 16, 3), number, np.uint8)
    with h5py.File(folder / "resnet18.h5", "w") as root:
        for number, (place, shape) in enumerate(features.items()):
            root[place] = np.full(shape, number, np.float32)


@pytest.mark.parametrize("counts", [(8, 8, 8), (8, 5, 6)])
def test_pictures_and_maps_of_one_name_are_one_sample_of_the_joined_file(
    tmp_path: Path, counts: tuple[int, ...]
) -> None:
    _write(tmp_path, {place: (count, 7, 7) for place, count in zip(_PLACES, counts, strict=True)})
    with pytest.raises(CatalogError, match="have no frames or arrays in common") as caught:
        catalog_of(tmp_path)
    (schema,) = schemas_in(str(caught.value))
    folder = tmp_path / "joined"
    run_command_in(str(caught.value), folder)
    with closing(declared_catalog(folder, schema)) as found:
        assert found.frame_counts.tolist() == [1, 1, 1]
        assert {name.rpartition("/")[2] for name in names_of(found)} == set(_PLACES)
        assert {field.name: field.kind for field in found.fields} == {"images": "image", "resnet18": "array"}


def test_files_of_other_names_hold_no_parts_of_one_sample(tmp_path: Path) -> None:
    _write(tmp_path, {f"{number}.50|0.25|90|0": (8, 7, 7) for number in range(3)})
    with pytest.raises(CatalogError, match="have no frames or arrays in common") as caught:
        catalog_of(tmp_path)
    assert "joined.h5" not in str(caught.value)
