"""Indexes, formats and element types that nearly are what is served: read right, or refused in a line that helps."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import h5py
import numpy as np

from tests.public_layouts.expectations import Array, Encoded, Refused, Serves, Video, Writer, case
from tests.public_layouts.pictures import jpegs, pixels, write_vlen
from tests.public_layouts.robots import numbers

_FRAMES = jpegs(700, 4)


def _flat(name: str, index: str, values: Sequence[float], storage: str | None = None) -> Writer:
    def write(folder: Path) -> Serves:
        with h5py.File(folder / "a.h5", "w") as root:
            flat = np.frombuffer(b"".join(_FRAMES), np.uint8)
            root.create_dataset("v/data", data=flat, compression=storage)
            root[f"v/{index}"] = np.array(values)
        return Serves([Video("a", {"*": Encoded(_FRAMES)})])

    write.__name__ = f"flat_bytes_with_{name}"
    return case(f"flat JPEGs with {index!r} alone beside them")(write)


_LENGTHS = [len(frame) for frame in _FRAMES]
_ENDS = np.cumsum(_LENGTHS).tolist()
flat_bytes_with_ends = _flat("ends", "ends", _ENDS)
flat_bytes_with_compressed_ends = _flat("compressed_ends", "data_end", _ENDS, "gzip")
flat_bytes_with_lengths = _flat("lengths", "lengths", _LENGTHS)
flat_bytes_with_float_offsets = _flat("float_offsets", "offsets", [0.0, *_ENDS])


@case("no one project: Motion JPEG, a vlen element for each video")
def several_jpegs_in_an_element(folder: Path) -> Refused:
    """A decoder takes the first, and drops the others without a word."""
    with h5py.File(folder / "a.h5", "w") as root:
        write_vlen(root, "videos", [b"".join(_FRAMES), b"".join(_FRAMES[:2])])
        root["labels"] = np.arange(2)
    return Refused(["'videos', frame 0", "several one after the other", "offsets|vlen uint8"])


@case("flat JPEGs without a word where each begins")
def flat_bytes_without_an_index(folder: Path) -> Refused:
    """The first image is not all that there is."""
    with h5py.File(folder / "a.h5", "w") as root:
        root["v/data"] = np.frombuffer(b"".join(_FRAMES), np.uint8)
        root["v/where"] = np.array([0, *_ENDS[:-1]])
    return Refused(["'v', frame 0", "several one after the other", "offsets|vlen uint8"])


def _rows(name: str, datasets: dict[str, list[float]], ends: list[tuple[int, int]]) -> Writer:
    def write(folder: Path) -> Serves | Refused:
        frames = pixels(701, 10, 16, 16)
        with h5py.File(folder / "a.h5", "w") as root:
            root["frames"] = frames
            for key, values in datasets.items():
                root[key] = np.array(values)
        if not ends:
            return Refused([next(iter(datasets)), "--schema", "found"])
        return Serves([Video(str(number), {"*": Array(frames[slice(*each)])}) for number, each in enumerate(ends)])

    write.__name__ = f"rows_with_{name}"
    return case(f"frames of several videos with {' and '.join(datasets)}")(write)


_HALVES = [(0, 5), (5, 10)]
rows_with_last_rows = _rows("last_rows", {"clip_start": [0, 5], "clip_end": [4, 9]}, _HALVES)
rows_with_last_rows_from_one = _rows("last_rows_from_one", {"clip_start": [1, 6], "clip_end": [5, 10]}, _HALVES)
rows_with_float_ends = _rows("float_ends", {"episode_ends": [5.0, 10.0]}, _HALVES)
rows_with_a_gap_of_one = _rows("a_gap_of_one", {"episode_starts": [0, 5], "episode_ends": [4, 10]}, [])
rows_with_ends_one_short = _rows("ends_one_short", {"clip_start": [0, 6], "clip_end": [4, 9]}, [])
rows_with_starts_that_overlap_ends = _rows("overlap", {"clip_start": [0, 3], "clip_end": [5, 10]}, [])
rows_with_an_end_that_is_no_number = _rows("nan_end", {"episode_ends": [5.0, float("nan")]}, [])
rows_with_a_number_that_is_none = _rows("nan_number", {"episode_index": [0.0] * 5 + [float("nan")] * 5}, [])
rows_with_counts_that_do_not_fit = _rows("odd_counts", {"num_frames": [3, 4]}, [])


def _changed(name: str, old: bytes, new: bytes, says: str) -> Writer:
    def write(folder: Path) -> Refused:
        with h5py.File(folder / "a.h5", "w") as root:
            write_vlen(root.create_group("v"), "frames", [frame.replace(old, new) for frame in _FRAMES])
        return Refused(["v/frames", says, "write it|--source"])

    write.__name__ = f"jpegs_{name}"
    return case(f"JPEGs that no decoder here takes: {says}")(write)


_BASELINE = b"\xff\xc0\x00\x11\x08"
jpegs_of_12_bits = _changed("of_12_bits", _BASELINE, b"\xff\xc1\x00\x11\x0c", "12 bits")
jpegs_that_are_lossless = _changed("that_are_lossless", _BASELINE, b"\xff\xc3\x00\x11\x08", "lossless")


@case("JPEG bytes as vlen int32 (h5py.vlen_dtype('int32') over a list of numbers)")
def jpegs_as_wide_numbers(folder: Path) -> Refused:
    """A number for each byte is no sound."""
    with h5py.File(folder / "a.h5", "w") as root:
        rows = root.create_dataset("frames", (4,), h5py.vlen_dtype(np.int32))
        for number, frame in enumerate(_FRAMES):
            rows[number] = np.frombuffer(frame, np.uint8).astype(np.int32)
    return Refused(["'frames'", "JPEG", "int32", "vlen uint8"])


@case("JPEGs as a matrix of elements: (episodes, frames)")
def jpegs_of_two_axes(folder: Path) -> Refused:
    """Nothing says which axis is the time, and the remedy is one dataset a row."""
    with h5py.File(folder / "a.h5", "w") as root:
        grid = root.create_dataset("frames", (2, 2), h5py.vlen_dtype(np.uint8))
        for number, frame in enumerate(_FRAMES):
            grid[divmod(number, 2)] = np.frombuffer(frame, np.uint8)
    return Refused(["'frames'", "in each row.*expected one axis", "--source"])


@case("floats of 16 bytes, and nothing else")
def long_doubles(folder: Path) -> Refused:
    """TensorFlow has no such numbers."""
    with h5py.File(folder / "a.h5", "w") as root:
        root["x"] = numbers(1, 6, 4).astype(np.longdouble)
    return Refused(["'x'", "1, 2, 4 or 8 bytes", "--source"])


@case("attributes, and no dataset")
def attributes_alone(folder: Path) -> Refused:
    """Nothing is there that a pattern could name."""
    with h5py.File(folder / "a.h5", "w") as root:
        root.attrs["x"] = np.arange(5)
    return Refused(["no dataset at all", "leave the file out"])


@case("JPEGs a dataset each, with a dataset of another length beside them")
def frames_by_dataset_with_odd_array(folder: Path) -> Serves:
    """What lies in a group of frames has its line."""
    videos = []
    with h5py.File(folder / "a.h5", "w") as root:
        for video in range(2):
            frames = jpegs(702 + video, 4)
            for number, frame in enumerate(frames):
                root[f"v{video}/frame_{number}"] = np.frombuffer(frame, np.uint8)
            root[f"v{video}/odd"] = numbers(1, 9, 2)
            videos.append(Video(f"v{video}", {"*": Encoded(frames)}))
    return Serves(videos, left_out=["odd"])


@case("a dataset of 10^12 frames, of which none was ever written")
def frames_never_written(folder: Path) -> Refused:
    """A place in a file is no data."""
    with h5py.File(folder / "a.h5", "w") as root:
        root.create_dataset("images", (2**40, 224, 224, 3), np.uint8, chunks=(1, 224, 224, 3))
        root["y"] = np.arange(3)
    return Refused(["'images'", "nothing was ever written"])


@case("no one project: the frames of several cameras in one dataset, (frames, cameras), vlen or fixed strings")
def cameras_in_one_dataset(folder: Path) -> Refused:
    """JPEGs in two axes are no texts, and no numbers, of which a line says that they are left out."""
    frames = jpegs(710, 8)
    for number in range(2):
        with h5py.File(folder / f"episode_{number}.h5", "w") as root:
            if number:
                root["images"] = np.array(frames).reshape(4, 2)
            else:
                images = root.create_dataset("images", (4, 2), h5py.vlen_dtype(np.uint8))
                for place, data in enumerate(frames):
                    images[place // 2, place % 2] = np.frombuffer(data, np.uint8)
            root["action"] = numbers(number, 4, 7)
    return Refused(["'images' has JPEG in each row \\(4, 2\\)", "write each video, or camera, as a dataset"])
