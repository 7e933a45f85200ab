"""Attributes of a group, or a dataset, for each video say where its rows lie, as datasets do."""

from __future__ import annotations

from contextlib import closing

import h5py
import numpy as np
import pytest

from loader_service.worker.reader import Reader
from tests.support.catalogs import catalog_of, names_of

_ROWS = {"b": (0, 5), "a": (5, 7), "c": (12, 4)}


@pytest.mark.parametrize("second", ["end", "length"])
@pytest.mark.parametrize("kind", ["groups", "datasets"])
def test_rows_are_cut_by_the_start_and_the_end_of_each_name(tmp_path, kind, second):
    with h5py.File(tmp_path / "a.h5", "w") as root:
        root["states"] = np.arange(48, dtype=np.float32).reshape(16, 3)
        for name, (start, length) in _ROWS.items():
            path = f"episodes/{name}"
            node = root.create_group(path) if kind == "groups" else root.create_dataset(path, data=b"a text")
            node.attrs["start"], node.attrs[second] = start, length if second == "length" else start + length
    with closing(catalog_of(tmp_path)) as found:
        assert names_of(found) == ["a", "b", "c"]
        reader, firsts = Reader(found), []
        for video, count in enumerate(found.frame_counts.tolist()):
            out = np.zeros((count, 3), np.float32)
            reader.read_array(video, "states", 0, out)
            firsts.append((out[:, 0] / 3).astype(int).tolist())
        reader.close()
    assert firsts == [list(range(5, 12)), list(range(5)), list(range(12, 16))]


def test_numbers_of_groups_that_divide_no_rows_cut_none(tmp_path):
    with h5py.File(tmp_path / "a.h5", "w") as root:
        root["states"] = np.zeros((16, 3), np.float32)
        for name, (start, length) in _ROWS.items():
            root.create_group(f"episodes/{name}").attrs.update({"start": start + 100, "length": length})
    with closing(catalog_of(tmp_path)) as found:
        assert found.frame_counts.tolist() == [16]
