"""Decides which steps to want before they are asked for; pure: positions in, wants and forgets out.

A *cursor* is a place that somebody reads from: it moves when the step after it is asked for, and at the end of an epoch
it goes on with the next one, so the turn of the epoch is no pause. Several iterators of one dataset are several
cursors, which share the prefetch among them. A cursor that nobody has moved for a while belonged to an iterator that
was dropped; the steps that were wanted for it are forgotten, so they hold no slots.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

#: (epoch, step)
Position = tuple[int, int]

#: Cursors that are remembered: `zip` of a dataset with itself has two, and nobody has many more.
_MOST_CURSORS = 4

#: A cursor is stale when this many steps were asked for, for each living cursor, since it last moved.
_STALE_AFTER = 8


@dataclass
class _Cursor:
    position: Position  # the step asked for last
    moved: int  # when, counted in steps asked for


@dataclass
class Claim:
    """What follows from asking for a step."""

    want: int  # will bring the step; the first of `new` when it was not wanted before
    new: list[tuple[int, Position]] = field(default_factory=list)  # wants to send, the most urgent first
    forgotten: list[int] = field(default_factory=list)  # wants to take back


class Lookahead:
    """The wants of one stream that nobody has asked for yet.

    Parameters
    ----------
    steps_per_epoch
        Steps in an epoch, at least 1.
    prefetch
        Steps to want ahead, for all cursors together, at least 1.
    """

    def __init__(self, steps_per_epoch: int, prefetch: int) -> None:
        self._steps_per_epoch = steps_per_epoch
        self._prefetch = prefetch
        self._cursors: list[_Cursor] = []
        self._ahead: dict[Position, int] = {}
        self._asked = 0
        self._last_want = 0

    def claim(self, position: Position) -> Claim:
        """Ask for a step: it will come under the want returned, and the steps after it are wanted now."""
        self._asked += 1
        self._move_cursor(position)
        claim = Claim(self._ahead.pop(position, 0))
        if not claim.want:
            claim.want = self._new_want()
            claim.new.append((claim.want, position))
        wished = dict.fromkeys(self._wished())
        for stale in [each for each in self._ahead if each not in wished]:
            claim.forgotten.append(self._ahead.pop(stale))
        for each in wished:
            if each not in self._ahead:
                self._ahead[each] = self._new_want()
                claim.new.append((self._ahead[each], each))
        return claim

    def _move_cursor(self, position: Position) -> None:
        cursor = next((each for each in self._cursors if self._next(each.position) == position), None)
        if cursor is None:
            cursor = _Cursor(position, self._asked)
        else:
            self._cursors.remove(cursor)
        cursor.position, cursor.moved = position, self._asked
        fresh = [each for each in self._cursors if self._asked - each.moved <= _STALE_AFTER * (len(self._cursors) + 1)]
        self._cursors = [cursor, *fresh][:_MOST_CURSORS]

    def _wished(self) -> Iterator[Position]:
        """Yield the steps that should be wanted: the next ones of each cursor, in turn."""
        share = max(1, self._prefetch // len(self._cursors))
        places = [cursor.position for cursor in self._cursors]
        for _ in range(share):
            places = [self._next(place) for place in places]
            yield from places

    def _next(self, position: Position) -> Position:
        epoch, step = position
        return (epoch, step + 1) if step + 1 < self._steps_per_epoch else (epoch + 1, 0)

    def _new_want(self) -> int:
        self._last_want += 1
        return self._last_want
