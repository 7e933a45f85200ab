"""Starts with the end of all rows that are as many as the rows, by chance, are no column of them."""

from __future__ import annotations

from contextlib import closing

import h5py
import numpy as np
import pytest

from tests.support.catalogs import catalog_of


@pytest.mark.parametrize("sides", [(4,), (4, 1)])
@pytest.mark.parametrize("name", ["patients/offsets", "episode_ends", "indptr"])
def test_starts_that_run_to_the_last_row_cut_rows_of_their_number(tmp_path, name, sides):
    with h5py.File(tmp_path / "a.h5", "w") as root:
        root["scans"] = np.random.default_rng(0).random((4, 9, 8))
        root[name] = np.array([0, 1, 3, 4]).reshape(sides)
    with closing(catalog_of(tmp_path)) as found:
        assert found.frame_counts.tolist() == [1, 2, 1]
        assert [field.name for field in found.fields] == ["scans"]


@pytest.mark.parametrize("numbers", [[0, 1, 2, 3], [1, 2, 3, 4], [0, 3, 1, 4]])
def test_other_numbers_of_that_name_are_a_column(tmp_path, numbers):
    with h5py.File(tmp_path / "a.h5", "w") as root:
        root["scans"], root["offsets"] = np.random.default_rng(0).random((4, 9, 8)), np.array(numbers)
    with closing(catalog_of(tmp_path)) as found:
        assert {field.name for field in found.fields} == {"scans", "offsets"}
