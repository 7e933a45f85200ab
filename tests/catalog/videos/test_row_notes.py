"""Padded numbers, and volumes in groups, have a line with a schema that works; films, and what has times, have none."""

from __future__ import annotations

import re
from contextlib import closing

import h5py
import numpy as np
import pytest

from tests.catalog.advice import schemas_in
from tests.support.catalogs import catalog_of, declared_catalog


def _lines(path):
    with closing(catalog_of(path.parent)) as found:
        return [line for line in found.left_out if "if that is a volume" in line]


_CUBES, _VOLUMES = [(20, 20, 20)] * 3, [(30, 24, 20), (31, 25, 20)]


@pytest.mark.parametrize(
    ("names", "shapes"), [(("image",), _CUBES), (("",), _CUBES), (("image",), _VOLUMES), (("image", "mask"), _VOLUMES)]
)
def test_the_schema_of_a_line_makes_each_volume_one_sample(tmp_path, names, shapes):
    with h5py.File(tmp_path / "a.h5", "w") as root:
        for number, shape in enumerate(shapes):
            for name in names:
                path = f"case{number}/{name}".rstrip("/")
                root[path] = np.ones(shape, np.uint8 if name == "mask" else np.float32)
    (line,) = _lines(tmp_path / "a.h5")
    with closing(declared_catalog(tmp_path, "\n".join(re.findall("`([^`]*)`", line)[:2]))) as declared:
        assert declared.frame_counts.tolist() == [1] * len(shapes)
        assert len(declared.fields) == len(names)


@pytest.mark.parametrize(
    "arrays",
    [
        {"film": np.ones((20, 18, 16), np.uint8)},
        {"flow": np.ones((20, 18, 16, 2), np.float32)},
        {"depth": np.ones((20, 18, 16), np.float32), "times": np.arange(20)},
        {"features": np.ones((20, 18), np.float32)},
    ],
)
def test_films_channels_and_what_has_times_have_no_line(tmp_path, arrays):
    with h5py.File(tmp_path / "a.h5", "w") as root:
        for number in range(2):
            for name, values in arrays.items():
                root[f"case{number}/{name}"] = values
    assert not _lines(tmp_path / "a.h5")


@pytest.mark.parametrize("said", ["lengths", "mask"])
def test_the_schema_of_a_line_makes_each_padded_row_a_video(tmp_path, said):
    lengths = np.array([3, 5, 2, 8])
    with h5py.File(tmp_path / "a.h5", "w") as root:
        root["obs"], root["reward"] = np.ones((4, 8, 5), np.float32), np.ones((4, 8), np.float32)
        root[said] = lengths if said == "lengths" else (np.arange(8) < lengths[:, None]).astype(np.float32)
        root["score"] = np.arange(4)
    with closing(catalog_of(tmp_path)) as found:
        assert found.frame_counts.tolist() == [4]
        line = next(line for line in found.left_out if "seems to be a sequence" in line)
    with closing(declared_catalog(tmp_path, "\n".join(re.findall("`([^`]*)`", line)[:2]))) as declared:
        assert declared.frame_counts.tolist() == lengths.tolist()
        fields = {field.name: (field.kind, field.shape) for field in declared.fields}
        assert fields == {"obs": ("array", (5,)), "reward": ("array", ()), "score": ("value", ())}


def test_names_of_columns_as_pandas_keeps_them_are_no_samples(tmp_path):
    with h5py.File(tmp_path / "a.h5", "w") as root:
        root["table/block0_values"] = np.random.default_rng(1).normal(size=(16, 3))
        root["table/block0_items"] = np.array([b"x", b"y", b"z"])
    with closing(catalog_of(tmp_path)) as found:
        (line,) = found.left_out
        assert "names of columns" in line


def test_the_schema_of_a_line_makes_a_light_field_one_sample(tmp_path):
    with h5py.File(tmp_path / "a.h5", "w") as root:
        root["LF"], root["depth"] = np.ones((5, 5, 20, 24, 3), np.uint8), np.ones((5, 5, 20, 24), np.float32)
    with closing(catalog_of(tmp_path)) as found:
        (line,) = [each for each in found.left_out if "light field" in each]
    with closing(declared_catalog(tmp_path, schemas_in(line)[0])) as declared:
        assert declared.frame_counts.tolist() == [1]
        assert {field.shape for field in declared.fields} == {(5, 5, 20, 24, 3), (5, 5, 20, 24)}


@pytest.mark.parametrize(
    "shapes", [[(5, 4, 20, 24, 3), (5, 4, 20, 24)], [(5, 5, 20, 24, 3), (5,)], [(5, 5, 8), (5, 5, 9)]]
)
def test_films_of_cameras_and_matrices_are_no_light_fields(tmp_path, shapes):
    with h5py.File(tmp_path / "a.h5", "w") as root:
        for number, shape in enumerate(shapes):
            root[f"x{number}"] = np.ones(shape, np.float32)
    with closing(catalog_of(tmp_path)) as found:
        assert not [each for each in found.left_out if "light field" in each]


def test_what_has_far_fewer_entries_than_frames_is_named_as_a_value(tmp_path):
    with h5py.File(tmp_path / "a.h5", "w") as root:
        for number, (count, parts) in enumerate([(6, 6), (7, 3), (5, 4)]):
            root[f"v{number}/features"], root[f"v{number}/score"] = np.ones((count, 8), np.float32), np.ones(count)
            root[f"v{number}/marks"] = np.ones((parts, 2), np.int64)
    with closing(catalog_of(tmp_path)) as found:
        (line,) = [each for each in found.left_out if "'marks'" in each]
    assert 'has 3 entries there for 7 frames; kind = "value" of it in a --schema makes it a list' in line
    fields = [("features", "array"), ("marks", "value")]
    shown = ", ".join(f'{{name = "{name}", kind = "{kind}", dataset = "{{video}}/{name}"}}' for name, kind in fields)
    with closing(declared_catalog(tmp_path, f'videos = "groups"\nfield = [{shown}]')) as declared:
        assert declared.frame_counts.tolist() == [6, 7, 5]
