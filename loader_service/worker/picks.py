"""Which frames fill each row of a task, and where they lie in the slot; knows no field and no file."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from loader_service.plan.image_draws import ImageDraws, draw_images
from loader_service.plan.numbering import Samples
from loader_service.protocol.numbers import int64_column
from loader_service.protocol.rows import Rows
from loader_service.protocol.spec import Clip, Spec
from loader_service.worker.gather import Runs

_Numbers = NDArray[np.int64]


class Pick(NamedTuple):
    """One row's frames; no dataclass, since one is made for each row."""

    video: int
    start: int  # the first frame
    length: int  # frames to write
    draws: ImageDraws


class Picks(NamedTuple):
    """What fills the rows of a task: one entry for each row, in the order of the task.

    Parameters
    ----------
    spec, epoch, asked
        What the task said of them.
    rows, samples, keys
        Row of the batch, number of the sample, and what its random draws are keyed by.
    videos, starts, lengths
        The sample's video, its first frame in it, and how many frames are written.
    offsets
        Where its frames begin among the frames of the whole slot.
    room
        Frames that each row has there: those that `lengths` leaves are padding.
    """

    spec: Spec
    epoch: int
    asked: Rows
    rows: _Numbers
    samples: _Numbers
    keys: _Numbers
    videos: _Numbers
    starts: _Numbers
    lengths: _Numbers
    offsets: _Numbers
    room: int

    @property
    def draws(self) -> list[ImageDraws]:
        """What chance decides of each row's pixels; drawn when somebody asks, as nobody does for numbers."""
        return draw_images(self.spec, self.epoch, self.keys)

    def each(self) -> list[Pick]:
        """Return the frames of each row."""
        return list(map(Pick, self.videos.tolist(), self.starts.tolist(), self.lengths.tolist(), self.draws))

    def by_place(self) -> _Numbers:
        """Return the entries in the order of their frames in the files."""
        return np.lexsort((self.starts, self.videos))


def make_picks(samples: Samples, spec: Spec, epoch: int, rows: Rows) -> Picks:
    """Return what fills the rows of a task.

    All draws are functions of (seed, epoch, key), where the key is the sample's position in the client's index, or else
    its own number.

    Raises
    ------
    IndexError
        When there is no such sample.
    """
    places, numbers = int64_column(rows.numbers), int64_column(rows.samples)
    keys = int64_column(rows.positions) if rows.positions else numbers
    videos = samples.videos(numbers)
    starts = samples.starts(epoch, numbers, keys, videos)
    if spec.varies:
        room = rows.room
        lengths, offsets = int64_column(rows.lengths), int64_column(rows.offsets)
    else:
        room = spec.clip.frames if isinstance(spec.clip, Clip) else 1
        lengths, offsets = samples.lengths(numbers, videos), places * room
    return Picks(spec, epoch, rows, places, numbers, keys, videos, starts, lengths, offsets, room)


def runs_by_video(picks: Picks) -> Iterator[tuple[int, list[int], Runs]]:
    """Yield each video of a task with its entries, and with the runs of frames that fill them, in the video's order.

    Rows whose frames follow each other in the video and in the slot, without padding, are one run. For samples whose
    frames are neighbours (a stride of 1).
    """
    order = picks.by_place()
    videos, *columns = (each[order] for each in (picks.videos, picks.starts, picks.lengths, picks.offsets))
    entries = order.tolist()
    if videos[0] == videos[-1]:
        yield int(videos[0]), entries, _merged(*columns)
        return
    for first, end in itertools.pairwise([0, *(np.flatnonzero(videos[1:] != videos[:-1]) + 1).tolist(), len(order)]):
        yield int(videos[first]), entries[first:end], _merged(*(each[first:end] for each in columns))


def _merged(starts: _Numbers, lengths: _Numbers, begins: _Numbers) -> Runs:
    """Return the runs of frames of one video, in its order; those that follow each other here and there are one."""
    follow = starts[1:] == starts[:-1] + lengths[:-1]
    if not np.count_nonzero(follow):  # a tenth of the time of `any`
        return Runs(starts, lengths, begins)
    breaks = ~(follow & (begins[1:] == begins[:-1] + lengths[:-1]))
    firsts = np.flatnonzero(np.concatenate([[True], breaks]))
    return Runs(starts[firsts], np.add.reduceat(lengths, firsts), begins[firsts])
