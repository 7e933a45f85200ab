"""Decides which steps to want before they are asked for; pure: positions in, wants and forgets out.

A *cursor* is a place that somebody reads from: it moves when the step after it is asked for, and at the end of an epoch
it goes on with the next one, so the turn of an epoch is no pause. Several iterators of one dataset are several
cursors, which share the prefetch among them. A cursor that nobody has moved for a while belonged to an iterator that
was dropped; the steps that were wanted for it are forgotten, so they hold no slots. Threads that read side by side may
overtake each other: the steps that one has skipped stay wanted for a while, for the others.

Steps that are wanted ahead are ready sooner or later, and hold slots until somebody asks for them. There are slots for
`prefetch` of those beside what the trainer may hold, and a service fills slots in the order of the wants. So a step
that was not wanted ahead, and comes after those, could wait for ever: when one is asked for, a place is kept for it.

A reader that says with which epoch it ends has nothing wanted of those after it.

Where only the reader knows what its steps hold, those that it has *announced* are wanted ahead, and no others.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import chain, islice, zip_longest

#: (epoch, step)
Position = tuple[int, int]

#: Cursors that are remembered: `zip` of a dataset with itself has two, and nobody has many more.
_MOST_CURSORS = 4

#: A cursor is stale when this many steps were asked for, for each living cursor, since it last moved; so is a skipped
#: step when it was not asked for.
_STALE_AFTER = 8


@dataclass
class _Cursor:
    position: Position  # the step asked for last
    moved: int  # when, counted in steps asked for
    skipped: dict[Position, int] = field(default_factory=dict)  # steps before it, and when they were skipped


@dataclass
class Claim:
    """What follows from asking for a step, or from announcing one."""

    want: int = 0  # will bring the step; the first of `new` when it was not wanted before; 0 when none was asked for
    new: list[tuple[int, Position]] = field(default_factory=list)  # wants to send, the most urgent first
    forgotten: list[int] = field(default_factory=list)  # wants to take back
    has_last: bool = False  # the last of `new` is the last step that is ever read


class Lookahead:
    """The wants of one stream that nobody has asked for yet.

    Parameters
    ----------
    steps_per_epoch
        Steps in an epoch, at least 1.
    prefetch
        Steps to want ahead, for all cursors together, at least 1. Never more are.
    is_known
        Whether it is known what a step holds; None: that of every step is.
    """

    def __init__(self, steps_per_epoch: int, prefetch: int, is_known: Callable[[Position], bool] | None = None) -> None:
        self._steps_per_epoch = steps_per_epoch
        self._prefetch = prefetch
        self._is_known = is_known
        self._cursors: list[_Cursor] = []
        self._ahead: dict[Position, int] = {}
        self._asked = 0
        self._last_want = 0
        self._epochs: int | None = None  # None: any number
        self._end: Position | None = None  # the last step wanted, while there is one cursor and nothing was skipped

    def claim(self, position: Position) -> Claim:
        """Ask for a step: it will come under the want returned, and the steps after it are wanted now."""
        self._asked += 1
        if self._end is not None and position == self._next(self._cursors[0].position):
            end = self._next(self._end)
            if self._is_read(self._next(end)):
                return self._go_on(position, end)
        self._move_cursor(position)
        claim = Claim(self._ahead.pop(position, 0))
        if not claim.want:
            claim.want = self._new_want()
            claim.new.append((claim.want, position))
        self._look_ahead(claim)
        return claim

    def announce(self, position: Position) -> Claim:
        """Take note that a step has become known, and will be asked for when those before it have been."""
        if not any(cursor.position[0] == position[0] and cursor.position < position for cursor in self._cursors):
            self._keep(_Cursor((position[0], position[1] - 1), self._asked))
        claim = Claim()
        self._look_ahead(claim)
        return claim

    @property
    def prefetch(self) -> int:
        """Steps that are wanted ahead."""
        return self._prefetch

    def resize(self, prefetch: int) -> list[int]:
        """Want so many steps ahead from now on; return the wants that are too many, and forgotten."""
        self._prefetch = prefetch
        self._end = None
        surplus = list(self._ahead)[prefetch:]
        return [self._ahead.pop(position) for position in surplus]

    def end(self, epochs: int) -> None:
        """Want nothing of the epochs from this one on, counted from 0, unless it is asked for."""
        self._epochs = epochs

    def withdraw(self, position: Position) -> None:
        """Want a step no more, until it is its turn again."""
        self._ahead.pop(position, None)
        self._end = None

    def _go_on(self, position: Position, end: Position) -> Claim:
        """Ask for the only cursor's next step: one more is wanted. A look at each of 32 takes 50 µs."""
        self._cursors[0].position = position
        self._cursors[0].moved = self._asked
        self._end = end
        self._ahead[end] = self._new_want()
        return Claim(self._ahead.pop(position), [(self._ahead[end], end)])

    def _look_ahead(self, claim: Claim) -> None:
        """Add to a claim what is to be wanted now, and no more."""
        wished = dict.fromkeys(islice(dict.fromkeys(self._wished()), self._prefetch))
        if claim.want and claim.new:  # it comes after what is wanted already
            for surplus in [each for each in wished if each in self._ahead][self._prefetch - 1 :]:
                del wished[surplus]
        is_alone = self._is_known is None and len(self._cursors) == 1 and not self._cursors[0].skipped
        self._end = next(reversed(wished)) if is_alone and len(wished) == self._prefetch else None
        for stale in [each for each in self._ahead if each not in wished]:
            claim.forgotten.append(self._ahead.pop(stale))
        for each in wished:
            if each not in self._ahead:
                self._ahead[each] = self._new_want()
                claim.new.append((self._ahead[each], each))
        claim.has_last = bool(claim.new) and not self._is_read(self._next(claim.new[-1][1]))

    def _move_cursor(self, position: Position) -> None:
        cursor = self._cursor_before(position) or _Cursor(position, self._asked)
        if cursor.skipped.pop(position, None) is None:
            cursor.position = position
        cursor.moved = self._asked
        self._keep(cursor)

    def _cursor_before(self, position: Position) -> _Cursor | None:
        """Return the cursor that a step belongs to, the steps between the two marked as skipped."""
        for cursor in self._cursors:
            if self._next(cursor.position) == position or position in cursor.skipped:
                return cursor
        if position not in self._ahead:
            return None
        for cursor in self._cursors:
            between = list(islice(self._following(cursor), self._prefetch))
            if position in between:
                cursor.skipped.update((each, self._asked) for each in between[: between.index(position)])
                return cursor
        return None

    def _keep(self, latest: _Cursor) -> None:
        """Put a cursor before all others, and drop those that are stale, or at the same place."""
        others = [each for each in self._cursors if each is not latest and each.position != latest.position]
        patience = _STALE_AFTER * (len(others) + 1)
        self._cursors = [latest, *(each for each in others if self._asked - each.moved <= patience)][:_MOST_CURSORS]
        for each, when in list(latest.skipped.items()):
            if self._asked - when > patience:
                del latest.skipped[each]

    def _wished(self) -> Iterator[Position]:
        """Yield the steps that should be wanted: the next ones of each cursor, in turn."""
        share = max(1, self._prefetch // max(1, len(self._cursors)))
        places = [islice(chain(cursor.skipped, self._following(cursor)), share) for cursor in self._cursors]
        for turn in zip_longest(*places):
            yield from (each for each in turn if each and (self._is_known is None or self._is_known(each)))

    def _following(self, cursor: _Cursor) -> Iterator[Position]:
        position = self._next(cursor.position)
        while self._is_read(position):
            yield position
            position = self._next(position)

    def _is_read(self, position: Position) -> bool:
        return self._epochs is None or position[0] < self._epochs

    def _next(self, position: Position) -> Position:
        epoch, step = position
        return (epoch, step + 1) if step + 1 < self._steps_per_epoch else (epoch + 1, 0)

    def _new_want(self) -> int:
        self._last_want += 1
        return self._last_want
