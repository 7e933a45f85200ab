"""Groups that hold different tables are asked about, and so are pairs and levels of pictures; each remedy works."""

from __future__ import annotations

from contextlib import closing

import h5py
import numpy as np
import pytest

from loader_service.errors import CatalogError
from tests.catalog.advice import schemas_in
from tests.public_layouts.pictures import pixels
from tests.support.catalogs import catalog_of


def _served(tmp_path):
    with pytest.raises(CatalogError) as said:
        catalog_of(tmp_path)
    for schema in schemas_in(str(said.value)):
        (tmp_path / "schema.toml").write_text(schema)
        with closing(catalog_of(tmp_path, schema=str(tmp_path / "schema.toml"))) as found:
            yield tuple(found.frame_counts.tolist()), frozenset(field.name for field in found.fields)


def test_tables_with_columns_of_their_own_are_no_videos(tmp_path):
    columns = {"event": (10, "energy"), "hit": (100, "charge"), "particle": (40, "momentum")}
    with h5py.File(tmp_path / "a.h5", "w") as root:
        for table, (rows, column) in columns.items():
            root[f"{table}/id"] = np.arange(3 * rows).reshape(rows, 3)
            root[f"{table}/{column}"] = np.zeros((rows, 1))
    served = list(_served(tmp_path))
    for table, (rows, column) in columns.items():
        assert ((rows,), frozenset({f"{table}_id", f"{table}_{column}"})) in served


def test_levels_of_a_picture_may_be_the_largest_alone(tmp_path):
    with h5py.File(tmp_path / "a.h5", "w") as root:
        for level in range(3):
            root[f"s{level}"] = pixels(level, 10)[:, :: 2**level, :: 2**level]
    served = list(_served(tmp_path))
    assert ((10,), frozenset({"s0"})) in served
    assert ((10,), frozenset({"s0", "s1", "s2"})) in served


def test_tables_of_texts_are_no_videos_of_their_ids(tmp_path):
    with h5py.File(tmp_path / "a.h5", "w") as root:
        for table, rows in {"users": 10, "items": 30}.items():
            root[f"{table}/id"] = np.arange(rows)
            root[f"{table}/{table}_name"] = np.array([f"{row:03}".encode() for row in range(rows)])
    served = list(_served(tmp_path))
    assert ((10,), frozenset({"users_id", "users_users_name"})) in served
    assert ((30,), frozenset({"items_id", "items_items_name"})) in served


def test_pictures_in_pairs_of_several_sets_are_asked_about(tmp_path):
    with h5py.File(tmp_path / "a.h5", "w") as root:
        for name, count in {"Set5": 5, "Set14": 7}.items():
            for number, image in enumerate(pixels(count, count)):
                root[f"{name}/hr/{number}"] = image[: 16 + number]
                root[f"{name}/lr/{number}"] = image[: 16 + number : 2, ::2]
    assert list(_served(tmp_path)) == [((1,) * 7, frozenset({"hr", "lr"})), ((1,) * 24, frozenset({"frames"}))]
