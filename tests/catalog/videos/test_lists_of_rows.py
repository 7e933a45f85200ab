"""Lists of rows that lie end to end, each with bounds of its own, are offered as lists beside what the rows have."""

from __future__ import annotations

from contextlib import closing

import h5py
import numpy as np
import pytest

from loader_service.errors import CatalogError
from loader_service.worker.reader import Reader
from tests.catalog.advice import schemas_in
from tests.support.catalogs import catalog_of

_ENDS = {"vertices_c": np.array([0, 4, 11, 20]), "faces_vc": np.array([0, 9, 14, 31])}
_LISTS = {"vertices_c": np.arange(60, dtype=np.float32).reshape(20, 3), "faces_vc": np.arange(93).reshape(31, 3)}


def _write(root, split, ending):
    for name, values in _LISTS.items():
        stem = name if ending == "_offsets" else name.partition("_")[0]
        root[f"{split}{name}"], root[f"{split}{stem}{ending}"] = values, _ENDS[name]
    root[f"{split}center"] = np.ones((3, 3))


def _check(found, prefix):
    assert found.frame_count == 3
    reader = Reader(found)
    try:
        for name, values in _LISTS.items():
            for row, each in enumerate(reader.read_lists(0, range(3), (prefix + name).replace("/", "_"))):
                assert np.array_equal(each, values[_ENDS[name][row] : _ENDS[name][row + 1]])
    finally:
        reader.close()


@pytest.mark.parametrize("prefix", ["", "train_", "train/"])
@pytest.mark.parametrize("ending", ["_offsets", "_bounds"])
def test_a_question_offers_rows_that_have_a_list_each_in_several_datasets(tmp_path, prefix, ending):
    with h5py.File(tmp_path / "meshes.h5", "w") as root:
        for split in {prefix, prefix.replace("train", "test")}:
            _write(root, split, ending)
    options = {"split": "train"} if prefix else {}
    with pytest.raises(CatalogError, match="3 rows, each with its list in") as error:
        catalog_of(tmp_path, **options)
    (tmp_path / "schema.toml").write_text(schemas_in(str(error.value))[0])
    with closing(catalog_of(tmp_path, schema=str(tmp_path / "schema.toml"), **options)) as found:
        _check(found, prefix)


def test_the_line_of_what_most_bytes_are_in_shows_the_schema_for_lists_of_the_rows_that_are_served(tmp_path):
    with h5py.File(tmp_path / "meshes.h5", "w") as root:
        _write(root, "", "_bounds")
        root["scale"] = np.arange(3.0)
    with closing(catalog_of(tmp_path)) as found:
        (line,) = [line for line in found.left_out if "of the bytes of all datasets" in line]
    assert "3 rows, each with its list" in line
    (tmp_path / "schema.toml").write_text(schemas_in(line)[0])
    with closing(catalog_of(tmp_path, schema=str(tmp_path / "schema.toml"))) as found:
        _check(found, "")


def test_bounds_that_do_not_reach_the_last_entry_are_those_of_nothing(tmp_path):
    with h5py.File(tmp_path / "meshes.h5", "w") as root:
        _write(root, "", "_bounds")
        root["faces_bounds"][-1] = 30
    with pytest.raises(CatalogError) as error:
        catalog_of(tmp_path)
    assert "'vertices_c'" in str(error.value)
    assert "list in 'faces_vc'" not in str(error.value)
