"""Refuses columns that are called as splits are, and lie alone in a file: they are no table. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING

from loader_service.catalog.split_words import said_by
from loader_service.catalog.videos.readings import Reading, TwoReadingsError, fields_of
from loader_service.schema import Schema

if TYPE_CHECKING:
    from collections.abc import Sequence

    from loader_service.catalog.hdf5.tree import DatasetInfo


def refuse_columns_of_splits(arrays: Sequence[DatasetInfo]) -> None:
    """Refuse a file of nothing but columns that are called as splits are: tokens of texts, say, or lists of rows.

    Raises
    ------
    TwoReadingsError
        With the schema for the rows of each.
    """
    if len(arrays) < 2 or any(len(info.shape) > 1 for info in arrays):
        return
    said = [said_by(info.basename) for info in arrays]
    if len({each.word.lower() for each in said if each and not each.rest}) == len(arrays):
        raise TwoReadingsError(
            f"found {' and '.join(info.describe() for info in arrays[:2])}, columns that are called as splits are, "
            "which are never mixed",
            [Reading(f"rows of {info.path!r}", Schema(("table",), fields_of([info], "array"))) for info in arrays],
        )
