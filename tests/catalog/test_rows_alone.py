"""What no field has says how it is served: rows of another length by a schema, an attribute by a field of one."""

from __future__ import annotations

import re
from contextlib import closing

import h5py
import numpy as np
import pytest

from loader_service.catalog.schema_text import schema_toml
from tests.catalog.advice import schemas_in
from tests.public_layouts.pictures import jpegs, pixels, write_vlen
from tests.support.catalogs import catalog_of, declared_catalog

_COUNT = 3000

#: The field that a line shows.
_FIELD = r'add a \[\[field\]\] with (.*), (kind = "value") and (.*) to what `inspect --toml` prints, in a file'


def _write_events(root, number):
    root["ts"] = np.sort(np.random.default_rng(number).random(_COUNT + number))
    root["x"], root["p"] = np.arange(_COUNT + number, dtype="u2"), np.ones(_COUNT + number, "u1")


def _lines(catalog, kind):
    return [line for line in catalog.left_out if f" ({kind})'" in line.partition(": ")[0]]


@pytest.mark.parametrize("groups", [("",), ("rec0", "rec1")], ids=["file", "groups"])
def test_events_beside_frames_have_a_line_with_the_schema_that_serves_them(tmp_path, groups):
    with h5py.File(tmp_path / "a.h5", "w") as root:
        for number, group in enumerate(groups):
            write_vlen(root, f"{group}/frames", jpegs(number, 40 + number))
            _write_events(root.create_group(f"{group}/events"), number)
    with closing(catalog_of(tmp_path)) as catalog:
        (line,) = _lines(catalog, "alone")
    (schema,) = schemas_in(line)
    with closing(declared_catalog(tmp_path, schema)) as served:
        assert served.frame_counts.tolist() == [_COUNT + number for number in range(len(groups))]
        assert {field.name for field in served.fields} == {"events_ts", "events_x", "events_p"}


def test_sensors_beside_the_group_of_the_only_video_have_lines_too(tmp_path):
    with h5py.File(tmp_path / "a.h5", "w") as root:
        write_vlen(root, "cam/frames", jpegs(0, 40))
        root["imu/acc"], root["imu/gyr"], root["audio"] = np.ones((_COUNT, 3)), np.ones((_COUNT, 3)), np.ones(9000)
        root["calib/K"] = np.eye(3)
    with closing(catalog_of(tmp_path)) as catalog:
        lines, schema = _lines(catalog, "alone"), schema_toml(catalog)
        (field,) = [found.groups() for line in catalog.left_out if (found := re.search(_FIELD, line))]
    served = []
    for line in lines:
        with closing(declared_catalog(tmp_path, *schemas_in(line))) as catalog:
            served.append((catalog.frame_count, [each.name for each in catalog.fields]))
    assert served == [(_COUNT, ["imu_acc", "imu_gyr"]), (9000, ["audio"])]
    with closing(declared_catalog(tmp_path, "\n".join([schema, "[[field]]", *field]))) as catalog:
        assert catalog.values("calib_K").tolist() == [np.eye(3).tolist()]


def test_the_line_of_most_bytes_says_it_alone(tmp_path):
    with h5py.File(tmp_path / "a.h5", "w") as root:
        root["frames"], root["volume"] = pixels(0, 6, 16, 20), np.ones((30, 40, 50), np.float32)
        root["more"] = np.zeros((4, 2))
    with closing(catalog_of(tmp_path)) as catalog:
        assert len(_lines(catalog, "bytes")) == 1
        assert _lines(catalog, "alone") == []


def test_rows_that_only_some_videos_have_or_that_are_small_have_no_such_line(tmp_path):
    with h5py.File(tmp_path / "a.h5", "w") as root:
        for number in range(2):
            write_vlen(root, f"v{number}/frames", jpegs(number, 40))
            root[f"v{number}/force"] = np.ones((9, 3))
        root["v1/sound"] = np.ones(_COUNT)
    with closing(catalog_of(tmp_path)) as catalog:
        assert _lines(catalog, "alone") == []


def _videos(root):
    for number in range(2):
        write_vlen(root, f"v{number}/frames", jpegs(number, 3 + number))
        root[f"v{number}/frames"].attrs["fps"] = 30.0 + number
    root.attrs["rig"], root.create_group("meta").attrs["total"] = "left", 7


def _demo(root):
    write_vlen(root, "data/demo_0/obs/image", jpegs(0, 4))
    root["data/demo_0/actions"] = np.ones((4, 7))
    root["data"].attrs["total"], root["data/demo_0"].attrs["model"] = 4, "xml"


def _spans(root):
    root["x"], root["episode_ends"] = np.arange(80.0).reshape(40, 2), [10, 25, 40]
    root["x"].attrs["unit"], root["episode_ends"].attrs["unit"] = "mm", "row"


def _rows(root):
    rows = root.create_dataset("x", (4,), h5py.vlen_dtype(np.float32))
    for number in range(4):
        rows[number] = np.arange(5.0 + number)
    root.attrs["rig"] = "left"


@pytest.mark.parametrize(
    ("write", "served"),
    [
        (_videos, {"frames_fps": [30.0, 31.0], "rig": [b"left"] * 2, "meta_total": [7, 7]}),
        (_demo, {"data_total": [4], "data_demo_0_model": [b"xml"]}),
        (_spans, {"x_unit": [b"mm"] * 3, "episode_ends_unit": [b"row"] * 3}),
        (_rows, {"rig": [b"left"] * 4}),
    ],
    ids=["groups", "file", "spans", "rows"],
)
def test_the_field_that_the_line_of_an_attribute_shows_makes_it_a_value_of_each_video(tmp_path, write, served):
    with h5py.File(tmp_path / "a.h5", "w") as root:
        write(root)
    with closing(catalog_of(tmp_path)) as catalog:
        fields = [found.groups() for line in catalog.left_out if (found := re.search(_FIELD, line))]
        schema = schema_toml(catalog)
    assert len(fields) == len(served)
    schema = "\n".join([schema, *("\n".join(["[[field]]", *each]) for each in fields)])
    with closing(declared_catalog(tmp_path, schema)) as declared:
        assert {name: declared.values(name).tolist() for name in served} == served


def test_an_attribute_that_some_videos_lack_or_that_is_no_value_has_no_such_remedy(tmp_path):
    with h5py.File(tmp_path / "a.h5", "w") as root:
        for number in range(2):
            write_vlen(root, f"v{number}/frames", jpegs(number, 3))
        root["v0/frames"].attrs["fps"] = 30.0
        root.attrs["list"] = np.arange(2000)
    with closing(catalog_of(tmp_path)) as catalog:
        lines = [line for line in catalog.left_out if "that is no value of a video" in line]
    assert len(lines) == 2
    assert not [line for line in lines if "[[field]]" in line]
