"""Files that are no HDF5, and names that no number is made of: what is said of them is what they are."""

from __future__ import annotations

import h5py
import numpy as np
import pytest

from loader_service.errors import CatalogError
from tests.support.catalogs import catalog_of
from tests.support.videos import frame_jpeg


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        ("a.csv", b"video,label\nv0,1\n", r"a text; where it has the labels .* give --labels '.*a\.csv' beside"),
        ("a.txt", ("é" * 600).encode(), "a text; leave it out; `loader-service pack` cannot make HDF5 of it either"),
        ("a.jpg", frame_jpeg(0, 16, 16), "something else .* if it is a picture, film, TFRecord file, tar or LeRobot"),
    ],
)
def test_what_is_no_hdf5_says_what_it_is_and_what_packs_it(tmp_path, name, content, words):
    (tmp_path / name).write_bytes(content)
    with pytest.raises(CatalogError, match=rf"{name}': expected an HDF5 file, got {words}"):
        catalog_of(tmp_path, tmp_path / name)


@pytest.mark.parametrize("place", ["v0/{}", "{}"], ids=["of a group", "of a file"])
def test_a_name_of_more_digits_than_python_reads_is_no_damage(tmp_path, place):
    names = [place.format(f"1{'0' * 4400}{number}") for number in range(3)]
    with h5py.File(tmp_path / "a.h5", "w") as file:
        for number, name in enumerate(names):
            file[name] = np.zeros((5 + number, 24, 32, 3), np.uint8) if "/" in name else np.ones((5 + number, 3))
    with pytest.raises(CatalogError, match=r"a\.h5': a name in it has a number of more digits than Python reads"):
        catalog_of(tmp_path)
    with h5py.File(tmp_path / "a.h5", "r+") as file:
        for number, name in enumerate(names):
            file.move(name, place.format(number))
    catalog_of(tmp_path).close()
