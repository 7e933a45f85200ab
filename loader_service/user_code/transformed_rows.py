"""Fills rows with what a user's transform makes of samples; how a sample is made, others know.

The transform is given a dict of the sample's fields in memory that only it sees, so it may change them in place, and
must not keep them: the next sample is made in the same memory. What it returns is checked, then copied into the slot.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Protocol

import numpy as np

from loader_service.errors import LoaderError, SourceError
from loader_service.protocol.fields import SERVICE_FIELDS, SlotLayout
from loader_service.protocol.messages import BadRow
from loader_service.protocol.rows import Rows
from loader_service.user_code.transform import Transform
from loader_service.user_code.user_samples import Sample, checked


class SampleMaker(Protocol):
    """Makes a transform's samples, one at a time."""

    def make(self, epoch: int, row: Rows) -> dict[str, Any]:
        """Return the fields of the only sample of `row`, valid until the next one is made; those without axes scalars.

        Raises
        ------
        LoaderError
            When it cannot be had; names file, video and frame.
        """

    def ranges(self, epoch: int, rows: Rows) -> Iterable[Any]:
        """Return where the samples of some rows lie in the files, for who reads them ahead."""

    def describe(self, sample: int) -> str:
        """Return a sample's file and video, for errors."""

    def close(self) -> None:
        """Let go of what was opened for the stream alone."""


class TransformedSamples:
    """What a transform makes of samples.

    Parameters
    ----------
    maker
        Makes the samples that it is given.
    transform
        The user's function.
    seed
        Of the stream.
    """

    def __init__(self, maker: SampleMaker, transform: Transform, seed: int) -> None:
        self.describe = maker.describe
        self.ranges = maker.ranges
        self.close = maker.close
        self._maker = maker
        self._transform = transform
        self._seed = seed

    def make(self, epoch: int, row: Rows) -> Sample:
        """Return what comes of the only sample of `row`, and what the service itself says of it, which stays true.

        Raises
        ------
        LoaderError
            When the sample cannot be had, or the transform raises or returns what is no sample; names file and video.
        """
        inputs = self._maker.make(epoch, row)
        kept = {name: np.array(inputs[name]) for name in SERVICE_FIELDS if name in inputs}
        try:
            return {**self._transform.apply(inputs, self._seed, epoch, row.keys[0]), **kept}
        except SourceError as error:
            raise SourceError(f"{self.describe(row.samples[0])}: {error}") from error


class TransformWriter:
    """Writes rows of one stream's batches after a transform.

    Parameters
    ----------
    samples
        What goes into the rows.
    layout
        Of the stream's slots: fields of what the transform returns.
    """

    def __init__(self, samples: TransformedSamples, layout: SlotLayout) -> None:
        self.layout = layout
        self.ranges = samples.ranges
        self.close = samples.close
        self._samples = samples

    def write(self, slot: Any, epoch: int, rows: Rows) -> tuple[BadRow, ...]:
        """Fill rows of a slot, as a `RowWriter` does without a transform."""
        bad = []
        for entry, row in enumerate(rows.numbers):
            try:
                self._write_row(slot, epoch, rows, entry)
            except LoaderError as error:
                bad.append(BadRow(row, type(error).__name__, str(error)))
        return tuple(bad)

    def _write_row(self, slot: Any, epoch: int, rows: Rows, entry: int) -> None:
        outputs = self._samples.make(epoch, rows.alone(entry))
        lengths = rows.lengths[entry : entry + 1]
        try:
            values = [
                checked(outputs, field, (*lengths, *field.shape) if field.varies else field.shape)
                for field in self.layout.fields
            ]
        except SourceError as error:
            sample = self._samples.describe(rows.samples[entry])
            raise SourceError(f"{sample}: what the transform returned: {error}") from error
        for field, value in zip(self.layout.fields, values, strict=True):
            view = self.layout.view(field.name, slot)
            if field.varies:
                begin = rows.offsets[entry]
                view[begin : begin + len(value)] = value
                view[begin + len(value) : begin + rows.room] = np.zeros((), view.dtype)
            else:
                view[rows.numbers[entry]] = value
