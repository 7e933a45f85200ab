"""Where videos may end by columns that mark their first or last rows, under names that say other things too.

Of these a line is said, and a schema may cut there. Pure but for reading them.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from loader_service.catalog.dtypes import is_number
from loader_service.catalog.videos.bounds.bound_lists import Bounds
from loader_service.catalog.videos.bounds.end_flags import with_owners

if TYPE_CHECKING:
    from collections.abc import Sequence

    from loader_service.catalog.columns import Int64s
    from loader_service.catalog.hdf5.tree import DatasetInfo
    from loader_service.catalog.videos.bounds.bound_lists import Read

_FIRST = re.compile(r"(is_)?(firsts?|resets?|new|starts?|begins?|inits?)", re.IGNORECASE)
_LAST = re.compile(r"(is_)?(last|ends?)", re.IGNORECASE)

#: What is 0 where an episode ends, and else 1, or one number: as jaxrl, Dreamer and dm_env write it.
_GOES_ON = re.compile(r"masks?|(is_)?(continues?|conts?)|discounts?", re.IGNORECASE)

#: What lies beside them where an agent acts: else a mask says which rows count.
_OF_AGENTS = re.compile(r"(.*_)?(ac|acs|acts?|actions?|rews?|rewards?)", re.IGNORECASE)


class RowMarks(NamedTuple):
    """The videos that marks of rows say, and how these are called in a line."""

    bounds: Bounds
    words: str


def find_by_marks(datasets: Sequence[DatasetInfo], frame_count: int, read: Read) -> RowMarks | None:
    """Return the videos of which a column marks the first or last rows, if none is a row alone and they are several.

    Which of both a mark is of, the first and the last row of all say: one of them has it.

    Raises
    ------
    CatalogError
        When rows of several environments, or agents, lie in turns.
    """
    columns = [info for info in datasets if info.shape in {(frame_count,), (frame_count, 1)} and is_number(info.dtype)]
    acts = any(_OF_AGENTS.fullmatch(info.basename) for info in datasets if info.shape[:1] == (frame_count,))
    for info in columns if frame_count > 1 else ():
        name = info.basename
        goes_on = acts and bool(_GOES_ON.fullmatch(name))
        if not goes_on and not _FIRST.fullmatch(name) and not _LAST.fullmatch(name):
            continue
        marks = _marks(np.ravel(read(info.path)), goes_on=goes_on)
        first = None if marks is None else _first_rows(marks, last=goes_on or bool(_LAST.fullmatch(name)))
        if marks is not None and first is not None and len(first) > 1:
            which = "first" if marks[0] else "last"
            words = f"marks of {which} rows, {0 if goes_on else 1} in {info.path!r},"
            return RowMarks(Bounds.of_starts(with_owners(columns, first, read), frame_count), words)
    return None


def _marks(values: Any, *, goes_on: bool) -> Any:
    """Return which rows are marked, by 1, or by 0 among one other number; None if these are other numbers."""
    kinds = np.unique(values[:_MOST_KINDS])
    other = kinds[-1] if goes_on and len(kinds) == 2 else 1
    if not np.isin(values, (0, other)).all() or not other > 0:
        return None
    marks = values.astype(bool)
    return ~marks if goes_on else marks


def _first_rows(marks: Any, *, last: bool) -> Int64s | None:
    """Return the first rows of the videos; None where two marks follow each other, or it is open of what they are.

    `last`: whether marks are of last rows where neither the first nor the last row of all has one.
    """
    if (marks[1:] & marks[:-1]).any() or (marks[0] and marks[-1]) or not (marks[0] or marks[-1] or last):
        return None
    return np.flatnonzero(marks if marks[0] else np.append(True, marks[:-1]))


#: Numbers of a column that are looked at to see whether it has but two.
_MOST_KINDS = 4096
