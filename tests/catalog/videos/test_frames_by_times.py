"""Cameras whose frames are called by times: they are paired in their order, and a line says where times differ."""

from __future__ import annotations

from contextlib import closing

import h5py
import numpy as np
import pytest

from loader_service.errors import CatalogError
from tests.public_layouts.pictures import jpegs
from tests.support.catalogs import catalog_of, declared_catalog

_START, _STEP = 1403636579763555584, 50_000_000
_FIELDS = (
    'field = [{name = "left", kind = "image", dataset = "left"}, {name = "right", kind = "image", dataset = "right"}]'
)


def _write(path, times):
    with h5py.File(path, "w") as root:
        for camera, numbers in times.items():
            for number, jpeg in zip(numbers, jpegs(len(camera), len(numbers)), strict=True):
                root[f"{camera}/{_START + _STEP * number}.png"] = np.frombuffer(jpeg, np.uint8)
        root["imu"] = np.zeros((len(next(iter(times.values()))), 6))


def _without(count, *lost):
    return [number for number in range(count) if number not in lost]


def test_cameras_that_lost_another_frame_each_have_a_line_with_the_first_two_that_do_not_pair(tmp_path):
    _write(tmp_path / "a.h5", {"left": _without(12, 3), "right": _without(12, 8)})
    with closing(catalog_of(tmp_path)) as found:
        assert found.frame_counts.tolist() == [11]
        (line,) = [line for line in found.left_out if "not by the times that they are called" in line]
    assert f"'left/{_START + 4 * _STEP}.png' is beside 'right/{_START + 3 * _STEP}.png'" in line
    assert "10 of their 11 and 11 times are the same" in line


def test_cameras_of_the_same_times_have_no_line(tmp_path):
    _write(tmp_path / "a.h5", {"left": range(12), "right": range(12)})
    with closing(catalog_of(tmp_path)) as found:
        assert not [line for line in found.left_out if "by the times" in line]


@pytest.mark.parametrize("lost", [3, 11])
def test_the_shortest_camera_ends_a_video_only_where_its_times_are_those_of_the_others(tmp_path, lost):
    _write(tmp_path / "a.h5", {"left": range(12), "right": _without(12, lost)})
    schema = f'videos = "files"\nlengths = "shortest"\n{_FIELDS}'
    if lost == 11:
        with closing(declared_catalog(tmp_path, schema)) as found:
            assert found.frame_counts.tolist() == [11]
        return
    with pytest.raises(CatalogError, match="expected frames of the same numbers, or times, in the fields"):
        declared_catalog(tmp_path, schema)
