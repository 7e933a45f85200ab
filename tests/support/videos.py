"""Writes small HDF5 files of JPEG videos in every layout of the catalog; knows nothing of the tested code."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import cv2
import h5py
import numpy as np
import numpy.typing as npt
import simplejpeg

if TYPE_CHECKING:
    import os

Label = int | float | str
Videos = Mapping[str, Sequence[bytes]]
Layout = Literal["group_vlen", "vlen", "file", "group_datasets", "flat", "padded"]

LAYOUTS: tuple[Layout, ...] = ("group_vlen", "vlen", "file", "group_datasets", "flat", "padded")


def frame_image(seed: int, height: int = 48, width: int = 64) -> npt.NDArray[np.uint8]:
    """Return a photograph-like picture: smooth, with fine grain. ``(height, width, 3) uint8``."""
    rng = np.random.default_rng(seed)
    picture = np.full((height, width, 3), 128, np.float32)
    for side, weight in ((4, 60.0), (16, 30.0), (64, 12.0)):
        coarse = rng.standard_normal((side, side, 3), dtype=np.float32)
        picture += weight * cv2.resize(coarse, (width, height), interpolation=cv2.INTER_CUBIC)
    picture += rng.normal(0.0, 3.0, (height, width, 1)).astype(np.float32)
    return np.clip(picture, 0, 255).astype(np.uint8)


def frame_jpeg(seed: int, height: int = 48, width: int = 64, *, quality: int = 90, grey: bool = False) -> bytes:
    """Return `frame_image` as a 4:2:0 JPEG (or a grey one); 256x342 at quality 90 takes 20 to 25 KB."""
    picture = frame_image(seed, height, width)
    if grey:
        plane = np.ascontiguousarray(picture[:, :, :1])
        return bytes(simplejpeg.encode_jpeg(plane, quality, colorspace="GRAY"))
    return bytes(simplejpeg.encode_jpeg(picture, quality, colorspace="RGB", colorsubsampling="420"))


def make_videos(
    lengths: Sequence[int], *, height: int = 48, width: int = 64, seed: int = 0, prefix: str = "video"
) -> dict[str, list[bytes]]:
    """Return ``{"video0": [jpeg, …], …}`` with so many frames each; no two frames are alike."""
    return {
        f"{prefix}{number}": [
            frame_jpeg(seed * 1_000_003 + number * 1_009 + frame, height, width) for frame in range(length)
        ]
        for number, length in enumerate(lengths)
    }


@dataclass(frozen=True)
class Storage:
    """How the datasets of frames are stored; the defaults are what h5py does when told nothing.

    `chunks` counts frames (bytes for ``flat`` and ``group_datasets``); `resized` makes the dataset growable,
    and writes a vlen one half, then grows it; `lengths` is for ``padded``: whether a dataset of lengths lies
    beside the frames; `starts_only` is for ``flat``: N offsets instead of N + 1; `opaque` is for
    ``group_datasets``: ``np.void`` scalars instead of 1-D uint8.
    """

    chunks: int | None = None
    compression: str | None = None
    resized: bool = False
    lengths: bool = True
    starts_only: bool = False
    opaque: bool = False


def write_videos(
    path: str | os.PathLike[str],
    layout: Layout,
    videos: Videos,
    labels: Mapping[str, Label] | None = None,
    *,
    storage: Storage | None = None,
    label_dataset: str | None = None,
) -> None:
    """Write `videos` to a new HDF5 file.

    Parameters
    ----------
    path
        The file; it is overwritten.
    layout
        One of `LAYOUTS`; ``"file"`` takes exactly one video, and its name is lost.
    videos
        JPEG bytes of each frame, by video name; a name may hold slashes.
    labels
        A label for each video; an attribute ``label`` of the video, or, with `label_dataset`, a dataset of
        that name in the root with one entry per video in the order of `videos`.
    storage
        How the datasets are stored.
    label_dataset
        Name of the dataset of labels, or None for attributes.
    """
    with h5py.File(path, "w") as file:
        for name, frames in videos.items():
            target = _WRITERS[layout](file, name, frames, storage or Storage())
            if labels is not None and label_dataset is None and name in labels:
                target.attrs["label"] = labels[name]
        if labels is not None and label_dataset is not None:
            values = [labels[name] for name in videos]
            text = any(isinstance(value, str) for value in values)
            file.create_dataset(label_dataset, data=values, dtype=h5py.string_dtype() if text else None)


def _write_vlen(parent: h5py.Group, name: str, frames: Sequence[bytes], storage: Storage) -> h5py.Dataset:
    first = len(frames) // 2 if storage.resized else len(frames)
    dataset = parent.create_dataset(
        name,
        (first,),
        h5py.vlen_dtype(np.uint8),
        chunks=(storage.chunks,) if storage.chunks else None,
        maxshape=(None,) if storage.resized or storage.chunks else None,
        compression=storage.compression,
    )
    for number in range(first):
        dataset[number] = np.frombuffer(frames[number], np.uint8)
    if storage.resized:
        dataset.resize((len(frames),))
        for number in range(first, len(frames)):
            dataset[number] = np.frombuffer(frames[number], np.uint8)
    return dataset


def _write_group_vlen(file: h5py.File, name: str, frames: Sequence[bytes], storage: Storage) -> h5py.Group:
    group = file.create_group(name)
    _write_vlen(group, "frames", frames, storage)
    return group


def _write_one_video(file: h5py.File, name: str, frames: Sequence[bytes], storage: Storage) -> h5py.Dataset:
    return _write_vlen(file, "video", frames, storage)


def _write_group_datasets(file: h5py.File, name: str, frames: Sequence[bytes], storage: Storage) -> h5py.Group:
    group = file.create_group(name)
    for number, frame in enumerate(frames):
        data = np.void(frame) if storage.opaque else np.frombuffer(frame, np.uint8)
        chunks = None if storage.opaque or not storage.chunks else (min(storage.chunks, len(frame)),)
        group.create_dataset(
            f"frame{number}",
            data=data,
            chunks=chunks,
            compression=None if storage.opaque else storage.compression,
        )
    return group


def _write_flat(file: h5py.File, name: str, frames: Sequence[bytes], storage: Storage) -> h5py.Group:
    group = file.create_group(name)
    offsets = np.cumsum([0, *map(len, frames)], dtype=np.int64)
    data = np.frombuffer(b"".join(frames), np.uint8)
    group.create_dataset(
        "data",
        data=data,
        chunks=(storage.chunks,) if storage.chunks else None,
        maxshape=(None,) if storage.resized or storage.chunks else None,
        compression=storage.compression,
    )
    group.create_dataset("offsets", data=offsets[:-1] if storage.starts_only else offsets)
    return group


def _write_padded(file: h5py.File, name: str, frames: Sequence[bytes], storage: Storage) -> h5py.Group:
    group = file.create_group(name)
    lengths = np.array([len(frame) for frame in frames], np.int32)
    rows = np.zeros((len(frames), int(lengths.max(initial=1)) + 5), np.uint8)
    for row, frame in zip(rows, frames, strict=True):
        row[: len(frame)] = np.frombuffer(frame, np.uint8)
    group.create_dataset(
        "images",
        data=rows,
        chunks=(storage.chunks, rows.shape[1]) if storage.chunks else None,
        maxshape=(None, rows.shape[1]) if storage.resized or storage.chunks else None,
        compression=storage.compression,
    )
    if storage.lengths:
        group.create_dataset("lengths", data=lengths)
    return group


_WRITERS: dict[Layout, Callable[[Any, str, Sequence[bytes], Storage], h5py.Group | h5py.Dataset]] = {
    "group_vlen": _write_group_vlen,
    "vlen": _write_vlen,
    "file": _write_one_video,
    "group_datasets": _write_group_datasets,
    "flat": _write_flat,
    "padded": _write_padded,
}
