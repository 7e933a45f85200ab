"""Groups that are called as fields are, with a dataset of each name: fields of one sample, or video, by plain names."""

from __future__ import annotations

from contextlib import closing

import h5py
import numpy as np
import pytest

from loader_service.errors import CatalogError
from loader_service.worker.reader import Reader
from tests.catalog.advice import schemas_in
from tests.public_layouts.robots import numbers
from tests.support.catalogs import catalog_of, declared_catalog, names_of

_NAMES = ("anna", "bert", "carl.jpg")


def _sides(number, *, equal):
    return (20, 24) if equal else (20 + number, 24 + 2 * number)


@pytest.mark.parametrize("equal", [True, False], ids=["one size", "sizes"])
def test_masks_and_depth_by_plain_names_beside_pictures_are_their_fields(tmp_path, equal):
    masks, depths = {}, {}
    with h5py.File(tmp_path / "a.h5", "w") as root:
        for number, name in enumerate(_NAMES):
            height, width = _sides(number, equal=equal)
            root[f"image/{name}"] = np.full((height, width, 3), number, np.uint8)
            root[f"seg/{name}"] = masks[name] = np.full((height, width), 10 + number, np.uint16)
            root[f"depth/{name}"] = depths[name] = numbers(number, 2, width, height)
    with closing(catalog_of(tmp_path)) as found, closing(Reader(found)) as reader:
        assert names_of(found) == [f"image/{name}" for name in _NAMES]
        assert {field.name: field.kind for field in found.fields} == {
            "frames": "image",
            "seg": "array",
            "depth": "array",
        }
        for video, name in enumerate(_NAMES):
            for field, values in (("seg", masks[name]), ("depth", depths[name])):
                out = np.zeros((1, *values.shape), values.dtype)
                reader.read_array(video, field, 0, out)
                np.testing.assert_array_equal(out[0], values)


@pytest.mark.parametrize("groups", [("images", "notes"), ("cats", "dogs")], ids=" ".join)
def test_maps_by_plain_names_in_groups_that_are_not_called_as_fields_are_left_out_with_a_line(tmp_path, groups):
    with h5py.File(tmp_path / "a.h5", "w") as root:
        for name in _NAMES:
            root[f"{groups[0]}/{name}"] = np.zeros((20, 24, 3), np.uint8)
            root[f"{groups[1]}/{name}"] = np.zeros((20, 24), np.uint8)
    with closing(catalog_of(tmp_path)) as found:
        assert [field.name for field in found.fields] == ["frames"]
        assert len(found.left_out) == len(_NAMES)


def test_two_streams_of_one_length_by_plain_names_are_asked_about_with_a_field_in_each_group_first(tmp_path):
    arrays = {}
    with h5py.File(tmp_path / "a.h5", "w") as root:
        for place, group in enumerate(("flow", "rgb")):
            for number, name in enumerate(("v_abc", "v_def", "v_xyz")):
                arrays[group, name] = numbers(10 * place + number, (4, 4, 6)[number], 32)
                root[f"{group}/{name}"] = arrays[group, name]
    with pytest.raises(CatalogError, match="videos with a field in each group") as asked:
        catalog_of(tmp_path)
    schema, *_ = schemas_in(str(asked.value))
    with closing(declared_catalog(tmp_path, schema)) as found, closing(Reader(found)) as reader:
        assert found.frame_counts.tolist() == [4, 4, 6]
        assert {field.name for field in found.fields} == {"flow", "rgb"}
        for field in ("flow", "rgb"):
            out = np.zeros((6, 32), np.float32)
            reader.read_array(2, field, 0, out)
            np.testing.assert_array_equal(out, arrays[field, "v_xyz"])
