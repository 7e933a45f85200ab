"""One want that is not done with, and the slots that are being filled for it: which rows there are, and where. Pure.

Usually one slot is filled for a want. When a worker is late with rows of it while others have nothing to do, a second
slot is filled beside the first, from the planned rows on; the first one that is whole answers the want. Both hold the
same bytes, since what takes the place of a bad row follows from the planned row and the number of its failures alone.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass, field, replace

from loader_service.core.ledger import require
from loader_service.core.planned import Lengths, PlannedStream
from loader_service.core.tasks import PendingTask
from loader_service.errors import CatalogChanged
from loader_service.protocol.messages import BadRow, Ready, Task, Want
from loader_service.protocol.rows import Row, Rows, StepRows


@dataclass(slots=True)
class Filling:
    """The rows of a step on their way into one slot."""

    stream: int
    plan: PlannedStream
    wanted: Want
    slot: int
    rows: StepRows = field(init=False)  # by row number; a substitute takes the place of a bad one
    planned: dict[int, Row] = field(default_factory=dict)  # what was to be where a substitute is
    failures: dict[int, int] = field(default_factory=dict)  # of a row, so far
    open_tasks: set[int] = field(default_factory=set)  # queued, or with a worker that may still write
    error: BadRow | None = None
    abandoned: bool = False  # nobody waits for it any more; workers may still write
    is_kept: bool = False  # by a worker that is late with it, and its step is done again or waits for a slot to be
    asked_for_another: bool = False  # slot, to do all of it again, when none was free; no answer with a slot since
    _offsets: tuple[int, ...] = ()  # of each row: where its frames begin, in frames; empty where lengths are alike
    _room: int = 0  # frames that each row has there when padded
    _frames: int = 0  # of all rows together, padding included

    def __post_init__(self) -> None:
        """Have the rows chosen, and lay them out in the slot."""
        source, wanted = self.plan.source, self.wanted
        if self.plan.indexed:
            rows = source.rows_of(wanted.samples, wanted.positions)
        else:
            rows = source.rows(wanted.epoch, wanted.step)
        self.rows = StepRows.of(rows)
        match self.plan.lengths:
            case Lengths.PADDED:
                self._room = max(row.frames for row in rows)
                self._offsets = tuple(range(0, self._room * len(rows), self._room))
                self._frames = self._room * len(rows)
            case Lengths.RAGGED:
                *offsets, self._frames = itertools.accumulate((row.frames for row in rows), initial=0)
                self._offsets = tuple(offsets)
            case Lengths.ALIKE:
                pass

    def substitute(self, row: int) -> bool:
        """Count a failure of a row, and put another sample in its place; return whether there is one.

        It has as many frames as what was planned, so that no other row's place changes.
        """
        failures = self.failures[row] = self.failures.get(row, 0) + 1
        if failures > self.plan.substitutes:
            return False
        planned = self.planned.get(row, self.rows[row])
        other = self.plan.source.substitute(self.wanted.epoch, planned, failures)
        if other is None:
            return False
        told = (self.wanted.want, row, planned, other)
        require((other.frames, other.position) == (planned.frames, planned.position), "no fit substitute", *told)
        self.planned[row] = planned
        self.rows = self.rows.with_row(row, other)
        return True

    def blame(self, bad: BadRow) -> None:
        """Note the error of a row that stays bad, and why nothing took its place; that of the lowest row counts."""
        if self.error is not None and self.error.row <= bad.row:
            return
        others, most = self.failures.get(bad.row, 1) - 1, self.plan.substitutes
        if bad.error == CatalogChanged.__name__:
            pass  # nothing was tried in its place
        elif others < most:
            bad = replace(bad, message=f"{bad.message}; there is no other sample that fits into its place")
        elif most:
            bad = replace(bad, message=f"{bad.message}; what was tried in its place, {others} times, was bad too")
        self.error = bad

    def size_bytes(self, rows: tuple[int, ...]) -> int:
        """Return how much output some rows are: the measure of work."""
        frames = sum(self.rows[row].frames for row in rows) if self.plan.frame_bytes else 0
        return len(rows) * self.plan.row_bytes + frames * self.plan.frame_bytes

    def order(self, task: PendingTask) -> Task:
        """Return what a worker is told of some of its rows."""
        told = Rows.of(task.rows, self.rows, indexed=self.plan.indexed, offsets=self._offsets, room=self._room)
        return Task(task.task, task.stream, self.wanted.epoch, self.slot, told)

    def readiness(self, lease: int) -> Ready:
        """Return the announcement that the step is in the slot."""
        return Ready(
            stream=self.stream,
            want=self.wanted.want,
            slot=self.slot,
            lease=lease,
            rows=len(self.rows),
            frames=self._frames,
            substituted=len(self.planned),
        )


@dataclass(slots=True)
class Step:
    """One want that is not done with: waiting for a slot, being filled, or leased."""

    wanted: Want
    since: float = 0.0  # when it was asked for
    fillings: list[Filling] = field(default_factory=list)  # that can still answer it; the latest is the last
    ready: Ready | None = None  # what its client was told; None until it is leased
    forgotten: bool = False  # its client does not wait for it; it stays known until no worker is at it

    @property
    def waits(self) -> bool:
        """Whether it waits for a slot."""
        return not (self.fillings or self.ready or self.forgotten)
