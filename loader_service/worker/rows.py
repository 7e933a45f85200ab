"""Fills rows of a slot for one stream: sample numbers in, fields out; knows no message and no other worker's rows."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from loader_service import failpoints
from loader_service.errors import FileTouched, LoaderError
from loader_service.plan.samples import make_samples
from loader_service.progress import Progress
from loader_service.protocol.fields import SlotLayout
from loader_service.protocol.messages import BadRow, Task
from loader_service.protocol.spec import Clip, Spec
from loader_service.worker.frame_fields import Arrays, Origin, Part, SourceItems, make_parts
from loader_service.worker.picks import Draws, Pick, Picks, draw, make_picks, runs_by_video
from loader_service.worker.values import column, is_column


class RowWriter:
    """Writes rows of one stream's batches into their slots.

    Each row is a function of (catalog, spec, epoch, sample, position) and of nothing else: any worker writes the same
    bytes, however often. Rows of a generator source are not, since it is asked for whatever comes next.

    Parameters
    ----------
    origin
        Where the frames are, and what reads them.
    spec
        What the stream delivers.
    layout
        Of its slots.
    """

    def __init__(self, origin: Origin, spec: Spec, layout: SlotLayout) -> None:
        self.layout = layout
        self._spec = spec
        self._origin = origin
        self._catalog = origin.catalog
        self._progress = origin.progress
        self._samples = make_samples(origin.catalog.frame_counts, spec.clip, spec.seed)
        names = [field.name for field in layout.fields if is_column(origin.catalog, field.name)]
        self._columns = [(name, column(origin.catalog, name)) for name in names]
        self._parts = make_parts(origin, spec, [field for field in layout.fields if field.name not in names])
        # Rows of arrays are short, and there are many: what each costs besides reading it shows.
        self._arrays: list[Arrays] = [part for part in self._parts if isinstance(part, Arrays)]
        neighbours = not isinstance(spec.clip, Clip) or spec.clip.stride == 1
        self._gathers = neighbours and len(self._arrays) == len(self._parts)

    def write(self, slot: Any, task: Task) -> tuple[BadRow, ...]:
        """Fill rows of a slot.

        Parameters
        ----------
        slot
            The slot's memory.
        task
            Which rows, and which samples go into them.

        Returns
        -------
        tuple of BadRow
            The rows that could not be filled, and why; their contents are undefined.
        """
        picks = make_picks(self._samples, self._spec, task)
        for name, values in self._columns:
            self.layout.view(name, slot)[picks.rows] = values(picks)
        if not self._parts:
            return ()
        fields = [[self._frames(name, slot) for name in part.names] for part in self._parts]
        filling = _Filling(
            self._spec, picks, self._parts, fields, draw(self._spec, task.epoch, picks.keys), self._progress
        )
        bad = filling.gather(self._arrays) if self._gathers else filling.fill_each(self._order(picks))
        return tuple(sorted((self._blame(each, picks) for each in bad), key=lambda each: each.row))

    def _blame(self, bad: BadRow, picks: Picks) -> BadRow:
        """Return why a row is bad: when its file has changed while it was read, that is why, and not its bytes."""
        if self._origin.source is None:
            try:
                self._origin.reader.descriptor(int(picks.videos[np.flatnonzero(picks.rows == bad.row)[0]]))
            except FileTouched as touched:
                return BadRow(bad.row, type(touched).__name__, str(touched))
            except LoaderError:
                return bad
        return bad

    def _order(self, picks: Picks) -> Iterable[int]:
        """Return the entries of a task in the order in which they are filled: by their place in the files.

        Frames of one compressed chunk then come together, and it is decompressed once.
        """
        if any(isinstance(part, SourceItems) for part in self._parts):
            return range(len(picks.rows))  # a generator's next item is the next row's
        order: list[int] = np.lexsort((picks.starts, picks.videos)).tolist()
        return order

    def describe(self, sample: int) -> str:
        """Return a sample's file and video, for errors."""
        return f"{self._catalog.describe(int(self._samples.videos([sample])[0]))}, sample {sample}"

    def _frames(self, name: str, slot: Any) -> NDArray[Any]:
        """Return all frames of a field in a slot, whichever rows they belong to: ``(frames, *shape)``."""
        view = self.layout.view(name, slot)
        return view.reshape(-1, *view.shape[2:]) if isinstance(self._spec.clip, Clip) else view


class _Filling:
    """One task's rows while they are filled.

    Parameters
    ----------
    spec, picks
        What goes into the rows.
    parts, fields
        What writes it; and all frames of the slot of each field that a part writes, ``(frames, *shape)``.
    draws
        As from `draw`.
    progress
        Is told of each sample before it is made.
    """

    def __init__(
        self,
        spec: Spec,
        picks: Picks,
        parts: list[Part],
        fields: list[list[NDArray[Any]]],
        draws: Draws,
        progress: Progress,
    ) -> None:
        self._progress = progress
        self._picks = picks
        self._parts = list(zip(parts, fields, strict=True))
        self._repeats = not spec.varies  # what follows a short clip: its last frame; a short video: zeros
        self._samples, self._rows, self._offsets = (
            numbers.tolist() for numbers in (picks.samples, picks.rows, picks.offsets)
        )
        columns = (numbers.tolist() for numbers in (picks.videos, picks.starts, picks.lengths))
        self._each = list(map(Pick, *columns, *draws))

    def fill_each(self, entries: Iterable[int]) -> Iterator[BadRow]:
        """Fill the rows of some entries, one after the other; yield those that are bad."""
        for entry in entries:
            yield from self._fill(entry)

    def _fill(self, entry: int) -> list[BadRow]:
        """Fill the row of one entry; return it if it is bad."""
        self._progress.at(self._samples[entry])
        failpoints.passing("worker.row_begun", self._samples[entry])
        pick, begin = self._each[entry], self._offsets[entry]
        try:
            for part, fields in self._parts:
                part.write([frames[begin : begin + pick.length] for frames in fields], pick)
        except LoaderError as error:
            return [BadRow(self._rows[entry], type(error).__name__, str(error))]
        self._pad(entry)
        return []

    def gather(self, parts: list[Arrays]) -> Iterator[BadRow]:
        """Fill all rows, those of one video together, when these are all parts; yield those that are bad."""
        fields = [frames for _, opened in self._parts for frames in opened]
        for video, entries, runs in runs_by_video(self._picks):
            self._progress.at(self._samples[entries[0]])
            for entry in entries:
                failpoints.passing("worker.row_begun", self._samples[entry])
            try:
                for part, frames in zip(parts, fields, strict=True):
                    part.write_runs(frames, video, runs)
            except LoaderError:  # which rows are bad, and why, comes out one by one
                yield from self.fill_each(entries)
                continue
            for entry in entries:
                self._pad(entry)

    def _pad(self, entry: int) -> None:
        begin, length = self._offsets[entry], self._each[entry].length
        if length < self._picks.room:
            for _, fields in self._parts:
                for frames in fields:
                    padding = frames[begin + length : begin + self._picks.room]
                    padding[...] = frames[begin + length - 1] if self._repeats else np.zeros((), frames.dtype)
