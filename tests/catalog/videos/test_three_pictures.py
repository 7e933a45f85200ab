"""Three grey pictures, ``(3, H, W)``, are no picture in three colours where a list, or their name, counts them."""

from __future__ import annotations

from contextlib import closing

import h5py
import numpy as np
import pytest

from loader_service.errors import CatalogError
from tests.catalog.advice import schemas_in
from tests.support.catalogs import catalog_of, declared_catalog

_THREE = np.arange(3 * 64 * 16).reshape(3, 64, 16).astype(np.uint8)


def _write(tmp_path, **datasets):
    with h5py.File(tmp_path / "a.h5", "w") as root:
        for name, values in datasets.items():
            root[name] = values


@pytest.mark.parametrize(
    "datasets",
    [
        {"dt": _THREE, "gt": np.array([b"one", b"two", b"three"])},
        {"dt": _THREE, "number": np.arange(3)},
        {"images": _THREE},
        {"image": _THREE, "mask": _THREE // 128},
        {"volume": _THREE.astype(np.float32), "mask": _THREE // 128},
    ],
    ids=["texts", "numbers", "plural", "masks", "volume"],
)
def test_three_pictures_that_may_be_colours_are_asked_about(tmp_path, datasets):
    _write(tmp_path, **datasets)
    with pytest.raises(CatalogError, match="whose first axis may be time, or one of a picture's") as asked:
        catalog_of(tmp_path)
    _check(tmp_path, asked)


def _check(tmp_path, asked):
    for schema, count in zip(schemas_in(str(asked.value)), (3, 1), strict=True):
        with closing(declared_catalog(tmp_path, schema)) as found:
            assert found.frame_count == count


@pytest.mark.parametrize("names", [("images_test", "masks_test"), ("test_images",), ("image_test", "mask_test")])
@pytest.mark.parametrize("kind", [np.uint8, np.float32])
def test_three_pictures_of_a_split_are_asked_about_as_they_are_without_its_word(tmp_path, names, kind):
    pictures = {name: _THREE.astype(np.uint8 if "mask" in name else kind) for name in names}
    others = {name.replace("test", "train"): np.concatenate([each] * 2) for name, each in pictures.items()}
    _write(tmp_path, **pictures, **others)
    with pytest.raises(CatalogError, match="whose first axis may be time, or one of a picture's") as asked:
        catalog_of(tmp_path, split="test")
    _check(tmp_path, asked)
    with closing(catalog_of(tmp_path, split="train")) as found:
        assert found.frame_count == 6


@pytest.mark.parametrize("name", ["labels", "y_test", "target"])
def test_three_pictures_with_three_labels_are_rows(tmp_path, name):
    _write(tmp_path, **{"images": _THREE, name: np.arange(3)})
    with closing(catalog_of(tmp_path)) as found:
        assert (found.kind, found.frame_count) == ("rows", 3)


@pytest.mark.parametrize(
    ("name", "values"),
    [("mean", np.ones(3, np.float32)), ("orig_shape", np.arange(3)), ("channel_names", np.array([b"r", b"g", b"b"]))],
)
def test_what_is_said_of_colours_or_sides_counts_no_pictures(tmp_path, name, values):
    _write(tmp_path, image=_THREE, **{name: values})
    with closing(catalog_of(tmp_path)) as found:
        assert (found.frame_count, found.fields[0].shape) == (1, (3, 64, 16))
