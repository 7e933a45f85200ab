"""Has chunks that only HDF5 reads begun ahead: where they lie, HDF5 says. Knows no picture and no disk."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING

from loader_service.worker.open_file import HDF5Failure

if TYPE_CHECKING:
    from loader_service.catalog.columns import Catalog
    from loader_service.worker.open_file import OpenFile


def fetch_chunks(catalog: Catalog, file: OpenFile, video: int, field: str, frames: range) -> list[tuple[int, int]]:
    """Have the chunks of some frames read ahead, by the kernel where it can; a fault shows when they are read.

    Returns
    -------
    list of tuple of int
        Which bytes of the file threads must read instead: first byte and length.
    """

    def fetch() -> list[tuple[int, int]]:
        if not (catalog.is_encoded(field) or catalog.has_lists(field)):
            return file.fetch_rows(catalog.rows_place(video, field), frames)
        layout, path = catalog.way(video, field), catalog.dataset_path(video, field)
        columns = (each[frames.start : frames.stop : frames.step].tolist() for each in catalog.extents(video, field))
        return [each for extent in zip(*columns, strict=True) for each in file.fetch_frame(layout, path, *extent)]

    with contextlib.suppress(OSError, HDF5Failure):
        return file.through_hdf5(fetch)
    return []
