"""Which samples go into which rows of a slot: a row as the plan has it, and columns from the core to the pixels. Pure.

A number more for each row is a field of `Row` and a column of `Rows`, and nothing between its ends names it.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from loader_service.protocol.numbers import NumberColumn, PackedNumbers, number_column
from loader_service.record_class import record


class Row(NamedTuple):
    """One row of a step, as the plan has it.

    No dataclass, as those of a step may be made by the hundred.
    """

    sample: int
    file: int  # that the sample lies in
    position: int | None = None  # entry of the client's index; None when the plan chose the sample
    frames: int = 0  # that it takes in the fields that vary


class StepRows(Sequence[Row]):
    """All rows of a step, by number, in columns: none is made before it is asked for.

    Parameters
    ----------
    columns
        A column for each field of `Row`, in their order.
    """

    __slots__ = ("_columns",)

    def __init__(self, *columns: Sequence[Any]) -> None:
        self._columns = columns

    @classmethod
    def of(cls, rows: Sequence[Row]) -> StepRows:
        """Return rows in columns; at least one."""
        return rows if isinstance(rows, StepRows) else cls(*zip(*rows, strict=True))

    def __len__(self) -> int:
        return len(self._columns[0])

    def __getitem__(self, number: Any) -> Any:
        if isinstance(number, slice):
            return StepRows(*[column[number] for column in self._columns])
        return Row(*[column[number] for column in self._columns])

    def with_row(self, number: int, row: Row) -> StepRows:
        """Return the rows with another one in a place."""
        return StepRows.of([row if place == number else each for place, each in enumerate(self)])

    def column(self, name: str, numbers: tuple[int, ...]) -> NumberColumn:
        """Return a field of some rows, by number."""
        column = self._columns[_FIELDS.index(name)]
        if numbers == all_rows(len(column)):
            return column if isinstance(column, PackedNumbers) else tuple(column)
        return (
            column.take(numbers) if isinstance(column, PackedNumbers) else tuple([column[number] for number in numbers])
        )


_FIELDS = Row._fields


@functools.lru_cache(maxsize=64)
def all_rows(count: int) -> tuple[int, ...]:
    """Return the numbers of all rows of a step of so many."""
    return tuple(range(count))


@functools.lru_cache(maxsize=64)
def _all_told(count: int) -> NumberColumn:
    """Return the same as they travel."""
    return number_column(np.arange(count))


@record(frozen=True)
class Rows:
    """Rows of one slot, and what fills them.

    Parameters
    ----------
    numbers, samples
        Number of the row in the batch, and of the sample that goes there.
    positions
        What keys the random draws, and the field `position`; empty: the samples do.
    offsets, lengths
        Where each row's frames begin in the fields that vary, and how many there are; empty when no field varies.
    room
        Frames that each row has there; zeros fill what its length leaves.
    """

    numbers: NumberColumn
    samples: NumberColumn
    positions: NumberColumn = ()
    offsets: NumberColumn = ()
    lengths: NumberColumn = ()
    room: int = 0

    @classmethod
    def of(
        cls, numbers: tuple[int, ...], rows: StepRows, *, indexed: bool, offsets: tuple[int, ...], room: int
    ) -> Rows:
        """Return the columns of some rows of a step, by number; `rows` and `offsets` are those of all of them.

        The offsets are empty when no field varies.
        """
        # By position, which takes half as long; there is one for each task.
        return cls(
            _all_told(len(rows)) if numbers == all_rows(len(rows)) else numbers,
            rows.column("sample", numbers),
            rows.column("position", numbers) if indexed else (),
            tuple([offsets[number] for number in numbers]) if offsets else (),
            rows.column("frames", numbers) if offsets else (),
            room,
        )

    @property
    def keys(self) -> NumberColumn:
        """What keys the random draws of each row."""
        return self.positions or self.samples

    def alone(self, entry: int) -> Rows:
        """Return one entry as the only row of a slot that it fills."""
        only: dict[str, Any] = {
            name: column[entry : entry + 1] for name, column in vars(self).items() if isinstance(column, Sequence)
        }
        lengths = only["lengths"]
        return replace(self, **{**only, "numbers": (0,), "offsets": (0,) * len(lengths), "room": sum(lengths)})
