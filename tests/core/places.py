"""Where the frames of a step's rows belong in its slot, worked out row by row; knows nothing of who writes them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from loader_service.core.planned import Lengths
from loader_service.protocol.messages import Task
from loader_service.protocol.rows import Row


@dataclass(frozen=True)
class Places:
    """What a worker is told of where its rows' frames go, and of what keys their draws."""

    positions: tuple[int, ...]
    offsets: tuple[int, ...]
    lengths: tuple[int, ...]
    room: int


def laid_out(task: Task) -> Places:
    """Return what a task says."""
    rows = task.rows
    return Places(tuple(rows.positions), tuple(rows.offsets), tuple(rows.lengths), rows.room)


def laid_out_in(planned: Sequence[Row], lengths: Lengths, rows: Sequence[int]) -> Places:
    """Return what a task with some rows of a step should say."""
    positions = tuple(each for row in rows if (each := planned[row].position) is not None)
    if lengths is Lengths.ALIKE:
        return Places(positions, (), (), 0)
    frames = [row.frames for row in planned]
    room = max(frames) if lengths is Lengths.PADDED else 0
    offsets = [row * room if room else sum(frames[:row]) for row in rows]
    return Places(positions, tuple(offsets), tuple(frames[row] for row in rows), room)


def frames_of(planned: Sequence[Row], lengths: Lengths) -> int:
    """Return the frames of a step, padding included."""
    frames = [row.frames for row in planned]
    match lengths:
        case Lengths.ALIKE:
            return 0
        case Lengths.PADDED:
            return max(frames) * len(frames)
        case Lengths.RAGGED:
            return sum(frames)
