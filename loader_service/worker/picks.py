"""Which sample goes into which row of a task, and where its frames lie in the slot; knows no field and no file."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from loader_service.plan.randomness import Purpose, draws
from loader_service.plan.samples import Samples
from loader_service.protocol.messages import Task
from loader_service.protocol.spec import Clip, Spec
from loader_service.worker.gather import Run

_Numbers = NDArray[np.int64]

#: For each entry, the draws of the crop's rows and columns; and whether to mirror.
Draws = tuple[Sequence[tuple[int, int]], Sequence[bool]]


class Pick(NamedTuple):
    """One row's frames; no dataclass, since one is made for each row."""

    video: int
    start: int  # the first frame
    length: int  # frames to write
    crop: tuple[int, int]  # draws of the crop's rows and columns
    flip: bool


@dataclass(frozen=True)
class Picks:
    """What fills the rows of a task: one entry for each row, in the order of the task.

    Parameters
    ----------
    rows, samples, keys
        Row of the batch, number of the sample, and what its random draws are keyed by.
    videos, starts, lengths
        The sample's video, its first frame in it, and how many frames are written.
    offsets
        Where its frames begin among the frames of the whole slot.
    room
        Frames that each row has there: those that `lengths` leaves are padding.
    """

    rows: _Numbers
    samples: _Numbers
    keys: _Numbers
    videos: _Numbers
    starts: _Numbers
    lengths: _Numbers
    offsets: _Numbers
    room: int


def make_picks(samples: Samples, spec: Spec, task: Task) -> Picks:
    """Return what fills the rows of a task.

    A sample's clip is drawn from (seed, epoch, key), where the key is its position in the client's index, or else its
    own number.

    Raises
    ------
    IndexError
        When there is no such sample.
    """
    rows, numbers = np.asarray(task.rows, np.int64), np.asarray(task.samples, np.int64)
    keys = np.asarray(task.positions, np.int64) if task.positions else numbers
    videos, starts = samples.videos(numbers), samples.starts(task.epoch, numbers, keys)
    if spec.varies:
        lengths, offsets = np.asarray(task.lengths, np.int64), np.asarray(task.offsets, np.int64)
        return Picks(rows, numbers, keys, videos, starts, lengths, offsets, task.room)
    room = spec.clip.frames if isinstance(spec.clip, Clip) else 1
    return Picks(rows, numbers, keys, videos, starts, samples.lengths(numbers), rows * room, room)


def runs_by_video(picks: Picks) -> Iterator[tuple[int, list[int], list[Run]]]:
    """Yield each video of a task with its entries, and with the runs of frames that fill them, in the video's order.

    Rows whose frames follow each other in the video and in the slot, without padding, are one run. For samples whose
    frames are neighbours (a stride of 1).
    """
    order = np.lexsort((picks.starts, picks.videos))
    videos, starts, lengths, begins = (
        each[order] for each in (picks.videos, picks.starts, picks.lengths, picks.offsets)
    )
    leaves = videos[1:] != videos[:-1]
    breaks = leaves | (starts[1:] != starts[:-1] + lengths[:-1]) | (begins[1:] != begins[:-1] + lengths[:-1])
    firsts = np.flatnonzero(np.concatenate([[True], breaks]))
    totals = np.add.reduceat(lengths, firsts)
    runs = list(map(Run, starts[firsts].tolist(), totals.tolist(), begins[firsts].tolist()))
    changes = [0, *(np.flatnonzero(leaves) + 1).tolist(), len(order)]
    run_changes = np.searchsorted(firsts, changes).tolist()
    entries = order.tolist()
    for place, (first, end) in enumerate(itertools.pairwise(changes)):
        yield int(videos[first]), entries[first:end], runs[run_changes[place] : run_changes[place + 1]]


def draw(spec: Spec, epoch: int, keys: _Numbers) -> Draws:
    """Return, for each key, the draws of the crop's rows and columns, and whether to mirror; for all cameras."""
    count = len(keys)
    crops: Sequence[tuple[int, int]] = [(0, 0)] * count
    flips: Sequence[bool] = [False] * count
    if spec.image.crop == "random":
        tops = draws(spec.seed, epoch, keys, Purpose.CROP_TOP).tolist()
        lefts = draws(spec.seed, epoch, keys, Purpose.CROP_LEFT).tolist()
        crops = list(zip(tops, lefts, strict=True))
    if spec.image.flip:
        flips = (draws(spec.seed, epoch, keys, Purpose.FLIP) >> np.uint64(63)).astype(bool).tolist()
    return crops, flips
