"""Datasets that are an image each are frames where their names count, and images of their own where they do not."""

from __future__ import annotations

import h5py
import numpy as np
import pytest

from loader_service.errors import CatalogError
from tests.support.catalogs import catalog_of, frames_of, names_of
from tests.support.videos import frame_jpeg


def write_images(path, names, kind=np.void):
    """Write a JPEG by each name; the sides of each are its own."""
    images = [frame_jpeg(number, 16 + 8 * number, 24) for number in range(len(names))]
    with h5py.File(path, "w") as file:
        for name, image in zip(names, images, strict=True):
            file[name] = np.frombuffer(image, np.uint8) if kind is np.uint8 else kind(image)
    return images


@pytest.mark.parametrize("kind", [np.void, np.bytes_, np.uint8])
@pytest.mark.parametrize(
    "names", [("ISIC_0015670", "ISIC_0015845", "ISIC_0082829"), ("cat/a", "cat/b", "dog/a"), ("x/7", "x/9", "x/31")]
)
def test_ids_and_names_are_images_of_their_own(tmp_path, names, kind):
    images = write_images(tmp_path / "a.h5", names, kind)
    catalog = catalog_of(tmp_path)
    assert names_of(catalog) == list(names)
    assert [frames_of(catalog, video) for video in range(len(names))] == [[image] for image in images]


@pytest.mark.parametrize(
    "names",
    [
        ("v/0", "v/1", "v/2"),
        ("v/frame_01", "v/frame_02", "v/frame_03"),
        ("v/0.jpg", "v/10.jpg", "v/20.jpg"),
        ("v/120", "v/121", "v/122"),
    ],
)
def test_numbers_that_count_are_frames(tmp_path, names):
    images = write_images(tmp_path / "a.h5", names)
    catalog = catalog_of(tmp_path)
    assert [frames_of(catalog, video) for video in range(catalog.video_count)] == [images]


def test_numbers_with_gaps_are_frames_if_the_user_says_so(tmp_path):
    images = write_images(tmp_path / "a.h5", ("x/7", "x/9", "x/31"))
    catalog = catalog_of(tmp_path, frames="x")
    assert [frames_of(catalog, video) for video in range(catalog.video_count)] == [images]


def test_two_sequences_in_one_group_are_refused_with_the_pattern_that_names_one(tmp_path):
    names = [f"v/{side}_{number}" for side in ("left", "right") for number in range(3)]
    images = write_images(tmp_path / "a.h5", names)
    with pytest.raises(CatalogError, match=r"'left_#' and 'right_#'.* --frames '\*/left_\*'"):
        catalog_of(tmp_path)
    assert frames_of(catalog_of(tmp_path, frames="*/left_*"), 0) == images[:3]
