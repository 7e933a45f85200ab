"""Fills slots for tests the way a task asks for it, and returns the fields; knows nothing of the right answers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from loader_service.catalog.columns import Catalog
from loader_service.plan.samples import make_samples
from loader_service.plan.stream_fields import CatalogFacts, stream_fields
from loader_service.protocol.fields import SlotLayout
from loader_service.protocol.messages import BadRow
from loader_service.protocol.rows import Rows
from loader_service.protocol.spec import Spec
from loader_service.worker.frame_fields import Origin
from loader_service.worker.reader import Reader
from loader_service.worker.row_writer import RowWriter

GUARD = 0xA5


@dataclass(frozen=True)
class Filled:
    """A slot that was filled: its fields, cut to what its rows had room for, and the rows that were bad."""

    fields: dict[str, NDArray[Any]]
    bad: tuple[BadRow, ...]
    offsets: Sequence[int]

    def __getitem__(self, name: str) -> NDArray[Any]:
        return self.fields[name]

    def frames(self, name: str, row: int, length: int) -> NDArray[Any]:
        """Return the frames of one row of whole videos."""
        begin = self.offsets[row]
        return self.fields[name][begin : begin + length]


def rows_of(
    catalog: Catalog,
    spec: Spec,
    samples: Sequence[int],
    *,
    positions: Sequence[int] = (),
    rows: Sequence[int] | None = None,
    lengths: Sequence[int] | None = None,
) -> Rows:
    """Return the rows of a step that has these samples; whole videos are laid out as the spec's batching says."""
    rows = tuple(range(len(samples)) if rows is None else rows)
    if not spec.varies:
        return Rows(rows, tuple(samples), tuple(positions))
    if lengths is None:
        lengths = make_samples(catalog.frame_counts, spec.clip, spec.seed).lengths(list(samples)).tolist()
    room = 0 if spec.batching == "ragged" else max(lengths)
    places = np.concatenate([[0], np.cumsum(lengths)]).tolist()
    offsets = tuple(places[place] if not room else row * room for place, row in enumerate(rows))
    return Rows(rows, tuple(samples), tuple(positions), offsets, tuple(lengths), room)


def fill_slot(writer: Any, rows: Rows, epoch: int = 0) -> Filled:
    """Fill rows of a slot full of guard bytes, between guard bytes that must survive."""
    margin = 64
    memory = np.full(writer.layout.size_bytes + 2 * margin, GUARD, np.uint8)
    slot = memory[margin : margin + writer.layout.size_bytes]
    bad = writer.write(slot, epoch, rows)
    assert (memory[:margin] == GUARD).all()
    assert (memory[margin + len(slot) :] == GUARD).all()
    used = max(
        (begin + max(length, rows.room) for begin, length in zip(rows.offsets, rows.lengths, strict=True)), default=0
    )
    fields = {
        field.name: writer.layout.view(field.name, slot, used if field.varies else None).copy()
        for field in writer.layout.fields
    }
    if used:
        assert all(
            (writer.layout.view(field.name, slot)[used:].view(np.uint8) == GUARD).all()
            for field in writer.layout.fields
            if field.varies
        )
    return Filled(fields, bad, rows.offsets)


@contextmanager
def origin_of(catalog: Catalog, source: Any = None) -> Iterator[Origin]:
    """Yield where a catalog's frames come from; its files are closed afterwards."""
    reader = Reader(catalog)
    try:
        yield Origin(catalog, reader, source)
    finally:
        reader.close()


def writer_of(origin: Origin, spec: Spec) -> RowWriter:
    """Return the writer of a stream."""
    fields = stream_fields(CatalogFacts(origin.catalog.fields, origin.catalog.name_width), spec)
    longest = int(origin.catalog.frame_counts.max())
    return RowWriter(origin, spec, SlotLayout(fields, spec.batch_size, spec.batch_size * longest if spec.varies else 0))


def filled(catalog: Catalog, spec: Spec, samples: Sequence[int], *, epoch: int = 0, **options: Any) -> Filled:
    """Return what a worker makes of samples."""
    with origin_of(catalog) as origin:
        return fill_slot(writer_of(origin, spec), rows_of(catalog, spec, samples, **options), epoch)
