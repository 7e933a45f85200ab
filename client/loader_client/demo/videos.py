"""Writes the demo's data set: JPEG videos of a textured shape that moves one way; knows no service and no model."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import cv2
import h5py
import numpy as np
import simplejpeg
from numpy.typing import NDArray

HEIGHT, WIDTH = 128, 160

#: Label of a video → the way its shape moves in a frame, (rows, columns). A single frame shows no direction.
DIRECTIONS = {"left": (0, -1), "right": (0, 1), "up": (-1, 0), "down": (1, 0)}

_SHORTEST, _LONGEST = 16, 40  # frames of a video
_SLOWEST, _FASTEST = 2, 5  # pixels a frame
_FLICKER = 0.05  # standard deviation of a frame's brightness, relative


@dataclass(frozen=True)
class Written:
    """What `write_videos` has put on disk."""

    videos: int
    frames: int
    size_bytes: int


def write_videos(directory: Path, name: str, videos: int, videos_per_file: int, seed: int) -> Written:
    """Write files ``<name>-000.h5``, …: one variable-length uint8 dataset of JPEGs a video, its label an attribute.

    Parameters
    ----------
    directory
        An existing directory.
    name
        First part of the file names.
    videos
        How many in all; their labels take turns, so that the classes are of equal size.
    videos_per_file
        How many in each file; the last may hold fewer.
    seed
        Two seeds give two data sets of the same kind.
    """
    labels = list(DIRECTIONS)
    frames = size_bytes = 0
    for first in range(0, videos, videos_per_file):
        with h5py.File(directory / f"{name}-{first // videos_per_file:03d}.h5", "w") as file:
            for number in range(first, min(first + videos_per_file, videos)):
                label = labels[number % len(labels)]
                jpegs = _encoded(_moving_shape(label, np.random.default_rng((seed, number))))
                dataset = file.create_dataset(f"video{number:04d}", len(jpegs), h5py.vlen_dtype(np.uint8))
                for index, jpeg in enumerate(jpegs):
                    dataset[index] = np.frombuffer(jpeg, np.uint8)
                dataset.attrs["label"] = label
                frames += len(jpegs)
                size_bytes += sum(map(len, jpegs))
    return Written(videos, frames, size_bytes)


def _encoded(frames: Iterator[NDArray[np.uint8]]) -> list[bytes]:
    return [simplejpeg.encode_jpeg(frame, quality=85, colorsubsampling="420") for frame in frames]


def _moving_shape(label: str, rng: np.random.Generator) -> Iterator[NDArray[np.uint8]]:
    """Yield the frames of one video, ``(HEIGHT, WIDTH, 3) uint8``; the shape leaves and returns on the other side."""
    background = _texture(rng)
    shape = _texture(rng)
    mask = _mask(rng)
    speed = int(rng.integers(_SLOWEST, _FASTEST + 1))
    down, right = DIRECTIONS[label]
    row, column = int(rng.integers(HEIGHT)), int(rng.integers(WIDTH))
    for frame in range(int(rng.integers(_SHORTEST, _LONGEST + 1))):
        shift = (row + frame * speed * down, column + frame * speed * right)
        moved = np.roll(mask, shift, axis=(0, 1))
        picture = np.where(moved, np.roll(shape, shift, axis=(0, 1)), background)
        yield np.clip(picture * rng.normal(1.0, _FLICKER), 0, 255).astype(np.uint8)


def _texture(rng: np.random.Generator) -> NDArray[np.uint8]:
    """Return blurred coloured patches, ``(HEIGHT, WIDTH, 3) uint8``."""
    patches = rng.integers(0, 256, (HEIGHT // 16, WIDTH // 16, 3), dtype=np.uint8)
    return np.asarray(cv2.resize(patches, (WIDTH, HEIGHT), interpolation=cv2.INTER_CUBIC), np.uint8)


def _mask(rng: np.random.Generator) -> NDArray[np.bool_]:
    """Return where the shape is before it moves, ``(HEIGHT, WIDTH, 1) bool``: a disc, a square or a diamond."""
    radius = int(rng.integers(12, 24))
    rows, columns = np.ogrid[:HEIGHT, :WIDTH]
    down, right = np.abs(rows - HEIGHT // 2), np.abs(columns - WIDTH // 2)
    distances = (np.hypot(down, right), np.maximum(down, right), (down + right) * 0.75)
    return np.asarray(distances[int(rng.integers(len(distances)))] < radius)[:, :, np.newaxis]
