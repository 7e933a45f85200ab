"""Lines and refusals of arrays that lie the other way round name the axis that is meant, and classes are no samples."""

from __future__ import annotations

from contextlib import closing

import h5py
import numpy as np
import pytest

from loader_service.errors import CatalogError
from tests.catalog.advice import schemas_in
from tests.public_layouts.pictures import pixels
from tests.support.catalogs import catalog_of, declared_catalog


def _write(directory, datasets):
    with h5py.File(directory / "a.h5", "w") as root:
        for name, values in datasets.items():
            root[name] = values
    return directory


def _lines(directory):
    with closing(catalog_of(directory)) as found:
        return [line for line in found.left_out if "(axes)" in line.partition(":")[0]], list(found.left_out)


def test_names_of_classes_count_no_samples(tmp_path):
    hot = np.eye(5, dtype=bool)[np.arange(8) % 5]
    names = np.array(["a", "b", "c", "d", "e"], h5py.string_dtype())
    axes, _ = _lines(_write(tmp_path, {"images": pixels(0, 8, 16, 16), "category": hot, "category_names": names}))
    assert not axes


def test_colours_of_several_cameras_count_no_samples(tmp_path):
    names = np.array(["left", "right", "top"], h5py.string_dtype())
    images = np.stack([pixels(number, 3, 16, 24) for number in range(4)])
    axes, _ = _lines(_write(tmp_path, {"images": images, "action": np.zeros((4, 3)), "camera_names": names}))
    assert not axes


def test_a_list_of_as_many_as_the_last_axis_still_has_a_line(tmp_path):
    axes, _ = _lines(_write(tmp_path, {"spectra": np.zeros((8, 5)), "wavelengths": np.arange(5.0)}))
    assert any("'wavelengths' has 5 entries" in line for line in axes)


@pytest.mark.parametrize(
    ("shape", "axis"), [((24, 32, 10), 2), ((4, 10, 16, 20), 1), ((16, 20, 10, 3), 2)], ids=["last", "second", "third"]
)
def test_labels_of_another_axis_name_it_and_then_each_row_has_one(tmp_path, shape, axis):
    images = np.arange(np.prod(shape)).reshape(shape).astype(np.float32)
    _write(tmp_path, {"images": images, "labels": np.arange(10)})
    with pytest.raises(CatalogError, match=rf"as many as axis {axis} of 'images'.*np.moveaxis\(array, {axis}, 0\)"):
        catalog_of(tmp_path)
    _write(tmp_path, {"images": np.moveaxis(images, axis, 0), "labels": np.arange(10)})
    with closing(catalog_of(tmp_path)) as found:
        assert found.frame_count == 10
        assert {field.name for field in found.fields} >= {"images", "labels"}


def test_labels_of_two_axes_that_are_as_long_name_none(tmp_path):
    _write(tmp_path, {"images": np.zeros((4, 10, 10, 3)), "labels": np.arange(10)})
    with pytest.raises(CatalogError, match="one for each row") as said:
        catalog_of(tmp_path)
    assert "np.moveaxis" not in str(said.value)


def test_one_hot_labels_with_a_column_for_each_row_name_the_transpose(tmp_path):
    hot = np.eye(3, dtype=np.uint8)[:, np.arange(7) % 3]
    datasets = {"images": pixels(0, 7, 16, 16), "labels": hot, "fold": np.arange(7)}
    _, lines = _lines(_write(tmp_path, datasets))
    assert any(line.startswith("'labels'") and "write array.T instead" in line for line in lines)
    (tmp_path / "new").mkdir()
    with closing(catalog_of(_write(tmp_path / "new", datasets | {"labels": hot.T}))) as found:
        assert "labels" in {field.name for field in found.fields}


def test_labels_of_parts_of_a_recording_are_named_as_a_value(tmp_path):
    with h5py.File(tmp_path / "a.h5", "w") as root:
        for number, count in enumerate((5, 5, 3)):
            root[f"id_{number}/data"] = np.zeros(200 + number, np.float32)
            root[f"id_{number}/labels"] = np.full((count, 5), number)
    _, lines = _lines(tmp_path)
    assert any(line.startswith("'labels'") and 'dataset = "{video}/labels"' in line for line in lines)
    schema = """videos = "groups"
field = [
    {name = "data", kind = "array", dataset = "{video}/data"},
    {name = "notes", kind = "value", dataset = "{video}/labels"},
]"""
    with closing(declared_catalog(tmp_path, schema)) as found:
        assert {field.name for field in found.fields} >= {"data", "notes"}


def test_points_that_are_followed_are_a_value_and_do_not_end_videos(tmp_path):
    with h5py.File(tmp_path / "a.h5", "w") as root:
        for number, count in enumerate((5, 7)):
            root[f"vid{number}/video"] = pixels(number, count, 16, 24)
            root[f"vid{number}/points"] = np.zeros((4, count, 2), np.float32)
            root[f"vid{number}/occluded"] = np.zeros((4, count), bool)
    _, lines = _lines(tmp_path)
    assert not any("shortest" in line or "between each two" in line for line in lines)
    assert sum('kind = "value" of it in a --schema' in line for line in lines) == 2
    schema = """videos = "groups"
field = [
    {name = "frames", kind = "image", dataset = "{video}/video"},
    {name = "points", kind = "value", dataset = "{video}/points"},
]"""
    with closing(declared_catalog(tmp_path, schema)) as found:
        assert found.frame_counts.tolist() == [5, 7]
        assert {field.name for field in found.fields} >= {"frames", "points"}


def test_labels_of_the_last_axis_of_films_name_it(tmp_path):
    images = np.arange(3 * 32 * 24 * 10).reshape(3, 32, 24, 10).astype(np.uint8)
    _write(tmp_path, {"images": images, "labels": np.arange(10.0).reshape(1, 10)})
    with pytest.raises(CatalogError, match=r"as many entries as 'labels'.*np.moveaxis\(array, -1, 0\)"):
        catalog_of(tmp_path)
    _write(tmp_path, {"images": np.moveaxis(images, -1, 0), "labels": np.arange(10.0).reshape(1, 10)})
    with closing(catalog_of(tmp_path)) as found:
        assert found.frame_count == 10
        assert {field.name for field in found.fields} >= {"images", "labels"}


def test_pictures_before_their_times_name_the_axis_and_maps_beside_them_are_no_videos(tmp_path):
    images = np.arange(32 * 32 * 9).reshape(32, 32, 9).astype(np.uint8)
    maps = {name: np.zeros((33, 33), np.float32) for name in ("glat", "skymap_alt")}
    _write(tmp_path, maps | {"images": images, "timestamps": np.arange(9)})
    _, lines = _lines(tmp_path)
    assert any(line.startswith("'images'") and "np.moveaxis(array, -1, 0)" in line for line in lines)
    (pairs,) = [line for line in lines if "are served as one sample" in line]
    (schema,) = schemas_in(pairs)
    with closing(declared_catalog(tmp_path, schema)) as found:
        assert [field.name for field in found.fields] == ["glat"]
