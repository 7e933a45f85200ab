"""Groups, or fields, of one length whose names are words have a line with the other reading, which works."""

from __future__ import annotations

from contextlib import closing

import h5py
import numpy as np
import pytest

from tests.catalog.advice import schemas_in
from tests.public_layouts.pictures import jpegs, write_vlen
from tests.support.catalogs import catalog_of


def _write(path, arrays):
    with h5py.File(path / "a.h5", "w") as root:
        for number, (name, shape) in enumerate(arrays.items()):
            if shape is None:
                write_vlen(root.require_group(name.rpartition("/")[0]), name.rpartition("/")[2], jpegs(number, 6))
            else:
                root[name] = np.arange(np.prod(shape), dtype=np.float32).reshape(shape) + number


def _lines(path):
    with closing(catalog_of(path)) as found:
        return found.frame_counts.tolist(), [line for line in found.left_out if "(pairs)" in line]


_GROUPS = {"noise/strain": (20, 8), "noise/snr": (20,), "injections/strain": (20, 8), "injections/snr": (20,)}
_PERSONS = {"person_0/joints": (20, 8), "person_1/joints": (20, 8)}
_ENCODED = {"positive/images": None, "negative/images": None}
_TABLES = {"events/id": (20,), "events/energy": (20, 3), "hits/id": (20,), "hits/charge": (20, 3)}
_FIELDS = {"clean": (20, 8), "noisy": (20, 8)}


@pytest.mark.parametrize(
    ("arrays", "served", "declared", "names"),
    [
        (_GROUPS, [20, 20], [20], {"injections_strain", "injections_snr", "noise_strain"}),
        (_PERSONS, [20, 20], [20], {"person_0_joints", "person_1_joints"}),
        (_ENCODED, [6, 6], [6], {"positive_images", "negative_images"}),
        (_FIELDS, [20], [20, 20], {"values"}),
        (_TABLES, [20], [20], {"events_id", "events_energy"}),
    ],
)
def test_the_other_reading_has_a_line_whose_schema_works(tmp_path, arrays, served, declared, names):
    _write(tmp_path, arrays)
    counts, (line,) = _lines(tmp_path)
    assert counts == served
    (tmp_path / "schema.toml").write_text(schemas_in(line)[0])
    with closing(catalog_of(tmp_path, schema=str(tmp_path / "schema.toml"))) as found:
        assert found.frame_counts.tolist() == declared
        assert {field.name for field in found.fields} == names


@pytest.mark.parametrize(
    "arrays",
    [
        {"a/x": (20, 8), "b/x": (21, 8), "a/y": (20,), "b/y": (21,)},
        {"trial_1/x": (20, 8), "trial_2/x": (20, 8)},
        {"demo_1/x": (20, 8), "demo_1/y": (20,), "demo_2/x": (20, 8), "demo_2/y": (20,)},
        {"person01_boxing/x": (20, 8), "person02_boxing/x": (20, 8)},
        {"clean": (20, 8), "noisy": (20, 8), "snr": (20,)},
        {"rgb": (20, 8), "depth": (20, 8)},
        {"x": (20, 8), "y": (20, 3)},
        {"imu/accelerometer": (20, 3), "pose/position": (20, 3), "pose/speed": (20,)},
    ],
)
def test_what_is_told_has_no_such_line(tmp_path, arrays):
    _write(tmp_path, arrays)
    assert _lines(tmp_path)[1] == []
