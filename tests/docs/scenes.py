"""What users of other systems bring along: their own classes and functions, as they wrote them. Knows no service."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np


class Squares:
    """A map-style data set: numbers and their squares."""

    def __init__(self, count: int) -> None:
        self.count = count

    def __len__(self) -> int:
        return self.count

    def __getitem__(self, number: int) -> dict[str, Any]:
        return {"number": np.int64(number), "square": np.int64(number * number)}


class Batches:
    """What a Keras `Sequence` has: each item is a batch of (x, y)."""

    def __len__(self) -> int:
        return 6

    def __getitem__(self, number: int) -> tuple[Any, Any]:
        x = np.random.default_rng(number).standard_normal((8, 3)).astype(np.float32)
        return x, x.sum(axis=1, keepdims=True)


class SceneGenerator:
    """Draws scenes without end, as generators behind a `feed_dict` did."""

    def generate_data(self) -> Iterator[dict[str, Any]]:
        while True:
            pose = np.random.uniform(-1, 1, 3).astype(np.float32)  # noqa: NPY002 - as its owner wrote it
            image = np.full((16, 16, 3), abs(pose[0]), np.float32)
            yield {"image": image, "pose": pose}


def brighten(sample: dict[str, Any], rng: np.random.Generator) -> dict[str, Any]:
    """Make frames brighter or darker, by a factor of the sample's own."""
    return {**sample, "frames": sample["frames"].astype(np.float32) * rng.uniform(0.8, 1.2)}
