"""Lengths of sequences as columns of one matrix, of which one counts these rows, others what belongs to them. Pure."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import numpy as np

from loader_service.catalog.dtypes import is_whole
from loader_service.catalog.vocabulary import RECORDINGS
from loader_service.errors import CatalogError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any

    from loader_service.catalog.columns import Int64s
    from loader_service.catalog.hdf5.tree import DatasetInfo

#: What lengths of sequences are called, as RETURNN does; sizes or counts may be of something else.
_LENGTHS = re.compile(rf"(^|_)({RECORDINGS}|utterance)s?_?len(gth)?s?$", re.IGNORECASE)

#: Columns of lengths: of inputs, and of the targets that belong to them.
_MOST_COLUMNS = 8


def are_length_columns(info: DatasetInfo) -> bool:
    """Tell whether a dataset is called as lengths of sequences, and has one or a few for each of them."""
    few = len(info.shape) == 2 and 0 < info.shape[1] <= _MOST_COLUMNS
    return few and is_whole(info.dtype) and bool(_LENGTHS.search(info.basename))


def lengths_in_columns(
    datasets: Sequence[DatasetInfo], frame_count: int, read: Callable[[str], Any]
) -> tuple[Int64s, str] | None:
    """Return the lengths of sequences that end to end are so many rows, and the path of their dataset; None without.

    Raises
    ------
    CatalogError
        When no column sums to the rows.
    """
    several = [info for info in datasets if are_length_columns(info) and info.shape[1] > 1]
    for info in (each for each in several if 0 < each.shape[0] < frame_count):
        columns = np.asarray(read(info.path)).astype(np.int64).T
        for column in columns:
            if (column >= 0).all() and column.sum() == frame_count:
                return column, info.path
        raise CatalogError(
            f"{info.path!r}: expected a column of lengths that sum to {frame_count}, the number of rows; found sums of "
            f"{', '.join(map(str, columns.sum(axis=1).tolist()))}"
        )
    return None
