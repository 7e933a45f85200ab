"""What an actor does on its node: puts the columns that Ray brought into files, and is a remote worker."""

from __future__ import annotations

import platform
import tempfile
from collections.abc import Mapping
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy.typing as npt

from loader_service.catalog.cache.column_files import is_catalog_file, open_catalog
from loader_service.catalog.columns import Catalog
from loader_service.errors import LoaderError
from loader_service.remote.remote_options import RemoteWorkerOptions, check_versions
from loader_service.remote.remote_worker import serve_remote


def serve_columns(options: Mapping[str, Any], columns: Mapping[str, npt.NDArray[Any]]) -> dict[str, str]:
    """Be a remote worker until it is not needed any more.

    Parameters
    ----------
    options
        `RemoteWorkerOptions`, taken apart.
    columns
        The bytes of each file of the catalog, by its name: ``(bytes,) uint8``.

    Returns
    -------
    dict
        ``node``, and ``line``: why it ended; ``error``: the name of an error's class, "" when all was well.
    """
    try:
        check_versions(options, platform.node())  # others may have other columns, and other options
        with closing(_catalog(columns)) as catalog:
            return {
                "node": platform.node(),
                "error": "",
                "line": serve_remote(RemoteWorkerOptions.of(options), catalog),
            }
    except (LoaderError, OSError) as error:
        return {"node": platform.node(), "error": type(error).__name__, "line": str(error)}


def _catalog(columns: Mapping[str, npt.NDArray[Any]]) -> Catalog:
    """Map the columns; their files have no name any more when this returns."""
    with tempfile.TemporaryDirectory(prefix="loader-service-") as folder:
        for name, column in columns.items():
            if is_catalog_file(name):
                column.tofile(Path(folder) / name)
        return open_catalog(folder)
