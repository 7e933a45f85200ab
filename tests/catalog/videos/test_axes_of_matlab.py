"""Arrays of MATLAB whose last axis counts samples are asked about; those whose rows do are served."""

from __future__ import annotations

from contextlib import closing

import h5py
import numpy as np
import pytest

from loader_service.errors import CatalogError
from tests.catalog.advice import schemas_in
from tests.support.catalogs import catalog_of, declared_catalog


def _write(path, shapes):
    with h5py.File(path / "a.h5", "w") as root:
        for name, shape in shapes.items():
            root[name] = np.ones(shape, np.float32)
            root[name].attrs["MATLAB_class"] = np.bytes_("single")


@pytest.mark.parametrize(
    ("shapes", "rows"),
    [
        ({"depths": (5, 24, 20), "rawDepths": (5, 24, 20), "accelData": (4, 5)}, {"depths", "rawDepths"}),
        (
            {"data": (6, 3, 16, 20), "data_mean": (3, 16, 20), "labels": (6, 1), "set": (6, 1)},
            {"data", "labels", "set"},
        ),
    ],
)
def test_rows_that_are_samples_are_served(tmp_path, shapes, rows):
    _write(tmp_path, shapes)
    with closing(catalog_of(tmp_path)) as found:
        assert found.frame_counts.tolist() == [6 if "data" in rows else 5]
        assert {field.name for field in found.fields} == rows


@pytest.mark.parametrize(
    "shapes",
    [
        {"trials": (7, 9, 8, 20), "mean": (9, 8, 20), "phase": (7, 2)},
        {"features": (8, 20), "labels": (1, 20)},
        {"features": (8, 20), "labels": (1, 20), "classes": (8, 1)},
    ],
)
def test_a_last_axis_that_counts_samples_is_asked_about_with_schemas_that_work(tmp_path, shapes):
    _write(tmp_path, shapes)
    with pytest.raises(CatalogError, match="that axis counts samples, it seems") as caught:
        catalog_of(tmp_path)
    for schema in schemas_in(str(caught.value)):
        with closing(declared_catalog(tmp_path, schema)) as found:
            assert found.frame_count in {1, 7, 8}
