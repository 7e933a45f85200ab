"""With a schema, what the file holds that no field names has a line, and so nothing is lost without a word."""

from __future__ import annotations

from contextlib import closing

import h5py
import numpy as np
import pytest

from tests.public_layouts.pictures import jpegs, write_vlen
from tests.support.catalogs import declared_catalog

_GROUPS = 'videos = "groups"\nfield = [{name = "frames", kind = "array", dataset = "{video}/frames"}]'


def _lines(directory, schema, **given):
    with closing(declared_catalog(directory, schema, directory / "a.h5", **given)) as found:
        return [line for line in found.left_out if "the schema does not name it" in line]


def _write(path, **beside):
    with h5py.File(path / "a.h5", "w") as root:
        for number in range(3):
            video = root.create_group(f"ep{number}")
            video["frames"] = np.zeros((5 + number, 4), np.float32)
            for name, value in beside.items():
                if name.startswith("at_"):
                    video.attrs[name[3:]] = value
                else:
                    video[name] = value
    return path


def test_datasets_and_attributes_of_videos_have_a_line_each(tmp_path):
    _write(tmp_path, pose=np.zeros((5, 2)), genre="rock", at_name="a", at_kind=3)
    datasets, attributes = _lines(tmp_path, _GROUPS)
    assert datasets.startswith("'genre': the schema does not name it, nor 'pose', in a file of ")
    assert attributes.startswith("'@kind': the schema does not name it, nor '@name', in a file of ")


def test_many_are_counted_and_numbers_folded(tmp_path):
    _write(tmp_path, **{f"{letter}": 0 for letter in "abcdefg"}, **{f"mask/{number}": 0 for number in range(12)})
    (line,) = _lines(tmp_path, _GROUPS)
    assert "'a': the schema does not name it, nor 'b', nor 'c', nor 'd'" in line
    assert "datasets more" in line


def test_rows_of_a_table_and_what_has_no_row_are_named(tmp_path):
    with h5py.File(tmp_path / "a.h5", "w") as root:
        root["valid/dt"], root["valid/gt"], root["label"] = np.zeros((6, 8, 9)), np.arange(6), np.arange(6)
    schema = 'videos = "table"\nfield = [{name = "dt", kind = "array", dataset = "valid/dt"}]'
    (line,) = _lines(tmp_path, schema)
    assert line.startswith("'label': the schema does not name it, nor 'valid/gt'")


@pytest.mark.parametrize("where", ["attribute", "inside", "beside"])
def test_labels_that_are_read_have_no_line(tmp_path, where):
    with h5py.File(_write(tmp_path) / "a.h5", "a") as root:
        for number in range(3):
            if where == "attribute":
                root[f"ep{number}"].attrs["label"] = number
            elif where == "inside":
                root[f"ep{number}/label"] = number
        if where == "beside":
            root["labels"] = np.arange(3)
    assert not _lines(tmp_path, _GROUPS)
    (line,) = _lines(tmp_path, _GROUPS, label="{none}")
    assert "label" in line


def test_labels_of_frames_have_a_line_with_a_schema(tmp_path):
    with h5py.File(_write(tmp_path) / "a.h5", "a") as root:
        for number in range(3):
            root[f"ep{number}/labels"] = np.zeros(5 + number)
    (line,) = _lines(tmp_path, _GROUPS)
    assert line.startswith("'labels'")


def test_what_belongs_to_fields_has_no_line(tmp_path):
    with h5py.File(tmp_path / "a.h5", "w") as root:
        for number in range(3):
            video = root.create_group(f"ep{number}")
            video.attrs["fps"] = 30
            write_vlen(video, "frames", jpegs(0, 4))
            for step in range(4):
                video[f"pose_{step}"], video[f"step_{step}/force"] = np.zeros(3), np.zeros(2)
    schema = """videos = "groups"
field = [
    {name = "frames", kind = "image", dataset = "{video}/frames"},
    {name = "pose", kind = "array", dataset = "{video}/pose_*", shape = [3]},
    {name = "force", kind = "array", dataset = "{video}/step_*/force", shape = [2]},
    {name = "fps", kind = "value", dataset = "{video}/@fps"},
]"""
    assert not _lines(tmp_path, schema)


def test_ends_of_videos_that_lie_end_to_end_have_no_line(tmp_path):
    with h5py.File(tmp_path / "a.h5", "w") as root:
        root["data/state"], root["meta/episode_ends"] = np.zeros((12, 3)), np.array([5, 12])
        root["data/reward"] = np.zeros(12)
    schema = 'videos = "spans"\nfield = [{name = "state", kind = "array", dataset = "data/state"}]'
    (line,) = _lines(tmp_path, schema)
    assert line.startswith("'data/reward': the schema does not name it, in a file of")


def test_what_a_field_of_the_same_name_does_not_take_has_a_line(tmp_path):
    with h5py.File(tmp_path / "a.h5", "w") as root:
        root["x/state"], root["state"] = np.zeros((6, 3)), np.zeros((6, 2))
        root["y"] = np.zeros(6)
    schema = 'videos = "table"\nfield = [{name = "state", kind = "array", dataset = "x/state"}]'
    (line,) = _lines(tmp_path, schema)
    assert line.startswith("'y': the schema does not name it, nor 'state'")


def test_lengths_of_padded_rows_have_no_line(tmp_path):
    with h5py.File(tmp_path / "a.h5", "w") as root:
        root["states"], root["lengths"] = np.zeros((4, 9, 3), np.float32), np.array([9, 4, 7, 5])
        root["act"] = np.zeros((4, 9, 2))
    schema = 'videos = "padded"\nfield = [{name = "states", kind = "array", dataset = "states", shape = [3]}]'
    (line,) = _lines(tmp_path, schema)
    assert line.startswith("'act': the schema does not name it, in a file of")
