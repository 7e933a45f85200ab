"""Reads columns that are called as one split is, or lie in its group, as the rows of a table: tokens, texts, ids."""

from __future__ import annotations

from typing import TYPE_CHECKING

from loader_service.catalog.dtypes import is_vlen
from loader_service.catalog.layouts.search import explain_texts
from loader_service.catalog.split_words import meaning_of
from loader_service.catalog.videos.arrays.picture_sequences import of_dataset
from loader_service.catalog.videos.episodes import Found

if TYPE_CHECKING:
    from collections.abc import Sequence

    from loader_service.catalog.hdf5.file import HDF5File
    from loader_service.catalog.hdf5.tree import DatasetInfo, Tree


def find_split_columns(hdf5: HDF5File, tree: Tree, entries: Sequence[DatasetInfo]) -> Found | None:
    """Return a table of a file's columns of one length, where all that is there says one split; None elsewhere.

    What else it could be, a list of what lies in other datasets, it is not: there are none.
    """
    said = {next(filter(None, map(meaning_of, path.split("/"))), None) for path in tree.datasets}
    columns = [info for info in entries if len(info.shape) == 1 and not is_vlen(info.dtype)]
    alike = len(columns) == len(entries) and len({info.shape for info in columns}) == 1
    if not alike or len(said) != 1 or None in said or explain_texts(hdf5, tree):
        return None
    return Found("table", [of_dataset("", max(columns, key=lambda info: info.size_bytes))])
