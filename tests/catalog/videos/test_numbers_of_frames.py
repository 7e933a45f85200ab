"""Frames that are datasets with a number each pair by their numbers, or what says which numbers are missing."""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING

import h5py
import numpy as np
import pytest

from loader_service.errors import CatalogError
from tests.catalog.advice import schemas_in
from tests.public_layouts.pictures import jpegs
from tests.support.catalogs import catalog_of, declared_catalog

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path


def _write(path: Path, name: str, numbers: Iterable[int], *, raw: bool = False) -> None:
    """Write a picture for each number, as what `name` makes of it."""
    with h5py.File(path, "a") as file:
        for number, jpeg in zip(numbers, jpegs(0, 20), strict=False):
            picture = np.full((24, 32, 3), number, np.uint8) if raw else np.frombuffer(jpeg, np.uint8)
            file[name.format(number)] = picture


def _without(*missing: int) -> list[int]:
    return [number for number in range(12) if number not in missing]


@pytest.mark.parametrize("groups", [("",), ("P01/", "P02/")], ids=["file", "groups"])
@pytest.mark.parametrize("name", ["{}_{{:06d}}.jpg", "{}/{{:06d}}.jpg"], ids=["names", "folders"])
def test_no_schema_pairs_frames_with_masks_of_other_numbers(tmp_path: Path, groups, name) -> None:
    for group in groups:
        for word, numbers in (("frame", _without()), ("mask", _without(3, 7))):
            _write(tmp_path / "a.h5", group + name.format(word), numbers)
    with pytest.raises(
        CatalogError, match=r"mask[^ ]* lacks number 3 and 1 more: to pair them, write in each"
    ) as asked:
        catalog_of(tmp_path)
    assert "shortest" not in str(asked.value)
    for schema in schemas_in(str(asked.value)):
        with closing(declared_catalog(tmp_path, schema)) as catalog:
            assert len(catalog.fields) == 1


def _schema(first: str, second: str, lengths: str) -> str:
    fields = (f'{{name = "{name}", kind = "image", dataset = "{name}_*"}}' for name in (first, second))
    return f'videos = "files"\nlengths = "{lengths}"\nfield = [{", ".join(fields)}]\n'


def test_a_schema_that_ends_with_the_shortest_names_the_numbers_that_are_missing(tmp_path: Path) -> None:
    for word, numbers in (("frame", _without()), ("mask", _without(3, 7))):
        _write(tmp_path / "a.h5", f"{word}_{{:06d}}.jpg", numbers)
    with pytest.raises(
        CatalogError, match=r"found 'mask_000004.jpg' where 'frame_000003.jpg' is: 'mask' lacks number 3"
    ):
        declared_catalog(tmp_path, _schema("frame", "mask", "shortest"))


def test_a_schema_that_ends_with_the_shortest_pairs_what_lacks_the_last_numbers(tmp_path: Path) -> None:
    for word, numbers in (("frame", _without()), ("mask", _without(10, 11))):
        _write(tmp_path / "a.h5", f"{word}_{{:06d}}.jpg", numbers)
    with closing(declared_catalog(tmp_path, _schema("frame", "mask", "shortest"))) as catalog:
        assert catalog.frame_counts.tolist() == [10]
        assert not any("by their numbers" in line for line in catalog.left_out)


@pytest.mark.parametrize("raw", [False, True], ids=["encoded", "raw"])
def test_sequences_that_begin_with_other_numbers_have_a_line(tmp_path: Path, raw) -> None:
    for video in ("P01", "P02"):
        _write(tmp_path / "a.h5", f"{video}/frame/{{:06d}}", range(10), raw=raw)
        _write(tmp_path / "a.h5", f"{video}/mask/{{:06d}}", range(1, 11), raw=raw)
    with closing(catalog_of(tmp_path)) as catalog:
        assert catalog.frame_counts.tolist() == [10, 10]
        (line,) = [line for line in catalog.left_out if "by their numbers" in line]
    assert "'P01/frame/000000' is beside 'P01/mask/000001', in 2 videos" in line
    assert "'frame' lacks number 10 and 'mask' lacks number 0" in line


def test_cameras_that_lost_different_frames_have_a_line_that_says_so(tmp_path: Path) -> None:
    _write(tmp_path / "a.h5", "cam0/{:06d}.jpg", _without(3))
    _write(tmp_path / "a.h5", "cam1/{:06d}.jpg", _without(7))
    with closing(catalog_of(tmp_path)) as catalog:
        (line,) = [line for line in catalog.left_out if "by their numbers" in line]
    assert "'cam0/000004.jpg' is beside 'cam1/000003.jpg', in 1 video: 'cam0' lacks number 3 and 'cam1' la" in line


def test_a_question_about_names_says_that_their_numbers_differ_and_so_does_its_schema(tmp_path: Path) -> None:
    for video in ("ep0", "ep1"):
        _write(tmp_path / "a.h5", f"{video}/cam0_{{:06d}}", _without(3))
        _write(tmp_path / "a.h5", f"{video}/cam1_{{:06d}}", _without(7))
    with pytest.raises(CatalogError, match=r"'cam0_\*' lacks number 3 and 'cam1_\*' lacks number 7") as asked:
        catalog_of(tmp_path)
    schema, *_ = schemas_in(str(asked.value))
    with closing(declared_catalog(tmp_path, schema)) as catalog:
        assert any("'cam0' lacks number 3 and 'cam1' lacks number 7" in line for line in catalog.left_out)


@pytest.mark.parametrize(
    "numbers",
    [(range(0, 1000, 100), range(5, 1005, 100)), (range(10), range(100, 110)), (range(10), range(10))],
    ids=["clocks", "other_counts", "same"],
)
def test_numbers_that_count_nothing_in_common_have_no_line(tmp_path: Path, numbers) -> None:
    for name, each in zip(("left", "right"), numbers, strict=True):
        _write(tmp_path / "a.h5", f"{name}/{{:06d}}.jpg", each)
    with closing(catalog_of(tmp_path)) as catalog:
        assert not any("by their numbers" in line for line in catalog.left_out)
