"""What `inspect --toml` says of one file serves its siblings: same layout, other names, numbers, lengths and values."""

from __future__ import annotations

import re
import shutil
from contextlib import closing
from pathlib import Path

import h5py
import numpy as np
import pytest

from loader_service.catalog.columns import Catalog
from loader_service.catalog.schema_text import schema_toml
from loader_service.errors import CatalogError
from loader_service.worker.reader import Reader
from tests.public_layouts.expectations import Case, Serves
from tests.public_layouts.not_yet import NOT_YET
from tests.public_layouts.pictures import jpegs, pixels, write_vlen
from tests.public_layouts.reading import files_of
from tests.public_layouts.table import TABLE
from tests.support.catalogs import catalog_of, names_of

#: A name that only its number at the end tells apart from others.
#: A camera, agent, set, or channel, keeps its number.
_NUMBERED = re.compile(r"(?!image_|cam|agent_|set\.|Channel )(\D*)([0-9]+)")


@pytest.mark.parametrize("case", [pytest.param(each, id=each.name) for each in TABLE.values() if each.may_be_served])
def test_a_schema_that_is_printed_of_a_file_serves_its_siblings(tmp_path: Path, case: Case) -> None:
    layout = case.write(tmp_path / "written")
    if case.name in NOT_YET or not isinstance(layout.undeclared, Serves):
        pytest.skip("not served without a schema, or not as expected")
    files = files_of(tmp_path / "written", layout)
    siblings = [*files, _renamed(files[0], tmp_path / "renamed")]
    try:
        first = catalog_of(tmp_path, files[0])
    except CatalogError:
        assert layout.undeclared.otherwise is not None
        pytest.skip("refused, which is as good")
    (tmp_path / "schema.toml").write_text(schema_toml(first), encoding="utf-8")
    first.close()
    for sibling in siblings:
        with closing(catalog_of(tmp_path, sibling)) as found:
            wrong = _difference(found, tmp_path, sibling)
        if wrong:
            pytest.fail(wrong, pytrace=False)


@pytest.mark.parametrize("cameras", [("agent",), ("agent", "wrist"), ("cam0", "cam1")])
def test_a_file_with_one_numbered_group_serves_siblings_with_another_number(
    tmp_path: Path, cameras: tuple[str, ...]
) -> None:
    for number, frames in ((0, 4), (7, 6)):
        with h5py.File(tmp_path / "written" / f"{number}.h5", "w") as file:
            demo = file.create_group(f"data/demo_{number}")
            for camera in cameras:
                write_vlen(demo.require_group("obs"), camera, jpegs(number, frames))
            demo["actions"] = np.full((frames, 2), number, np.float32)
    first, second = (tmp_path / "written" / f"{number}.h5" for number in (0, 7))
    _check_sibling(tmp_path, first, second)


def test_a_schema_of_one_row_serves_siblings_whose_row_is_longer(tmp_path: Path) -> None:
    for number, count in ((0, 4), (1, 6)):
        with h5py.File(tmp_path / "written" / f"{number}.h5", "w") as file:
            file["images"], file["actions"] = np.zeros((1, count, 16, 20, 3), np.uint8), np.zeros((1, count, 7))
            file["rewards"] = np.zeros((1, count))
    first, second = (tmp_path / "written" / f"{number}.h5" for number in (0, 1))
    _check_sibling(tmp_path, first, second)


def test_a_schema_of_pictures_serves_siblings_of_other_lengths_and_sides(tmp_path: Path) -> None:
    for number, (count, height, width) in enumerate(((4, 24, 32), (7, 30, 20))):
        with h5py.File(tmp_path / "written" / f"{number}.h5", "w") as file:
            for video in range(2 + number):
                group = file.create_group(f"v{video}")
                group["frames"] = pixels(number + video, count + video, height, width)
                group["depth"] = np.full((count + video, height, width), video, np.uint16)
                group["intrinsics"], group["actions"] = np.eye(3), np.full((count + video, 7), number, np.float32)
    first, second = (tmp_path / "written" / f"{number}.h5" for number in (0, 1))
    _check_sibling(tmp_path, first, second)
    _check_sibling(tmp_path, second, first)


def test_a_schema_of_vectors_of_one_length_serves_siblings_whose_vectors_are_longer(tmp_path: Path) -> None:
    for number, (length, boxes) in enumerate(((7, 5), (8, 9))):
        with h5py.File(tmp_path / "written" / f"{number}.h5", "w") as file:
            for video in range(3):
                group = file.create_group(f"demo_{video}")
                group["frames"] = pixels(number + video, 4 + video, 24, 32)
                group["actions"] = np.full((4 + video, length), video, np.float32)
                group["boxes"] = np.full((4 + video, boxes, 4), video, np.float32)
                group["goal"] = np.full(length, video, np.float32)
    first, second = (tmp_path / "written" / f"{number}.h5" for number in (0, 1))
    _check_sibling(tmp_path, first, second)
    _check_sibling(tmp_path, second, first)


def _check_sibling(folder: Path, first: Path, second: Path) -> None:
    """Fail unless the schema that is printed of a file gives another one's own catalog."""
    with closing(catalog_of(folder, first)) as found:
        (folder / "schema.toml").write_text(schema_toml(found), encoding="utf-8")
    with closing(catalog_of(folder, second)) as found:
        wrong = _difference(found, folder, second)
    if wrong:
        pytest.fail(wrong, pytrace=False)


def _difference(found: Catalog, folder: Path, sibling: Path) -> str:
    """Return what a schema makes of a file otherwise, as text: a traceback would keep its columns mapped."""
    try:
        with closing(catalog_of(folder, sibling, schema=str(folder / "schema.toml"))) as declared:
            _check_alike(found, declared)
    except Exception as error:  # noqa: BLE001 - said by the test
        return f"{sibling.name}: {type(error).__name__}: {error}"
    return ""


@pytest.fixture(autouse=True)
def _folders(tmp_path: Path) -> None:
    (tmp_path / "written").mkdir()
    (tmp_path / "renamed").mkdir()


def _renamed(path: Path, folder: Path) -> Path:
    """Return a copy under another name, whose numbered groups and datasets have other numbers, in the same order."""
    copy = folder / f"other_{path.name}"
    shutil.copy(path, copy)
    with h5py.File(copy, "r+") as file:
        _renumber(file)
    return copy


def _renumber(group: h5py.Group) -> None:
    """Give groups that only their numbers tell apart higher ones."""
    links = [name for name in group if isinstance(group.get(name, getlink=True), h5py.HardLink)]
    found = [_NUMBERED.fullmatch(name) for name in links if isinstance(group[name], h5py.Group)]
    numbered = [(match[1], match[2]) for match in found if match is not None]
    for prefix, digits in sorted(numbered, key=lambda each: -int(each[1])):  # from above, so that none is overwritten
        name, other = f"{prefix}{digits}", f"{prefix}{int(digits) + 30:0{len(digits)}}"
        group.move(name, other)
        for beside in (group[each] for each in links if each in group and isinstance(group[each], h5py.Group)):
            if isinstance(beside.get(name), h5py.Dataset) and not beside[name].shape:
                beside.move(name, other)  # what is said of a video under its name
    for name in group:
        if isinstance(group.get(name), h5py.Group):
            _renumber(group[name])


def _check_alike(found: Catalog, declared: Catalog) -> None:
    assert {field.name: field for field in declared.fields} == {field.name: field for field in found.fields}
    assert names_of(declared) == names_of(found)
    assert declared.frame_counts.tolist() == found.frame_counts.tolist()
    assert (declared.kind, declared.classes) == (found.kind, found.classes)
    reader, other = Reader(found), Reader(declared)
    try:
        for field in found.fields:
            for video in range(found.video_count):
                _check_field(found, reader, other, field.name, video)
    finally:
        reader.close()
        other.close()


def _check_field(found: Catalog, reader: Reader, other: Reader, name: str, video: int) -> None:
    field, count = found.field(name), int(found.counts_with([name])[video])
    if found.is_encoded(name):
        assert reader.read(video, range(count), name) == other.read(video, range(count), name)
    elif found.has_lists(name):
        one, two = (each.read_lists(video, range(count), name) for each in (reader, other))
        assert list(map(bytes, one)) == list(map(bytes, two))
    elif field.kind != "value":
        one, two = (np.zeros((count, *found.shape_in(video, name)), field.dtype) for _ in range(2))
        reader.read_array(video, name, 0, one)
        other.read_array(video, name, 0, two)
        assert one.tobytes() == two.tobytes()
