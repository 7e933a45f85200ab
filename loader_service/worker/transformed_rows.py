"""Fills rows with what a user's transform makes of samples; knows how a sample is made no more than how it is changed.

The transform is given a dict of the sample's fields in memory that only it sees, so it may change them in place, and
must not keep them: the next sample is made in the same memory. What it returns is checked, then copied into the slot.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from loader_service.errors import ConfigError, LoaderError, SourceError, from_name
from loader_service.protocol.fields import SERVICE_FIELDS, Field, SlotLayout
from loader_service.protocol.messages import BadRow, Task
from loader_service.protocol.spec import Spec
from loader_service.worker.frame_fields import Origin, checked
from loader_service.worker.rows import RowWriter

if TYPE_CHECKING:
    from loader_service.worker.transform import Transform

#: A sample's fields; those without axes are NumPy scalars.
_Sample = dict[str, Any]


class SampleMaker:
    """Makes a transform's samples, one at a time, each in the memory of the one before.

    Parameters
    ----------
    origin
        Where the frames are.
    spec
        What the stream delivers.
    inputs
        The fields that the transform is given.

    Raises
    ------
    ConfigError
        When there is no memory for the longest video.
    """

    def __init__(self, origin: Origin, spec: Spec, inputs: tuple[Field, ...]) -> None:
        longest = int(origin.catalog.frame_counts.max(initial=1)) if spec.varies else 0
        self._fields = inputs
        self._writer = RowWriter(origin, spec, SlotLayout(inputs, 1, longest))
        size_bytes = self._writer.layout.size_bytes
        try:  # for the longest of all, yet only what is written takes memory
            self._room = np.empty(size_bytes, np.uint8)
        except (MemoryError, ValueError) as error:
            raise ConfigError(
                f"the transform is given whole videos, of which the longest has {longest} frames and takes "
                f"{size_bytes} bytes; give Clip(…) or Frame()"
            ) from error

    def make(self, task: Task, entry: int) -> _Sample:
        """Return the sample of one row of a task; valid until the next one is made.

        Raises
        ------
        LoaderError
            When it cannot be had; names file, video and frame.
        """
        length = task.lengths[entry] if task.lengths else 0
        only = Task(
            task.task,
            task.stream,
            task.epoch,
            task.slot,
            rows=(0,),
            samples=(task.samples[entry],),
            positions=task.positions[entry : entry + 1],
            offsets=(0,) if task.lengths else (),
            lengths=(length,) if task.lengths else (),
            room=length,
        )
        for bad in self._writer.write(self._room, only):
            raise from_name(bad.error, bad.message)
        layout = self._writer.layout
        views = {
            field.name: layout.view(field.name, self._room, length if field.varies else 1) for field in self._fields
        }
        return {field.name: views[field.name] if field.varies else views[field.name][0] for field in self._fields}

    def describe(self, sample: int) -> str:
        """Return a sample's file and video, for errors."""
        return self._writer.describe(sample)


class TransformWriter:
    """Writes rows of one stream's batches, as `RowWriter` does, after a transform.

    Parameters
    ----------
    origin
        Where the frames are.
    spec
        What the stream delivers.
    layout
        Of its slots: fields of what the transform returns.
    inputs
        The fields that the transform is given.
    transform
        The user's function.
    """

    def __init__(
        self, origin: Origin, spec: Spec, layout: SlotLayout, inputs: tuple[Field, ...], transform: Transform
    ) -> None:
        self.layout = layout
        self._spec = spec
        self._maker = SampleMaker(origin, spec, inputs)
        self._transform = transform

    def write(self, slot: Any, task: Task) -> tuple[BadRow, ...]:
        """Fill rows of a slot, as `RowWriter.write` does."""
        bad = []
        for entry, row in enumerate(task.rows):
            try:
                self._write_row(slot, task, entry)
            except LoaderError as error:
                bad.append(BadRow(row, type(error).__name__, str(error)))
        return tuple(bad)

    def _write_row(self, slot: Any, task: Task, entry: int) -> None:
        sample, row = task.samples[entry], task.rows[entry]
        outputs = self._maker.make(task, entry)
        # What the service says of a sample stays true, whatever the transform does to it or returns under that name.
        kept = {name: np.array(outputs[name]) for name in SERVICE_FIELDS if name in outputs}
        key = task.positions[entry] if task.positions else sample
        try:
            outputs = {**self._transform.apply(outputs, self._spec.seed, task.epoch, key), **kept}
        except SourceError as error:
            raise SourceError(f"{self._maker.describe(sample)}: {error}") from error
        try:
            values = [checked(outputs, field, self._shape(field, task, entry)) for field in self.layout.fields]
        except SourceError as error:
            raise SourceError(f"{self._maker.describe(sample)}: what the transform returned: {error}") from error
        for field, value in zip(self.layout.fields, values, strict=True):
            view = self.layout.view(field.name, slot)
            if not field.varies:
                view[row] = value
                continue
            begin = task.offsets[entry]
            view[begin : begin + len(value)] = value
            view[begin + len(value) : begin + task.room] = np.zeros((), view.dtype)

    @staticmethod
    def _shape(field: Field, task: Task, entry: int) -> tuple[int, ...]:
        return (task.lengths[entry], *field.shape) if field.varies else field.shape
