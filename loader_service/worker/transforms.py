"""Brings a user's transform and the samples of a worker's streams together; loaded only where there is a transform."""

from __future__ import annotations

from typing import Any

import numpy as np

from loader_service.errors import ConfigError, from_name
from loader_service.plan.samples import make_samples
from loader_service.protocol.fields import Field, SlotLayout
from loader_service.protocol.rows import Rows
from loader_service.protocol.spec import Spec
from loader_service.user_code.transform import Transform
from loader_service.user_code.transform_probe import probe_transform
from loader_service.user_code.transformed_rows import TransformedSamples, TransformWriter
from loader_service.worker.frame_fields import Origin
from loader_service.worker.row_writer import RowWriter


class TransformedStreams:
    """Puts one transform before the rows of any stream.

    Parameters
    ----------
    origin
        Where the frames are.
    reference
        The user's function, ``package.module:function``.

    Raises
    ------
    SourceError
        When there is no such function.
    """

    def __init__(self, origin: Origin, reference: str) -> None:
        self._origin = origin
        self._transform = Transform(reference)

    @property
    def seconds(self) -> float:
        """Seconds that the user's function took, altogether."""
        return self._transform.seconds

    def writer(self, spec: Spec, inputs: tuple[Field, ...], layout: SlotLayout) -> TransformWriter:
        """Return what writes rows of a stream.

        Parameters
        ----------
        spec
            What the stream delivers.
        inputs
            The fields that the transform is given.
        layout
            Of the stream's slots.
        """
        return TransformWriter(self.samples(spec, inputs), layout)

    def probe(self, spec: Spec, inputs: tuple[Field, ...]) -> tuple[Field, ...]:
        """Return the fields that the transform makes of a stream's samples; raises as `probe_transform` does."""
        counts = self._origin.catalog.counts_with(field.name for field in inputs)
        samples = make_samples(counts, spec.clip, spec.seed)
        transformed = self.samples(spec, inputs)
        try:
            return probe_transform(transformed, samples, spec, inputs)
        finally:
            transformed.close()

    def samples(self, spec: Spec, inputs: tuple[Field, ...]) -> TransformedSamples:
        """Return what makes samples of a stream one at a time; the caller closes it."""
        return TransformedSamples(_OneSample(self._origin, spec, inputs), self._transform, spec.seed)


class _OneSample:
    """Makes samples of a stream one at a time, each in the memory of the one before; ConfigError when there is none."""

    def __init__(self, origin: Origin, spec: Spec, fields: tuple[Field, ...]) -> None:
        longest = int(origin.catalog.frame_counts.max(initial=1)) if spec.varies else 0
        self._layout = SlotLayout(fields, 1, longest)
        self._writer = RowWriter(origin, spec, self._layout)
        self.describe = self._writer.describe
        self.ranges = self._writer.ranges
        self.close = self._writer.close
        try:  # for the longest of all, yet only what is written takes memory
            self._room = np.empty(self._layout.size_bytes, np.uint8)
        except (MemoryError, ValueError) as error:
            raise ConfigError(
                f"the transform is given whole videos, of which the longest has {longest} frames and takes "
                f"{self._layout.size_bytes} bytes; give Clip(…) or Frame()"
            ) from error

    def make(self, epoch: int, row: Rows) -> dict[str, Any]:
        """Return the fields of the only sample of `row`, as `SampleMaker` says."""
        for bad in self._writer.write(self._room, epoch, row):
            raise from_name(bad.error, bad.message)
        return {field.name: self._view(field, row) for field in self._layout.fields}

    def _view(self, field: Field, row: Rows) -> Any:
        if field.varies:
            return self._layout.view(field.name, self._room, row.room)
        return self._layout.view(field.name, self._room, 1)[0]
