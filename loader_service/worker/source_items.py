"""Fills rows with items of the user's own Python source; knows no file and no slot."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from numpy.typing import NDArray

from loader_service.catalog.columns import Catalog
from loader_service.errors import SourceError
from loader_service.protocol.fields import Field
from loader_service.user_code.python_source import GeneratorSource, MapSource
from loader_service.user_code.user_samples import checked
from loader_service.worker.picks import Pick
from loader_service.worker.read_ahead import ByteRange
from loader_service.worker.task_reads import TaskReads


class SourceItems:
    """Items of the user's own Python source: each holds all fields, so they are written together."""

    names: tuple[str, ...]

    def __init__(
        self,
        catalog: Catalog,
        source: MapSource | GeneratorSource,
        fields: Sequence[Field],
        reads: TaskReads,
        stride: int,
    ) -> None:
        self.names = tuple(field.name for field in fields)
        # Of one item, whatever the clip: what the catalog says, not the field of the stream.
        self._shapes = [catalog.field(name).shape for name in self.names]
        self._name = catalog.describe(0)
        self._fields = fields
        self._source = source
        self._stride = stride
        self._reads = reads

    def ranges(self, pick: Pick) -> tuple[ByteRange, ...]:  # noqa: ARG002
        """Return nothing: what the user's own code reads, nobody knows."""
        return ()

    def write(self, outs: Sequence[NDArray[Any]], pick: Pick) -> None:
        """Write a row's items, as `Part` says."""
        for place in range(pick.length):
            number = pick.start + place * self._stride
            item = self._reads.counted(0, 0, self._source.read, number)
            for field, shape, out in zip(self._fields, self._shapes, outs, strict=True):
                try:
                    out[place] = checked(item, field, shape)
                except SourceError as error:
                    raise SourceError(f"item {number} of {self._name}: {error}") from error
