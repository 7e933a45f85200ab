"""Runs the service's transform on the samples of a step once more, and tells what it returns; knows no page."""

from __future__ import annotations

import time
from contextlib import closing
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from loader_service.contact_sheet import Bounds, Picture, as_picture, bounds_of, bounds_text, evenly, fitted
from loader_service.errors import ConfigError
from loader_service.preview.sample_pictures import rows_of
from loader_service.protocol.recent_steps import RecentStep
from loader_service.user_code.user_samples import Sample
from loader_service.worker.transforms import TransformedStreams

#: How long samples are made, in seconds, and how many bytes of them are kept: a slow transform shows fewer samples.
_MOST_S, _MOST_BYTES = 5.0, 256 * 2**20

#: Pictures have two sides of so many pixels at least: a list of triples is none.
_LEAST_SIDE = 4


class ReturnedField(NamedTuple):
    """One field that a transform returns, over all samples that were made: plain data, of what JSON can say."""

    name: str
    dtype: str
    shape: str  # of one sample; an axis that differs as ``3 to 9``
    low: float | None  # of its finite numbers; None where it has none
    mean: float | None
    high: float | None
    not_finite: int
    frames: list[int]  # pictures of each sample; empty where they are none
    caption: str  # how its numbers became pictures; "" where they are bytes


class TransformOutputs:
    """What a transform makes of the samples of one step, as workers do: the same samples, the same random numbers.

    Parameters
    ----------
    streams
        Has the transform.
    step
        What was announced, of a stream with a transform.

    Raises
    ------
    LoaderError
        When a sample cannot be had, or the transform raises or returns what is no sample.
    """

    def __init__(self, streams: TransformedStreams, step: RecentStep) -> None:
        self.rows: list[Sample] = []
        rows, size_bytes, until = rows_of(step), 0, time.monotonic() + _MOST_S
        with closing(streams.samples(step.spec, step.fields)) as samples:
            for entry in range(len(step.samples)):
                made = {name: np.array(value) for name, value in samples.make(step.epoch, rows.alone(entry)).items()}
                self.rows.append(made)  # copies: the next sample is made in the same memory
                size_bytes += sum(each.nbytes for each in made.values())
                if size_bytes > _MOST_BYTES or time.monotonic() > until:
                    break
        self._bounds: dict[str, Bounds | None] = {
            name: bounds_of(self._column(name)) if first.dtype.kind == "f" else None
            for name, first in self.rows[0].items()
        }

    def outputs(self) -> list[ReturnedField]:
        """Return what there is to say of each field."""
        return [self._told(name) for name in self.rows[0]]

    def pictures(self, name: str, row: int, most: int, side: int) -> tuple[list[Picture], list[int]]:
        """Return pictures of a sample, and the number of each.

        Parameters
        ----------
        name, row
            Of a field of pictures, and of the step.
        most, side
            How many at most, evenly spread, and their longest side in pixels.

        Raises
        ------
        ConfigError
            When the field is no picture, or the sample was not made.
        """
        if not 0 <= row < len(self.rows):
            raise ConfigError(f"sample {row} was not made, only the first {len(self.rows)}; look at one of those")
        frames = None if name not in self.rows[row] else _frames(self.rows[row][name])
        if frames is None:
            raise ConfigError(f"the transform returns no pictures called {name!r}")
        chosen = evenly(len(frames), most)
        return [fitted(as_picture(frames[each], self._bounds[name]), side) for each in chosen], chosen

    def _told(self, name: str) -> ReturnedField:
        arrays, bounds = self._column(name), self._bounds[name]
        frames = [_frames(each) for each in arrays]
        counts = [len(each) for each in frames if each is not None]
        is_pictured = len(counts) == len(self.rows)
        numbers = [each[np.isfinite(each)] for each in arrays if each.dtype.kind != "S"]
        low, high = bounds_of(numbers) or (None, None)
        count = sum(each.size for each in numbers)
        return ReturnedField(
            name,
            "text" if arrays[0].dtype.kind == "S" else arrays[0].dtype.name,
            _shape_text([each.shape for each in arrays]),
            low,
            sum(float(each.sum(dtype=np.float64)) for each in numbers) / count if count else None,
            high,
            sum(each.size for each in arrays) - count if numbers else 0,
            counts if is_pictured else [],
            bounds_text(bounds) if is_pictured and bounds else "",
        )

    def _column(self, name: str) -> list[NDArray[Any]]:
        return [each[name] for each in self.rows if name in each]


def _frames(array: NDArray[Any]) -> NDArray[Any] | None:
    """Return all pictures in an array ``(…, height, width, 1 or 3)`` of bytes or floats; None of all else."""
    if (array.dtype != np.uint8 and array.dtype.kind != "f") or array.ndim < 3 or array.shape[-1] not in (1, 3):
        return None
    if min(array.shape[-3:-1]) < _LEAST_SIDE or not array.size:
        return None
    return array.reshape(-1, *array.shape[-3:])


def _shape_text(shapes: list[tuple[int, ...]]) -> str:
    if len({len(each) for each in shapes}) > 1:
        return "differs"
    axes = [
        f"{min(axis)}" if min(axis) == max(axis) else f"{min(axis)} to {max(axis)}"
        for axis in zip(*shapes, strict=True)
    ]
    return f"({', '.join(axes)}{',' if len(axes) == 1 else ''})"
