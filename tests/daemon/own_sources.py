"""Sources and transforms such as users write, good and bad, for real services to load by name."""

from __future__ import annotations

import itertools
import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

Sample = dict[str, Any]


class Items:
    """A map-style source with a nested dict, a text, and one item that raises if there is to be one."""

    def __init__(self, count: int = 60, bad: int = -1) -> None:
        print("made a copy of Items")
        self._count = count
        self._bad = bad

    def __len__(self) -> int:
        return self._count

    def __getitem__(self, number: int) -> Sample:
        if number == self._bad:
            raise ValueError("this one is bad")
        grid = np.full((4, 3), number, np.float32)
        return {"grid": grid, "robot": {"joints": grid[0] / 2, "on": number % 2 == 0}, "name": f"item {number}"}


class SlowItems(Items):
    """The same, each of which takes a while."""

    def __getitem__(self, number: int) -> Sample:
        time.sleep(0.02)
        return super().__getitem__(number)


class Batches:
    """A source of batches, as a Keras sequence is; the last one is shorter."""

    def __len__(self) -> int:
        return 5

    def __getitem__(self, number: int) -> tuple[Any, Any]:
        rows = 8 if number < 4 else 3
        x = np.full((rows, 2), number, np.float32)
        return x, x[:, 0].astype(np.int64)


class Scenes:
    """An endless generator, of which each worker runs a copy."""

    def generate_data(self) -> Iterator[Sample]:
        for number in itertools.count():
            drawn = np.random.randint(2**62)  # noqa: NPY002 - as users draw
            yield {"pid": os.getpid(), "number": number, "drawn": drawn}


class Hungry(Items):
    """A source that keeps 300 MB from its start on."""

    def __init__(self, count: int = 60) -> None:
        super().__init__(count)
        self._data = np.ones(300 * 2**20, np.uint8)


def slow_to_make() -> list[int]:
    time.sleep(60)
    return [1]


def gone_when_made() -> None:
    os._exit(0)


# ---- transforms


def noisy(sample: Sample, rng: np.random.Generator) -> Sample:
    frames = sample["frames"].astype(np.float32)
    return {"frames": frames + rng.standard_normal(frames.shape, np.float32), "drawn": rng.integers(0, 2**62)}


def no_label_21(sample: Sample, rng: np.random.Generator) -> Sample:
    if sample["label"] == 21:
        raise RuntimeError("label 21 is cursed")
    return sample


def cut_label_21(sample: Sample, rng: np.random.Generator) -> Sample:
    frames = sample["frames"]
    return {"frames": frames[:, 2:] if sample["label"] == 21 else frames}


def cast_label_21(sample: Sample, rng: np.random.Generator) -> Sample:
    frames = sample["frames"]
    return {"frames": frames.astype(np.float64) if sample["label"] == 21 else frames}


def endless(sample: Sample, rng: np.random.Generator) -> Sample:
    while True:
        rng.random()


def endless_for_label_21(sample: Sample, rng: np.random.Generator) -> Sample:
    return endless(sample, rng) if sample["label"] == 21 else sample


def deadly(sample: Sample, rng: np.random.Generator) -> Sample:
    os._exit(7)


def talking(sample: Sample, rng: np.random.Generator) -> Sample:
    """Print something for each sample, as somebody does who looks for an error."""
    print("at sample", sample["index"])
    return sample


def doubled(sample: Sample, rng: np.random.Generator) -> Sample:
    return {"grid": sample["grid"] * 2, "joints": sample["robot/joints"], "name": sample["name"]}


def once_deadly(sample: Sample, rng: np.random.Generator) -> Sample:
    """End the process that calls it first, if a file says that nobody has yet."""
    marker = Path(os.environ["OWN_SOURCES_MARKER"])
    if marker.exists():
        marker.unlink()
        os._exit(7)
    return sample
