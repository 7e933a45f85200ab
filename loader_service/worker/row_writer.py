"""Fills rows of a slot for one stream: sample numbers in, fields out; knows no task and no other worker's rows."""

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
from loader_service.protocol.messages import BadRow
from loader_service.protocol.rows import Rows
from loader_service.protocol.spec import Clip, Spec
from loader_service.worker.frame_fields import Arrays, EncodedImages, FieldWriter, Origin, make_parts
from loader_service.worker.picks import Picks, make_picks, runs_by_video
from loader_service.worker.read_ahead import ByteRange
from loader_service.worker.values import column


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
        self._samples = make_samples(
            origin.catalog.counts_with(field.name for field in layout.fields), spec.clip, spec.seed
        )
        columns = [(field, column(origin.catalog, spec, field.name)) for field in layout.fields]
        self._columns = [(field.name, values) for field, values in columns if values is not None]
        self._parts = make_parts(origin, spec, [field for field, values in columns if values is None])
        # Rows of arrays are short, and there are many: what each costs besides reading it shows.
        neighbours = not isinstance(spec.clip, Clip) or spec.clip.stride == 1
        self._gathers = neighbours and all(isinstance(part, Arrays) for part in self._parts)

    def write(self, slot: Any, epoch: int, rows: Rows) -> tuple[BadRow, ...]:
        """Fill rows of a slot.

        Parameters
        ----------
        slot
            The slot's memory.
        epoch
            Keys the random draws, beside each row's key.
        rows
            Which rows, and which samples go into them.

        Returns
        -------
        tuple of BadRow
            The rows that could not be filled, and why; their contents are undefined.
        """
        picks = make_picks(self._samples, self._spec, epoch, rows)
        for name, values in self._columns:
            self.layout.view(name, slot)[picks.rows] = values(picks)
        if not self._parts:
            return ()
        parts = [(part, [self._frames(name, slot) for name in part.names]) for part in self._parts]
        filling = _RowFilling(picks, parts, self._origin.progress, repeats=not self._spec.varies)
        bad = filling.gather() if self._gathers else filling.fill_each(self._order(picks))
        return tuple(sorted((self._blame(each, picks) for each in bad), key=lambda each: each.row))

    def ranges(self, epoch: int, rows: Rows) -> Iterator[ByteRange]:
        """Yield the bytes of files that `write` will read for these rows, in order.

        Those that only HDF5 finds are not among them, and of many short rows those in memory need not be.
        """
        if not self._parts:
            return
        picks = make_picks(self._samples, self._spec, epoch, rows)
        if self._gathers:
            for video, _, runs in runs_by_video(picks):
                for part in self._parts:
                    if isinstance(part, Arrays):
                        yield from part.ranges_of_runs(video, runs)
        else:
            each = picks.each()
            for entry in self._order(picks):
                for part in self._parts:
                    yield from part.ranges(each[entry])

    def close(self) -> None:
        """Let go of what was opened for this stream alone."""
        for part in self._parts:
            if isinstance(part, EncodedImages):
                part.close()

    def describe(self, sample: int) -> str:
        """Return a sample's file and video, for errors."""
        return f"{self._origin.catalog.describe(int(self._samples.videos([sample])[0]))}, sample {sample}"

    def _blame(self, bad: BadRow, picks: Picks) -> BadRow:
        """Return why a row is bad: when its file has changed while it was read, that is why, and not its bytes."""
        if self._origin.source is None:
            try:
                self._origin.reader.descriptor(int(picks.videos[picks.asked.numbers.index(bad.row)]))
            except FileTouched as touched:
                return BadRow(bad.row, type(touched).__name__, str(touched))
            except LoaderError:
                return bad
        return bad

    def _order(self, picks: Picks) -> Iterable[int]:
        """Return the entries of a task in the order in which they are filled: by their place in the files.

        Frames of one compressed chunk then come together, and it is decompressed once. A generator's next item is the
        next row's.
        """
        is_given = self._origin.source is not None or len(picks.rows) == 1
        return range(len(picks.rows)) if is_given else picks.by_place().tolist()

    def _frames(self, name: str, slot: Any) -> NDArray[Any]:
        """Return all frames of a field in a slot, whichever rows they belong to: ``(frames, *shape)``."""
        view = self.layout.view(name, slot)
        return view.reshape(-1, *view.shape[2:]) if isinstance(self._spec.clip, Clip) else view


class _RowFilling:
    """One task's rows while they are filled.

    Parameters
    ----------
    picks
        What goes into the rows.
    parts
        What writes it; with all frames of the slot of each field that the part writes, ``(frames, *shape)``.
    progress
        Is told of each sample before it is made.
    repeats
        What follows a short sample: its last frame, or else zeros.
    """

    def __init__(
        self, picks: Picks, parts: list[tuple[FieldWriter, list[NDArray[Any]]]], progress: Progress, *, repeats: bool
    ) -> None:
        self._picks = picks
        self._parts = parts
        self._progress = progress
        self._repeats = repeats

    def fill_each(self, entries: Iterable[int]) -> Iterator[BadRow]:
        """Fill the rows of some entries, one after the other; yield those that are bad."""
        picks, offsets = self._picks.each(), self._picks.offsets.tolist()
        for entry in entries:
            self._begin(entry)
            pick, begin = picks[entry], offsets[entry]
            try:
                for part, fields in self._parts:
                    part.write([frames[begin : begin + pick.length] for frames in fields], pick)
            except LoaderError as error:
                yield BadRow(self._picks.asked.numbers[entry], type(error).__name__, str(error))
            else:
                self._pad(begin, pick.length)

    def gather(self) -> Iterator[BadRow]:
        """Fill all rows, those of one video together, when all parts are `Arrays`; yield those that are bad."""
        arrays = [(part, fields[0]) for part, fields in self._parts if isinstance(part, Arrays)]
        picks = self._picks
        short = set(np.flatnonzero(picks.lengths < picks.room).tolist()) if picks.room > 1 else set()
        for video, entries, runs in runs_by_video(picks):
            self._begin(*entries)
            try:
                for part, frames in arrays:
                    part.write_runs(frames, video, runs)
            except LoaderError:  # which rows are bad, and why, comes out one by one
                yield from self.fill_each(entries)
                continue
            for entry in short.intersection(entries):
                self._pad(int(picks.offsets[entry]), int(picks.lengths[entry]))

    def _begin(self, *entries: int) -> None:
        samples = self._picks.asked.samples
        self._progress.at(samples[entries[0]])
        if failpoints.are_named():
            for entry in entries:
                failpoints.passing("worker.row_begun", samples[entry])

    def _pad(self, begin: int, length: int) -> None:
        if length < self._picks.room:
            for _, fields in self._parts:
                for frames in fields:
                    padding = frames[begin + length : begin + self._picks.room]
                    padding[...] = frames[begin + length - 1] if self._repeats else np.zeros((), frames.dtype)
