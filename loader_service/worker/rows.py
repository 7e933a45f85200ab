"""Fills rows of a slot for one stream: sample number in, fields out; knows no message and no other worker's rows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from loader_service import failpoints
from loader_service.catalog.columns import Catalog
from loader_service.errors import CatalogError, DecodeError, LoaderError
from loader_service.plan.clips import ClipPlan
from loader_service.plan.randomness import Purpose, draws
from loader_service.protocol.fields import Field, SlotLayout
from loader_service.protocol.messages import BadRow
from loader_service.protocol.spec import Spec
from loader_service.worker.image import ImageWriter
from loader_service.worker.reader import Reader

_Samples = NDArray[np.int64]


class RowWriter:
    """Writes rows of one stream's batches into their slots.

    Each row is a function of (catalog, spec, epoch, sample) and of nothing else: any worker writes the same bytes,
    however often.

    Parameters
    ----------
    catalog, reader
        Where the frames are, and what reads them.
    spec, fields
        What the stream delivers.
    """

    def __init__(self, catalog: Catalog, reader: Reader, spec: Spec, fields: tuple[Field, ...]) -> None:
        self.layout = SlotLayout(fields, spec.batch_size)
        self._catalog = catalog
        self._reader = reader
        self._spec = spec
        self._clips = ClipPlan(catalog.frame_counts, spec.clip, spec.seed)
        self._columns = [(field.name, self._column(field.name)) for field in fields if field.name != "frames"]
        shape = next((field.shape for field in fields if field.name == "frames"), None)
        self._image = None if shape is None else ImageWriter(spec.image, (shape[1], shape[2], shape[3]))

    def write(self, slot: Any, epoch: int, rows: Sequence[int], samples: Sequence[int]) -> tuple[BadRow, ...]:
        """Fill rows of a slot.

        Parameters
        ----------
        slot
            The slot's memory.
        epoch
            Epoch of the step.
        rows, samples
            Row numbers of the batch, and the sample that goes into each.

        Returns
        -------
        tuple of BadRow
            The rows that could not be filled, and why; their contents are undefined.
        """
        places, numbers = np.asarray(rows), np.asarray(samples, np.int64)
        videos, starts = self._clips.videos(numbers), self._clips.starts(epoch, numbers)
        for name, column in self._columns:
            self.layout.view(name, slot)[places] = column(numbers, videos, starts)
        if self._image is None:
            return ()
        frames = self.layout.view("frames", slot)
        tops, lefts, flips = self._draw(epoch, numbers)
        bad = []
        for place, sample, video, start, top, left, flip in zip(
            rows, samples, videos.tolist(), starts.tolist(), tops, lefts, flips, strict=True
        ):
            failpoints.passing("worker.row_begun", sample)
            try:
                self._write_clip(self._image, frames[place], (video, start), (top, left), flip)
            except LoaderError as error:
                bad.append(BadRow(place, type(error).__name__, str(error)))
        return tuple(bad)

    def _write_clip(
        self, image: ImageWriter, out: NDArray[np.uint8], clip: tuple[int, int], corner: tuple[int, int], flip: bool
    ) -> None:
        video, start = clip
        numbers = self._clips.frames(video, start).tolist()
        previous = -1
        for place, (number, jpeg) in enumerate(zip(numbers, self._reader.read(video, numbers), strict=True)):
            if number == previous:  # padding: the last frame again
                out[place] = out[place - 1]
                continue
            try:
                image.write(jpeg, out[place], corner, flip)
            except DecodeError as error:
                raise DecodeError(f"{self._catalog.describe(video)}, frame {number}: {error}") from error
            previous = number
            failpoints.passing("worker.frame_written")

    def _draw(self, epoch: int, samples: _Samples) -> tuple[list[int], list[int], list[bool]]:
        """Return, for each sample, the draws of the crop's top and left, and whether to mirror it."""
        seed = self._spec.seed
        zeros = [0] * len(samples)
        tops, lefts, flips = zeros, zeros, [False] * len(samples)
        if self._spec.image.crop == "random":
            tops = draws(seed, epoch, samples, Purpose.CROP_TOP).tolist()
            lefts = draws(seed, epoch, samples, Purpose.CROP_LEFT).tolist()
        if self._spec.image.flip:
            flips = (draws(seed, epoch, samples, Purpose.FLIP) >> np.uint64(63)).astype(bool).tolist()
        return tops, lefts, flips

    def _column(self, name: str) -> Callable[[_Samples, _Samples, _Samples], Any]:
        """Return the function that gives a field's values for (samples, videos, starts)."""
        match name:
            case "index":
                return lambda samples, _videos, _starts: samples
            case "start":
                return lambda _samples, _videos, starts: starts
            case "length":
                return lambda samples, _videos, _starts: self._clips.lengths(samples)
            case "video":
                return lambda _samples, videos, _starts: [self._catalog.name(video) for video in videos.tolist()]
            case "label":
                labels = self._catalog.labels
                if labels is None:
                    raise CatalogError("the stream has labels, but this worker's catalog has none")
                return lambda _samples, videos, _starts: labels[videos]
        raise CatalogError(f"this worker does not know the field {name!r}")
