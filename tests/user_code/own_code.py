"""Sources and transforms such as users write, good and bad, for workers under test to load by name."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

Sample = dict[str, Any]


def unchanged(sample: Sample, rng: np.random.Generator) -> Sample:
    return sample


def noisy(sample: Sample, rng: np.random.Generator) -> Sample:
    noise = rng.standard_normal(sample["frames"].shape, np.float32)
    return {"pixels": sample["frames"] / np.float32(255) + noise, "brightness": np.float64(sample["frames"].mean())}


def spoiling(sample: Sample, rng: np.random.Generator) -> Sample:
    """Change all that it is given, in place and by name."""
    before = sample["frames"].copy()
    sample["frames"][...] = 255 - sample["frames"]
    sample["index"] = np.int64(-1)
    sample["video"] = "nobody"
    sample["length"] = np.zeros((2, 2))
    sample["before"] = before
    return sample


def odd_memory(sample: Sample, rng: np.random.Generator) -> Sample:
    frozen = sample["frames"].copy()
    frozen.flags.writeable = False
    return {
        "mirrored": sample["frames"][..., ::-1, :],
        "turned": np.swapaxes(sample["frames"], -3, -2),
        "frozen": frozen,
    }


def summary(sample: Sample, rng: np.random.Generator) -> Sample:
    """Return, of a whole video, a number for each frame, ten numbers, what was handed in, and a text."""
    means = sample["frames"].reshape(len(sample["frames"]), -1).mean(axis=1).astype(np.float32)
    return {
        "means": means,
        "histogram": np.histogram(sample["frames"], 10)[0],
        "label": sample["label"],
        "title": np.bytes_(b"clip of " + sample["video"]),
    }


def every_second(sample: Sample, rng: np.random.Generator) -> Sample:
    return {"frames": sample["frames"][::2]}


def picky(sample: Sample, rng: np.random.Generator) -> Sample:
    """Do something else for each label: raise, another shape, another dtype, a field left out, and all is well."""
    frames = sample["frames"]
    match int(sample["label"]):
        case 0:
            raise ValueError("no label 0 please")
        case 1:
            return {"pixels": frames[:, 1:]}
        case 2:
            return {"pixels": frames.astype(np.float32)}
        case 3:
            return {"other": frames}
        case _:
            return {"pixels": frames}


def objects(sample: Sample, rng: np.random.Generator) -> Sample:
    return {"pixels": np.zeros(3, np.complex128)}


class Squares:
    """A map-style source; item `odd`, if there is one, has another shape."""

    def __init__(self, items: int = 10, odd: int = -1) -> None:
        self._items = items
        self._odd = odd

    def __len__(self) -> int:
        return self._items

    def __getitem__(self, number: int) -> Sample:
        side = 3 if number == self._odd else 2
        return {"grid": np.full((side, 2), number, np.float32), "square": np.int64(number**2)}


class Counter:
    """A source with a generator method."""

    def count(self) -> Iterator[Sample]:
        for number in range(1_000):
            yield {"number": np.int64(number), "pair": np.array([number, number + 1], np.int16)}


class Titles:
    """A map-style source of texts, each as long as its number says."""

    def __len__(self) -> int:
        return 10

    def __getitem__(self, number: int) -> Sample:
        return {"title": "x" * (10 * number)}
