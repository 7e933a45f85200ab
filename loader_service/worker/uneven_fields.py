"""Fields whose entries differ in length or sides, filled frame by frame; knows places in memory, not rows or slots.

Each entry goes into a place of one size: what is larger than that was cut to a window that the client asked for, and
zeros follow what is smaller. The real sides are a field of their own, written in the same go.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from loader_service.catalog.columns import Catalog
from loader_service.plan.window_cuts import corner, window_of
from loader_service.protocol.fields import CatalogField
from loader_service.protocol.spec import Clip, Spec
from loader_service.protocol.windows import Cut
from loader_service.worker.frame_ranges import frame_ranges
from loader_service.worker.picks import Pick, Picks
from loader_service.worker.read_ahead import ByteRange
from loader_service.worker.reader import Reader

#: Numbers that are read at once when they are to be cut, or do not fill their place.
_SCRATCH_BYTES = 8 * 2**20

#: Lists that are read at once.
_LISTS_AT_ONCE = 64

Out = NDArray[Any]

#: Entries above this are read by the lines of their window alone, where they lie in the file as in memory.
_LINES_ABOVE_BYTES = 2**20

#: As `Reader.read_lines`.
ReadLines = Callable[[int, str, int, int, Out], bool]

#: Writes entries as they are in the file: `FieldWriter.write`.
WriteWhole = Callable[[Sequence[Out], Pick], None]


def put(entry: Out, out: Out, begin: tuple[int, ...]) -> None:
    """Write an entry into its place, and zeros behind it.

    Parameters
    ----------
    entry
        Any sides.
    out
        Of as many axes, writable.
    begin
        What of the entry goes to the first place of `out`; see `plan.window_cuts.corner`.
    """
    part = entry[tuple(slice(first, first + side) for first, side in zip(begin, out.shape, strict=True))]
    if part.shape != out.shape:
        out[...] = np.zeros((), out.dtype)
    out[tuple(map(slice, part.shape))] = part


class _Uneven:
    """What a part knows that writes a field and its real sides, or one of them.

    Parameters
    ----------
    catalog
        What the files hold.
    field
        The field.
    spec
        What the stream delivers.
    names
        Those of the field and its sides that the stream has.
    """

    def __init__(self, catalog: Catalog, field: CatalogField, spec: Spec, names: tuple[str, ...]) -> None:
        self.names = names
        self._catalog = catalog
        self._field = field
        self._stride = spec.clip.stride if isinstance(spec.clip, Clip) else 1
        window = window_of(spec, field.name)
        self._crop: Cut = "start" if window is None else window.crop
        self._room = tuple(wanted or 2**62 for wanted in window.size) if window else (2**62,) * len(field.shape)

    def ranges(self, pick: Pick) -> Iterator[ByteRange]:
        """Return where a row's frames lie, as `FieldWriter` says."""
        return frame_ranges(self._catalog, self._field.name, pick, self._stride)

    def _split(self, outs: Sequence[Out]) -> tuple[Out | None, Out | None]:
        """Return where the entries go, and where their sides."""
        by_name = dict(zip(self.names, outs, strict=True))
        return by_name.get(self._field.name), by_name.get(self._field.sides_name) if self._field.differs else None


class Lists(_Uneven):
    """Lists of numbers, each with an extent of its own."""

    def __init__(
        self, catalog: Catalog, reader: Reader, field: CatalogField, spec: Spec, names: tuple[str, ...]
    ) -> None:
        super().__init__(catalog, field, spec, names)
        self._reader = reader

    def write(self, outs: Sequence[Out], pick: Pick) -> None:
        """Write a row's frames, as `FieldWriter` says."""
        entries, sides = self._split(outs)
        numbers = range(pick.start, pick.start + pick.length * self._stride, self._stride)
        if sides is not None:
            lengths = self._catalog.list_lengths(pick.video, self._field.name)[numbers.start : numbers.stop]
            sides[...] = np.minimum(lengths[:: self._stride], self._room[0])
        if entries is None:
            return
        for first in range(0, pick.length, _LISTS_AT_ONCE):
            some = numbers[first : first + _LISTS_AT_ONCE]
            for place, each in enumerate(self._reader.read_lists(pick.video, some, self._field.name), first):
                begin = corner(each.shape, entries.shape[1:], self._crop, pick.draws.window)
                put(each, entries[place], begin)


class UnevenArrays(_Uneven):
    """Arrays whose sides differ between videos, or that are cut.

    Parameters
    ----------
    ways
        What writes whole entries as they are in the file, and what reads neighbouring lines of one, where it can.
    """

    _scratch = np.empty(0, np.uint8)

    def __init__(
        self,
        catalog: Catalog,
        ways: tuple[WriteWhole, ReadLines],
        field: CatalogField,
        spec: Spec,
        names: tuple[str, ...],
    ) -> None:
        super().__init__(catalog, field, spec, names)
        self._whole, self._read_lines = ways

    def write(self, outs: Sequence[Out], pick: Pick) -> None:
        """Write a row's frames, as `FieldWriter` says."""
        entries, sides = self._split(outs)
        shape = self._catalog.shape_in(pick.video, self._field.name)
        if sides is not None:
            real = np.minimum(shape, self._room)
            sides[...] = real[0] if self._field.is_list else real
        if entries is None:
            return
        if 0 in shape:  # nothing of it is in the file
            entries[...] = np.zeros((), entries.dtype)
            return
        if shape == entries.shape[1:]:
            self._whole([entries], pick)
            return
        frame_bytes = math.prod(shape) * entries.dtype.itemsize
        begin = corner(shape, entries.shape[1:], self._crop, pick.draws.window)
        cuts = shape[0] > entries.shape[1] and frame_bytes > _LINES_ABOVE_BYTES
        if cuts and self._write_lines(entries, shape, begin, pick):
            return
        at_once = min(pick.length, max(1, _SCRATCH_BYTES // max(1, frame_bytes)))
        for first in range(0, pick.length, at_once):
            count = min(at_once, pick.length - first)
            room = self._room_for(count * frame_bytes)
            read: Out = np.ndarray((count, *shape), entries.dtype, room)
            start = pick.start + first * self._stride
            self._whole([read], Pick(pick.video, start, count, pick.draws))
            for place, each in enumerate(read, first):
                put(each, entries[place], begin)

    def _write_lines(self, entries: Out, shape: tuple[int, ...], begin: tuple[int, ...], pick: Pick) -> bool:
        """Write a row's frames reading the lines of its window alone; return False where only whole ones are read."""
        lines = (entries.shape[1], *shape[1:])
        read: Out = np.ndarray(lines, entries.dtype, self._room_for(math.prod(lines) * entries.dtype.itemsize))
        for place, entry in enumerate(entries):
            frame = pick.start + place * self._stride
            if not self._read_lines(pick.video, self._field.name, frame, begin[0], read):
                return False
            put(read, entry, (0, *begin[1:]))
        return True

    def _room_for(self, size_bytes: int) -> NDArray[np.uint8]:
        if self._scratch.size < size_bytes:
            self._scratch = np.empty(size_bytes, np.uint8)
        return self._scratch


def windowed_values(catalog: Catalog, field: CatalogField, spec: Spec, shape: tuple[int, ...], picks: Picks) -> Out:
    """Return values for the rows of a task, each cut to its place of some shape: ``(rows, *shape)``."""
    window, values = window_of(spec, field.name), catalog.values(field.name)
    made = np.zeros((len(picks.videos), *shape), values.dtype)
    for out, video, draws in zip(made, picks.videos.tolist(), picks.draws, strict=True):
        real = tuple(map(slice, catalog.shape_in(video, field.name)))
        entry = values[video][real]
        put(entry, out, corner(entry.shape, shape, "start" if window is None else window.crop, draws.window))
    return made


def sides_of_values(catalog: Catalog, field: CatalogField, spec: Spec, picks: Picks) -> NDArray[np.int64]:
    """Return the real sides of values for the rows of a task: ``(rows,)`` of lists, else ``(rows, axes)``."""
    window = window_of(spec, field.name)
    sides = catalog.real_sides(field.name)[picks.videos]
    if window is not None:
        sides = np.minimum(sides, [wanted or 2**62 for wanted in window.size])
    return sides[:, 0] if field.is_list else sides
