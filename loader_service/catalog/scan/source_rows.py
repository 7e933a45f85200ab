"""Makes a catalog of what a user's own Python source yields, so that plans and streams see rows of one video as ever.

Knows neither the source nor its process: only how many rows it has, and which fields.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from loader_service.catalog.cache.kept import write_temporary
from loader_service.catalog.columns import Catalog
from loader_service.catalog.header import CatalogKind, FieldFacts, Header
from loader_service.catalog.inner_paths import to_bytes
from loader_service.catalog.scan.assemble import name_columns, text_columns
from loader_service.errors import CatalogError
from loader_service.protocol.fields import CatalogField


def catalog_of_source(
    name: str, rows: int, fields: tuple[CatalogField, ...], kind: CatalogKind, fingerprint: str
) -> Catalog:
    """Return the temporary catalog of a Python source: one file that is none, with one video of that many frames.

    Parameters
    ----------
    name
        Of the source, as the user wrote it; what errors call the file, and the video.
    rows
        How many items the source has, up to 2**62.
    fields
        What each item holds; arrays only.
    kind
        ``"map"`` or ``"generator"``.
    fingerprint
        Stands for the source and its arguments; 32 hex digits.

    Raises
    ------
    CatalogError
        When there are no rows, or the temporary directory has no room.
    """
    if rows < 1:
        raise CatalogError(f"the source {name!r} has {rows} items; give one with at least one")
    columns: dict[str, npt.NDArray[Any]] = {
        "video_file": np.zeros(1, np.int32),
        "frame_counts": np.array([rows], np.int64),
        "frame_bounds": np.array([0, rows], np.int64),
        **name_columns([to_bytes(name)]),
        **text_columns("paths", "path_bounds", [to_bytes(name)]),
        "file_sizes": np.zeros(1, np.int64),
        "file_mtimes": np.zeros(1, np.int64),
        "file_inodes": np.zeros(1, np.uint64),
        "file_bytes": np.ones(1, np.int64),  # there is but this one to balance
        "file_labels": np.zeros(1, "S32"),
    }
    header = Header(
        fingerprint=fingerprint,
        counts={
            "files": 1,
            "videos": 1,
            "frames": rows,
            "name_bytes": len(columns["names"]),
            "path_bytes": len(columns["paths"]),
        },
        kind=kind,
        fields=tuple(FieldFacts(field, "source") for field in fields),
        skipped=(),
        empty_videos=0,
        name_width=len(columns["names"]),
        largest_frame_bytes=0,
    )
    return write_temporary(header, columns)
