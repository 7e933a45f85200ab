"""Small pictures in the formats that people keep in HDF5; equal seeds give equal bytes."""

from __future__ import annotations

import functools
import io

import cv2
import h5py
import numpy as np
import numpy.typing as npt
from PIL import Image

from tests.support.videos import frame_image, frame_jpeg

#: Of most pictures here, in pixels.
HEIGHT, WIDTH = 24, 32


@functools.cache
def jpeg(seed: int, height: int = HEIGHT, width: int = WIDTH, *, grey: bool = False) -> bytes:
    """Return a JPEG."""
    return frame_jpeg(seed, height, width, grey=grey)


def jpegs(seed: int, count: int, height: int = HEIGHT, width: int = WIDTH) -> list[bytes]:
    """Return JPEGs that all differ, and differ in length."""
    return [jpeg(1000 * seed + number, height, width) for number in range(count)]


def grey_jpegs(seed: int, count: int) -> list[bytes]:
    """Return grey JPEGs that all differ."""
    return [jpeg(1000 * seed + number, grey=True) for number in range(count)]


@functools.cache
def _pixels(seed: int, height: int, width: int) -> npt.NDArray[np.uint8]:
    return frame_image(seed, height, width)


def pixels(seed: int, count: int, height: int = HEIGHT, width: int = WIDTH) -> npt.NDArray[np.uint8]:
    """Return ``(count, height, width, 3) uint8``."""
    return np.stack([_pixels(1000 * seed + number, height, width) for number in range(count)])


@functools.cache
def encoded(seed: int, kind: str) -> bytes:
    """Return a picture in a format of Pillow's, such as ``"PNG"``, ``"WEBP"``, ``"GIF"``."""
    stream = io.BytesIO()
    Image.fromarray(_pixels(seed, HEIGHT, WIDTH)).save(stream, kind)
    return stream.getvalue()


@functools.cache
def depth_png(seed: int) -> bytes:
    """Return a 16-bit grey PNG, as depth cameras' pictures are kept, in millimetres."""
    depth = np.random.default_rng(seed).integers(300, 9000, (HEIGHT, WIDTH)).astype(np.uint16)
    return bytes(cv2.imencode(".png", depth)[1].tobytes())


def depth_pngs(seed: int, count: int) -> list[bytes]:
    """Return 16-bit PNGs that all differ."""
    return [depth_png(1000 * seed + number) for number in range(count)]


def padded(frames: list[bytes]) -> npt.NDArray[np.uint8]:
    """Return encoded frames as rows with zeros behind them, ``(frames, longest) uint8``."""
    rows = np.zeros((len(frames), max(map(len, frames))), np.uint8)
    for row, frame in zip(rows, frames, strict=True):
        row[: len(frame)] = np.frombuffer(frame, np.uint8)
    return rows


def write_vlen(parent: h5py.Group, name: str, frames: list[bytes]) -> h5py.Dataset:
    """Write encoded frames as a vlen uint8 dataset."""
    dataset = parent.create_dataset(name, (len(frames),), h5py.vlen_dtype(np.uint8))
    for number, frame in enumerate(frames):
        dataset[number] = np.frombuffer(frame, np.uint8)
    return dataset
