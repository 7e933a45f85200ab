"""Numbers beside a dataset of bytes say where its images begin, or are refused, or are of something else."""

from __future__ import annotations

from contextlib import closing

import h5py
import numpy as np
import pytest

from loader_service.errors import CatalogError
from tests.public_layouts.pictures import jpegs
from tests.support.catalogs import catalog_of, frames_of, names_of


def test_offsets_that_lead_to_no_image_are_refused_by_name(tmp_path):
    frames = jpegs(0, 6)
    with h5py.File(tmp_path / "a.h5", "w") as root:
        root["data"] = np.frombuffer(b"".join(frames), np.uint8)
        root["offsets"] = np.cumsum([0, *map(len, frames)]) + 100
    with pytest.raises(CatalogError, match=r"'offsets': expected the bytes .* images in 'data' begin, found 100"):
        catalog_of(tmp_path)


@pytest.mark.parametrize("chunks", [None, 512])
def test_zeros_behind_the_last_offset_are_no_frame(tmp_path, chunks):
    frames = jpegs(0, 6)
    with h5py.File(tmp_path / "a.h5", "w") as root:
        data = np.frombuffer(b"".join(frames) + bytes(500), np.uint8)
        root.create_dataset("data", data=data, chunks=chunks and (chunks,), compression=chunks and "gzip")
        root["offsets"] = np.cumsum([0, *map(len, frames)])
    with closing(catalog_of(tmp_path)) as found:
        assert frames_of(found, 0) == frames


@pytest.mark.parametrize("odd", [np.inf, np.nan])
@pytest.mark.parametrize("name", ["lengths", "starts"])
def test_a_length_or_place_that_is_no_number_is_named(tmp_path, name, odd):
    frames = jpegs(0, 3)
    lengths = np.array([*map(len, frames)], np.float64)
    with h5py.File(tmp_path / "a.h5", "w") as root:
        root["data"] = np.frombuffer(b"".join(frames), np.uint8)
        root["starts"], root["lengths"] = np.cumsum(lengths) - lengths, lengths
        root[name][2] = odd
    with pytest.raises(CatalogError, match=f"'{name}', entry 2: expected a whole number of bytes, found {odd}"):
        catalog_of(tmp_path)


@pytest.mark.parametrize("sides", [(-1, 1), (1, -1)])
def test_offsets_and_lengths_may_be_a_row_or_a_column(tmp_path, sides):
    frames = jpegs(0, 6)
    offsets = np.cumsum([0, *map(len, frames)])
    with h5py.File(tmp_path / "a.h5", "w") as root:
        for name, numbers in {"bounds": {"offsets": offsets}, "both": {"starts": offsets[:-1]}, "sizes": {}}.items():
            root[f"{name}/data"] = np.frombuffer(b"".join(frames), np.uint8)
            for key, each in (numbers if name == "bounds" else {**numbers, "lengths": np.diff(offsets)}).items():
                root[f"{name}/{key}"] = each.reshape(sides)
    with closing(catalog_of(tmp_path)) as found:
        assert names_of(found) == ["both", "bounds", "sizes"]
        assert [frames_of(found, video) for video in range(3)] == [frames] * 3


def test_one_list_of_starts_beside_frames_of_a_dataset_each_counts_frames(tmp_path):
    frames = {name: jpegs(number, 12) for number, name in enumerate(("v0", "v1"))}
    with h5py.File(tmp_path / "a.h5", "w") as root:
        for name, each in frames.items():
            for number, frame in enumerate(each):
                root[f"{name}/frame_{number}"] = np.frombuffer(frame, np.uint8)
            root[f"{name}/starts"] = np.array([0, 4, 8])
    with closing(catalog_of(tmp_path)) as found:
        assert names_of(found) == [f"{name}/{number}" for name in frames for number in range(3)]
        for video in range(6):
            first = 4 * (video % 3)
            assert frames_of(found, video) == frames[f"v{video // 3}"][first : first + 4]


def test_labels_of_a_byte_share_the_offsets_of_no_frames(tmp_path):
    frames = jpegs(0, 6)
    with h5py.File(tmp_path / "a.h5", "w") as root:
        root["data"], root["offsets"] = np.frombuffer(b"".join(frames), np.uint8), np.cumsum([0, *map(len, frames)])
        root["labels"] = np.arange(6, dtype=np.uint8)
    with closing(catalog_of(tmp_path)) as found:
        assert frames_of(found, 0) == frames
        assert {field.name for field in found.fields} == {"frames", "labels"}


def test_a_place_in_space_beside_a_lone_image_is_its_value(tmp_path):
    (frame,) = jpegs(0, 1)
    with h5py.File(tmp_path / "a.h5", "w") as root:
        root["image"], root["offset"] = np.frombuffer(frame, np.uint8), np.array([10.0, 20.0, 30.0])
    with closing(catalog_of(tmp_path)) as found:
        assert frames_of(found, 0) == [frame]


def test_raw_bytes_in_a_scalar_dataset_each_are_refused_by_name(tmp_path):
    with h5py.File(tmp_path / "a.h5", "w") as root:
        for number in range(4):
            root.create_dataset(f"frame_{number}", (), h5py.vlen_dtype(np.uint8))[()] = np.full(48, 7, np.uint8)
    with pytest.raises(CatalogError, match=r"'frame_0'.*found raw bytes.*write them with their shape"):
        catalog_of(tmp_path)


def test_starts_and_stops_that_stand_for_none_are_columns_of_a_table(tmp_path):
    """Bytes called ``stop`` beside a ``start`` of -1 in all rows were refused as images with offsets."""
    with h5py.File(tmp_path / "a.h5", "w") as file:
        file["stat0"], file["stat1"] = np.ones((12, 3), np.float32), np.ones((12, 5), np.float64)
        file["start"] = file["stop"] = np.full(12, -1, np.int8)
        file["names"] = np.array([b"a"] * 12)
    with closing(catalog_of(tmp_path)) as catalog:
        assert catalog.frame_count == 12
        assert {"stat0", "stat1", "stop"} <= {field.name for field in catalog.fields}


@pytest.mark.parametrize("lists", ["offsets", "ends", "lengths"])
def test_bytes_and_the_list_beside_them_may_have_a_word_in_common(tmp_path, lists):
    frames = {word: jpegs(place, 6) for place, word in enumerate(("front", "wrist"))}
    with h5py.File(tmp_path / "a.h5", "w") as root:
        for word, each in frames.items():
            bounds = np.cumsum([0, *map(len, each)])
            numbers = {"offsets": bounds, "ends": bounds[1:], "lengths": np.diff(bounds)}
            root[f"{word}_bytes"] = np.frombuffer(b"".join(each), np.uint8)
            root[f"{word}_{lists}"] = numbers[lists]
    with closing(catalog_of(tmp_path)) as found:
        assert found.frame_counts.tolist() == [6]
        assert {word: frames_of(found, 0, f"{word}_bytes") for word in frames} == frames


def test_bytes_beside_a_list_of_another_word_are_refused_as_before(tmp_path):
    frames = jpegs(0, 6)
    with h5py.File(tmp_path / "a.h5", "w") as root:
        root["rgb_bytes"] = np.frombuffer(b"".join(frames), np.uint8)
        root["depth_offsets"] = np.cumsum([0, *map(len, frames)])
    with pytest.raises(CatalogError, match="'rgb_bytes', frame 0: expected one image, found several"):
        catalog_of(tmp_path)
