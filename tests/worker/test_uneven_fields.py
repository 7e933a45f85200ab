"""Volumes, pictures and values whose sides differ: padded, cut by a window, with their real sides beside them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import cv2
import h5py
import numpy as np
import numpy.typing as npt
import pytest

from loader_service.catalog.columns import Catalog
from loader_service.plan.image_draws import ImageDraws
from loader_service.plan.randomness import Purpose, draws
from loader_service.plan.window_cuts import corner
from loader_service.protocol.fields import CatalogField
from loader_service.protocol.spec import Clip, Frame, Image, Spec
from loader_service.protocol.windows import Window
from loader_service.schema import Schema, SchemaField
from loader_service.worker import uneven_fields
from loader_service.worker.image import ImageWriter
from loader_service.worker.reader import Reader
from tests.support.catalogs import catalog_of
from tests.support.videos import frame_image, frame_jpeg
from tests.worker.filling import filled

#: Of three volumes; the longest of each side are another's.
SIDES = ((20, 12, 8), (16, 14, 8), (18, 12, 9))
MOST = (20, 14, 9)
SCHEMA = Schema(("files",), tuple(SchemaField(name, "array", (name,), "", (0, 0, 0)) for name in ("image", "label")))


def volume(number: int) -> npt.NDArray[np.float32]:
    return np.random.default_rng(number).standard_normal(SIDES[number]).astype(np.float32)


@pytest.fixture(scope="module")
def volumes(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Write a file a volume with its mask, chunked, compressed or neither."""
    folder = tmp_path_factory.mktemp("volumes")
    storage: list[dict[str, Any]] = [{}, {"chunks": (4, 4, 4)}, {"compression": "gzip"}]
    for number, options in enumerate(storage):
        with h5py.File(folder / f"v{number}.h5", "w") as file:
            file.create_dataset("image", data=volume(number), **options)
            file.create_dataset("label", data=(volume(number) > 0).astype(np.uint8), **options)
    return folder


@pytest.fixture(scope="module")
def catalog(volumes: Path) -> Catalog:
    return catalog_of(volumes, schema=SCHEMA)


def padded(array: npt.NDArray[Any], shape: tuple[int, ...]) -> npt.NDArray[Any]:
    made = np.zeros(shape, array.dtype)
    cut = array[tuple(map(slice, shape))]
    made[tuple(map(slice, cut.shape))] = cut
    return made


def test_a_volume_a_file_is_padded_with_its_shape_beside_it(catalog: Catalog) -> None:
    assert catalog.field("image") == CatalogField("image", "array", "float32", (0, 0, 0), most=MOST)
    got = filled(catalog, Spec(3, Frame(), fields=("image", "image_shape", "label")), range(3))
    np.testing.assert_array_equal(got["image"], [padded(volume(number), MOST) for number in range(3)])
    np.testing.assert_array_equal(got["label"], [padded(volume(number) > 0, MOST) for number in range(3)])
    assert got["image_shape"].tolist() == [list(sides) for sides in SIDES]


def test_rows_of_files_that_differ_are_slices_with_their_shapes(volumes: Path) -> None:
    catalog = catalog_of(volumes)
    assert (catalog.kind, catalog.field("image").most) == ("rows", (14, 9))
    got = filled(catalog, Spec(4, Clip(2, stride=3, sampling="start"), fields=("image", "image_shape")), range(3))
    for number in range(3):
        expected = [padded(volume(number)[row], (14, 9)) for row in (0, 3)]
        np.testing.assert_array_equal(got["image"][number], expected)
        assert got["image_shape"][number].tolist() == [list(SIDES[number][1:])] * 2


@pytest.mark.parametrize("crop", ["start", "center"])
def test_a_window_cuts_what_is_larger_and_leaves_zeros_behind_what_is_smaller(catalog: Catalog, crop: Any) -> None:
    windows = (Window("image", (17, None, 6), crop),)
    got = filled(catalog, Spec(3, Frame(), fields=("image", "image_shape"), windows=windows), range(3))
    for number, sides in enumerate(SIDES):
        top, back = (max(0, sides[axis] - room) // 2 * (crop == "center") for axis, room in ((0, 17), (2, 6)))
        expected = padded(volume(number)[top:, :, back:], (17, 14, 6))
        np.testing.assert_array_equal(got["image"][number], expected)
        assert got["image_shape"][number].tolist() == [min(sides[0], 17), sides[1], 6]


def test_a_random_window_cuts_an_image_and_its_mask_alike_and_moves_with_the_epoch(catalog: Catalog) -> None:
    size = (10, 10, 6)
    windows = tuple(Window(name, size, "random") for name in ("image", "label"))
    spec = Spec(3, Frame(), fields=("image", "label"), windows=windows, seed=3)
    corners = set()
    for epoch in range(3):
        got = filled(catalog, spec, range(3), epoch=epoch)
        for number, sides in enumerate(SIDES):
            words = [int(draws(3, epoch, np.array([number]), Purpose[f"WINDOW_{axis}"])[0]) for axis in range(3)]
            begin = [word * (side - room + 1) >> 64 for word, side, room in zip(words, sides, size, strict=True)]
            cut = tuple(slice(first, first + room) for first, room in zip(begin, size, strict=True))
            np.testing.assert_array_equal(got["image"][number], volume(number)[cut])
            np.testing.assert_array_equal(got["label"][number], volume(number)[cut] > 0)
            corners.add((number, *begin))
    assert len(corners) == 9


@pytest.mark.parametrize("shape", [(40, 90, 80), (2, 40, 90, 80)])
@pytest.mark.parametrize("storage", [{}, {"compression": "gzip", "chunks": True}], ids=["plain", "compressed"])
def test_large_volumes_are_read_by_their_lines_with_the_bytes_of_whole_ones(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, shape: tuple[int, ...], storage: dict[str, Any]
) -> None:
    with h5py.File(tmp_path / "a.h5", "w") as file:
        file.create_dataset("values", data=np.arange(np.prod(shape), dtype=np.int32).reshape(shape), **storage)
    whole = Schema(("files",), (SchemaField("values", "array", ("values",), "", (0, 0, 0)),))
    catalog = catalog_of(tmp_path, schema=whole)
    spec = Spec(2, Clip(2), fields=("values", "values_shape"), windows=(Window("values", (7, 200, 30), "random"),))
    with monkeypatch.context() as patched:
        patched.setattr(Reader, "read_array", _read_whole)
        fast = [filled(catalog, spec, [0], epoch=epoch)["values"][0] for epoch in range(4)]
    monkeypatch.setattr(uneven_fields, "_LINES_ABOVE_BYTES", 2**40)
    plain = [filled(catalog, spec, [0], epoch=epoch)["values"][0] for epoch in range(4)]
    np.testing.assert_array_equal(fast, plain)
    assert len({values[0, 0, 0, 0].item() for values in plain}) == 4


def _read_whole(*_: object) -> None:
    raise AssertionError("a whole volume is read")


def test_arrays_of_one_shape_can_be_cut_too(tmp_path: Path) -> None:
    values = np.arange(5 * 6 * 7, dtype=np.int32).reshape(5, 6, 7)
    with h5py.File(tmp_path / "a.h5", "w") as file:
        file["values"] = values
    spec = Spec(5, Frame(), fields=("values",), windows=(Window("values", (3, 10), "center"),))
    got = filled(catalog_of(tmp_path), spec, range(5))
    np.testing.assert_array_equal(got["values"], [padded(row[1:], (3, 10)) for row in values])


def test_a_place_of_a_random_window_is_even_over_what_is_left() -> None:
    word = 2**64 // 3
    assert corner((10, 4, 7), (10, 6, 3), "random", (word, word, word)) == (0, 0, 5 * word >> 64)
    assert corner((10, 4, 7), (7, 6, 3), "center", ()) == (1, 0, 2)


# --- pictures


PICTURES = ((20, 30), (33, 18), (24, 24))


@pytest.fixture(scope="module")
def pictures(tmp_path_factory: pytest.TempPathFactory) -> Catalog:
    """Scan raw pictures of different sides, one a video."""
    folder = tmp_path_factory.mktemp("pictures")
    with h5py.File(folder / "a.h5", "w") as file:
        for number, sides in enumerate(PICTURES):
            picture = file.create_dataset(f"data/{number}.jpg", data=frame_image(number, *sides))
            picture.attrs["boxes"] = np.full((number, 4), number, np.float32)
    return catalog_of(folder)


@pytest.mark.parametrize(
    "image", [Image(size=(16, 16)), Image(size=16, crop="center"), Image(size=(12, 12), crop="random", flip=True)]
)
def test_raw_pictures_of_any_sides_are_scaled_and_cut_as_jpegs_are(pictures: Catalog, image: Image) -> None:
    assert pictures.field("frames") == CatalogField("frames", "image", "uint8", (0, 0, 3))
    got = filled(pictures, Spec(3, Frame(), image, fields=("frames",), seed=2), range(3))
    side = got["frames"].shape[1]
    writer = ImageWriter(image, (side, side, 3))
    for number, sides in enumerate(PICTURES):
        purposes = (Purpose.CROP_TOP, Purpose.CROP_LEFT, Purpose.FLIP)
        top, left, flip = (int(draws(2, 0, np.array([number]), purpose)[0]) for purpose in purposes)
        drawn = ImageDraws((top, left), image.flip and bool(flip >> 63))
        expected = np.empty((side, side, 3), np.uint8)
        writer.write_pixels(frame_image(number, *sides), expected, drawn)
        np.testing.assert_array_equal(got["frames"][number], expected)


def test_values_whose_sides_differ_are_padded_with_their_length_beside_them(pictures: Catalog) -> None:
    assert pictures.field("boxes") == CatalogField("boxes", "value", "float32", (0, 4), most=(2, 4))
    got = filled(pictures, Spec(3, Frame(), fields=("boxes", "boxes_length")), range(3))
    assert got["boxes_length"].tolist() == [0, 1, 2]
    assert got["boxes"].sum(axis=(1, 2)).tolist() == [0, 4, 16]
    cut = Spec(3, Frame(), fields=("boxes_length", "boxes"), windows=(Window("boxes", (1, 3)),))
    got = filled(pictures, cut, range(3))
    assert got["boxes_length"].tolist() == [0, 1, 1]
    assert got["boxes"].tolist() == [[[0] * 3], [[1] * 3], [[2] * 3]]


# --- what lies beside single pictures


@pytest.mark.parametrize("together", [True, False])
def test_boxes_and_classes_of_each_picture_are_lists_however_many_there_are(tmp_path: Path, together: bool) -> None:
    counts = (2, 0, 1, 3)
    for number, count in enumerate(counts):
        path = tmp_path / ("a.h5" if together else f"{number}.h5")
        with h5py.File(path, "a") as file:
            group = file.create_group(f"image{number}")
            group["picture"] = np.frombuffer(frame_jpeg(number), np.uint8)
            group["boxes"] = np.full((count, 4), number + 1, np.float32)
            group["labels"] = np.arange(count)
    catalog = catalog_of(tmp_path)
    found = {field.name: (field.shape, field.most) for field in catalog.fields if field.kind == "array"}
    assert found == {"boxes": ((0, 4), (3, 4)), "labels": ((0,), (3,))}
    got = filled(catalog, Spec(4, Frame(), fields=("boxes", "boxes_length", "labels", "labels_length")), range(4))
    assert got["boxes_length"].tolist() == got["labels_length"].tolist() == list(counts)
    assert got["boxes"][:, :, 0].tolist() == [[1, 1, 0], [0, 0, 0], [3, 0, 0], [4, 4, 4]]
    assert got["labels"].tolist() == [[0, 1, 0], [0, 0, 0], [0, 0, 0], [0, 1, 2]]
    assert not got.bad


def test_lists_beside_stored_pictures_are_fields_of_a_table(tmp_path: Path) -> None:
    with h5py.File(tmp_path / "a.h5", "w") as file:
        file["images"] = np.stack([frame_image(number, 24, 32) for number in range(3)])
        boxes = file.create_dataset("boxes", (3,), h5py.vlen_dtype(np.int32))
        boxes[0], boxes[2] = [1, 2], [3]
    catalog = catalog_of(tmp_path)
    assert catalog.kind == "rows"
    got = filled(catalog, Spec(3, Frame(), fields=("images", "boxes", "boxes_length")), range(3))
    assert got["boxes"].tolist() == [[1, 2], [0, 0], [3, 0]]
    np.testing.assert_array_equal(got["images"][1], frame_image(1, 24, 32))


def test_depth_maps_of_any_size_are_padded_arrays(tmp_path: Path) -> None:
    sizes = ((24, 32), (20, 40))
    depths = [
        np.random.default_rng(number).integers(0, 9000, size).astype(np.uint16) for number, size in enumerate(sizes)
    ]
    for number, depth in enumerate(depths):
        with h5py.File(tmp_path / f"{number}.h5", "w") as file:
            file["rgb"] = np.stack([frame_image(frame, 24, 32) for frame in range(2)])
            frames = file.create_dataset("depth", (2,), h5py.vlen_dtype(np.uint8))
            for frame in range(2):
                frames[frame] = cv2.imencode(".png", depth + frame)[1].reshape(-1)
    catalog = catalog_of(tmp_path)
    assert catalog.field("depth") == CatalogField("depth", "array", "uint16", (0, 0), most=(24, 40))
    got = filled(catalog, Spec(2, Clip(2), fields=("depth", "depth_shape")), range(2))
    for number, depth in enumerate(depths):
        np.testing.assert_array_equal(got["depth"][number], [padded(depth + frame, (24, 40)) for frame in range(2)])
        assert got["depth_shape"][number].tolist() == [list(sizes[number])] * 2
