"""Where the iterators of a dataset begin and end, counted in steps through all epochs; pure arithmetic of epochs.

Iterators are numbered in the order in which they draw. As it comes, iterator n is epoch n. A training that goes on
somewhere else says where: the next iterator to draw begins there, and those after it follow from it.
"""

from __future__ import annotations

import threading
from dataclasses import dataclass
from typing import Any

from loader_service.errors import ConfigError
from loader_service.protocol.numbers import as_int, whole_number

#: Largest number of an epoch. The wire has room for twice that; those after it are wanted ahead.
MAX_EPOCH = 2**62

#: Steps through all epochs are counted in 64 bits.
_MOST_STEPS = 2**62

#: What every training begins with.
FROM_THE_BEGINNING = (0, 0)


def check_start(start: Any) -> tuple[int, int]:
    """Return a start as two whole numbers, before it is known how many steps an epoch has.

    Raises
    ------
    ConfigError
        When it is no pair of whole numbers.
    """
    if not isinstance(start, (tuple, list)) or len(start) != 2:
        raise ConfigError(f"start={start!r} is not a pair; give (epoch, step)")
    expected = "0 to the steps of an epoch"
    return whole_number("start epoch", start[0], 0, MAX_EPOCH), as_int("start step", start[1], expected)


def start_within(start: Any, steps_per_epoch: int) -> tuple[int, int]:
    """Return a start as two whole numbers; the step after an epoch's last one is that epoch's end.

    Raises
    ------
    ConfigError
        When it is no pair of whole numbers, or beyond the epoch's steps.
    """
    epoch, step = check_start(start)
    most = min(MAX_EPOCH, _MOST_STEPS // steps_per_epoch)
    return whole_number("start epoch", epoch, 0, most), whole_number("start step", step, 0, steps_per_epoch)


#: No iterator, and no steps.
_NOBODY = (-1, (0, 0))


@dataclass(frozen=True)
class _Turn:
    """From which iterator on which steps are gone through."""

    iterator: int
    position: int
    crosses: bool  # each iterator has as many steps as an epoch, wherever it begins


class Starts:
    """The steps of each iterator. Any thread may use it.

    Parameters
    ----------
    steps_per_epoch
        Steps in an epoch, at least 1.
    start
        Epoch and step that the first iterator begins with; what `start_within` returned.
    part
        Which of the samples an epoch has, as `Spec.part` says.
    """

    def __init__(self, steps_per_epoch: int, start: tuple[int, int] = FROM_THE_BEGINNING, part: str = "all") -> None:
        self.steps_per_epoch = steps_per_epoch
        self.part = part
        self.position = start[0] * steps_per_epoch + start[1]
        self._lock = threading.Lock()
        self._turns = [_Turn(0, self.position, crosses=False)]
        self._drawn = -1  # the highest number of an iterator so far
        self._next: tuple[int, bool] | None = None
        self._latest = _NOBODY  # who asked last, for most ask at each of their steps

    def begin_at(self, position: int, *, crosses: bool = False) -> None:
        """Have the next iterator that draws begin at a step, counted through all epochs.

        Parameters
        ----------
        position
            ``epoch * steps_per_epoch + step``.
        crosses
            Whether each iterator from there on has `steps_per_epoch` steps, and so goes over into the next epoch, for
            pipelines that put them one after the other. Else the next one ends with its epoch.
        """
        with self._lock:
            self._next = (position, crosses)

    @property
    def is_awaited(self) -> bool:
        """Whether no iterator has drawn since `begin_at`."""
        return self._next is not None

    def restore(self, iterator: int, position: int) -> None:
        """Have an iterator, and those after it, begin where they would have in a dataset with another start.

        Parameters
        ----------
        iterator
            Its number.
        position
            The `position` of the dataset that it was made of.
        """
        with self._lock:
            turn = _Turn(iterator, self._span_from(_Turn(0, position, crosses=False), iterator)[0], crosses=False)
            if self._span_from(turn, iterator) != self._span(iterator):
                self._turns.append(turn)
            self._latest = _NOBODY

    def steps_of(self, iterator: int) -> tuple[int, int]:
        """Return where an iterator begins and ends, counted through all epochs; the same whenever it is asked for."""
        latest = self._latest
        if iterator == latest[0]:
            return latest[1]
        with self._lock:
            if self._next is not None and iterator > self._drawn:
                (position, crosses), self._next = self._next, None
                turn = _Turn(iterator, position, crosses)
                if crosses or self._span(iterator) != self._span_from(turn, iterator):
                    self._turns.append(turn)
            self._drawn = max(self._drawn, iterator)
            self._latest = (iterator, self._span(iterator))
            return self._latest[1]

    def _span(self, iterator: int) -> tuple[int, int]:
        turn = next(each for each in reversed(self._turns) if each.iterator <= iterator)
        return self._span_from(turn, iterator)

    def _span_from(self, turn: _Turn, iterator: int) -> tuple[int, int]:
        later, steps = iterator - turn.iterator, self.steps_per_epoch
        if turn.crosses:
            first = turn.position + later * steps
            return first, first + steps
        epoch = turn.position // steps + later
        return (epoch * steps if later else turn.position), (epoch + 1) * steps
