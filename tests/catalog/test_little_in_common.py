"""Files of which most is not in all of them are refused, with a schema for what is: numbers in names, or the rest."""

from __future__ import annotations

from contextlib import closing

import h5py
import numpy as np
import pytest

from loader_service.errors import CatalogError
from tests.catalog.advice import run_command_in, schemas_in
from tests.public_layouts.pictures import jpegs, pixels, write_vlen
from tests.support.catalogs import catalog_of, declared_catalog


def _fields(tmp_path, schema):
    with closing(declared_catalog(tmp_path, schema)) as found:
        return {field.name: field.shape for field in found.fields}, found.frame_counts.tolist()


@pytest.mark.parametrize("axes", [("xcoor", "ycoor"), ()])
def test_a_field_with_another_number_in_each_file_is_asked_for(tmp_path, axes):
    for number in range(3):
        with h5py.File(tmp_path / f"{number}.h5", "w") as root:
            root[f"Velocity_{number + 1:04}"] = np.full((6, 8, 8, 3), number, np.float32)
            for name in axes:
                root[name] = np.arange(6.0)
    with pytest.raises(CatalogError, match="of whatever number in each file") as said:
        catalog_of(tmp_path)
    numbered, *rest = schemas_in(str(said.value))
    assert _fields(tmp_path, numbered) == ({"Velocity": (8, 8, 3)}, [6, 6, 6])
    assert [_fields(tmp_path, each) for each in rest] == [(dict.fromkeys(axes, ()), [6, 6, 6])] * bool(axes)


def test_images_in_another_form_in_each_file_are_not_left_out(tmp_path):
    for number in range(2):
        with h5py.File(tmp_path / f"{number}.h5", "w") as root:
            for video in ("v0", "v1"):
                root[f"{video}/act"] = np.zeros((6, 2))
                if number:
                    root[f"{video}/rgb"] = pixels(number, 6)
                else:
                    write_vlen(root[video], "rgb", jpegs(number, 6))
    with pytest.raises(CatalogError, match=r"most of its bytes in 'v0/rgb' .*which are no field of all files") as said:
        catalog_of(tmp_path)
    (rest,) = schemas_in(str(said.value))
    assert _fields(tmp_path, rest) == ({"act": (2,)}, [6] * 4)


def test_what_few_files_have_more_is_left_out_with_a_line(tmp_path):
    for number in range(3):
        with h5py.File(tmp_path / f"{number}.h5", "w") as root:
            root["x"] = np.zeros((6, 4))
            if number:
                root["extra"] = np.zeros((6, 400))
    with closing(catalog_of(tmp_path)) as found:
        assert [field.name for field in found.fields] == ["x"]
        assert any("'extra': not in" in line for line in found.left_out)


def test_a_question_about_several_files_shows_a_schema_that_works_on_them(tmp_path):
    with h5py.File(tmp_path / "a.h5", "w") as root:
        for number in range(2):
            root[f"v{number}/x"], root[f"v{number}/alpha"] = np.zeros((4 + number, 2)), np.zeros((4 + number, 30))
    with h5py.File(tmp_path / "b.h5", "w") as root:
        root["v0/x"], root["v0/beta"], root["v1/beta"] = np.zeros((4, 2)), np.zeros((4, 30)), np.zeros((5, 30))
        root["v1/x"] = np.zeros((5, 2))
    with pytest.raises(CatalogError, match="which are no field of all files") as error:
        catalog_of(tmp_path)
    (schema,) = schemas_in(str(error.value))
    with closing(declared_catalog(tmp_path, schema)) as found:
        assert found.frame_counts.tolist() == [4, 5, 4, 5]


def test_a_schema_of_the_first_file_alone_is_not_shown(tmp_path):
    for file, videos in (("a", [""]), ("b", ["v0/", "v1/"])):
        with h5py.File(tmp_path / f"{file}.h5", "w") as root:
            for video in videos:
                write_vlen(root, f"{video}frames", jpegs(1, 5))
                root[f"{video}x"], root[f"{video}{file}"] = np.zeros((5, 2)), np.zeros((5, 900))
    with pytest.raises(CatalogError, match="which are no field of all files") as error:
        catalog_of(tmp_path)
    assert "`videos =" not in str(error.value)
    assert "--source" in str(error.value)


def test_numbered_pictures_that_all_files_have_are_offered_as_frames_and_not_as_rows_of_the_first(tmp_path):
    for number in range(2):
        with h5py.File(tmp_path / f"{number}.h5", "w") as root:
            for frame in range(6 + number):
                root[f"v/frame_{frame:03d}"] = np.full((16, 24), frame, np.uint8)
                root[f"v/map{number}_{frame:03d}"] = np.full((64, 64 + number), frame, np.uint8)
    with pytest.raises(CatalogError, match="which are no field of all files") as said:
        catalog_of(tmp_path)
    served = [_fields(tmp_path, each) for each in schemas_in(str(said.value))]
    assert ({"frame": (16, 24)}, [6, 7]) in served
    assert all(counts == [6, 7] for _, counts in served)


def test_files_that_hold_parts_of_the_same_rows_have_the_command_that_joins_them(tmp_path):
    pictures = np.zeros((5, 12, 16), np.float16)
    parts = {"depth_map": {"data": pictures}, "labels": {"masks": pictures.astype(np.int8)}}
    for name, datasets in parts.items():
        with h5py.File(tmp_path / f"{name}.h5", "w") as root:
            root["id"] = np.arange(5)
            for inner, values in datasets.items():
                root[inner] = values
    with pytest.raises(CatalogError, match="most of its bytes in") as said:
        catalog_of(tmp_path)
    run_command_in(str(said.value), tmp_path / "new")
    with closing(catalog_of(tmp_path, tmp_path / "new/joined.h5")) as found:
        assert {"data", "masks"} <= {field.name for field in found.fields}
        assert found.frame_count == 5
