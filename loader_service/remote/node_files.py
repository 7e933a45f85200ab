"""Whether a node sees the files of a catalog, and sees the same ones; reads none of them."""

from __future__ import annotations

import os
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

from loader_service.catalog.columns import Catalog, FileStat
from loader_service.errors import CatalogError
from loader_service.protocol.worker_messages import AdoptFile
from loader_service.sizes import counted
from loader_service.stores.urls import is_url
from loader_service.worker.open_file import stat_of

#: Files that are looked at together: on a network file system each look waits for its server.
_TOGETHER = 32


class NodeFiles:
    """The files of a catalog as one node sees them.

    Size and time must be those that were scanned. The inode may be another: each mount may number files in its own way.

    Parameters
    ----------
    catalog
        What was scanned.
    node
        For people.

    Attributes
    ----------
    renumbered
        Files with another inode, and what identifies them here.

    Raises
    ------
    CatalogError
        When a file is not there: names the node, how many there are, and the first one.
    """

    def __init__(self, catalog: Catalog, node: str) -> None:
        self._catalog = catalog
        self._node = node
        self.renumbered: list[tuple[int, FileStat]] = []
        self._doubtful: dict[int, FileStat] = {}  # with another size or time than scanned, as the node sees them
        self._look_at_all()

    def adopted(self, message: AdoptFile) -> FileStat | None:
        """Take in that a file is another one with the same content; return what identifies it here.

        None where the node sees another file than the training host, which `check` says when that does not change.
        """
        file = message.file
        seen = _look(self._catalog.file_path(file))
        if seen is None or (seen.size_bytes, seen.mtime_ns) != (message.size_bytes, message.mtime_ns):
            self._doubtful[file] = FileStat(message.size_bytes, message.mtime_ns, message.inode)
            return None
        self._doubtful.pop(file, None)
        return seen

    def check(self) -> None:
        """Make sure that all files are those of the training host.

        Raises
        ------
        CatalogError
            When one is not: names node and path.
        """
        if not self._doubtful:
            return
        path = self._catalog.file_path(min(self._doubtful))
        if _look(path) is None:
            raise CatalogError(f"node {self._node} does not see {path!r} any more; mount its file system again there")
        raise CatalogError(
            f"node {self._node} sees another file at {path!r} than the training host: size or time of change differ "
            f"({len(self._doubtful)} such files); mount the same file system there, or copy with `rsync -a`"
        )

    def _look_at_all(self) -> None:
        missing: list[str] = []
        for file, path, seen in self._seen():
            known = self._catalog.file_stat(file)
            if seen is None:
                missing.append(path)
            elif (seen.size_bytes, seen.mtime_ns) != (known.size_bytes, known.mtime_ns):
                self._doubtful[file] = seen
            elif seen != known:
                self.renumbered.append((file, seen))
        if missing:
            raise CatalogError(
                f"node {self._node} does not see {len(missing)} of "
                f"{counted(self._catalog.file_count, 'file')}, such as "
                f"{missing[0]!r}; mount the same file system at the same place there, or name files in a store by URL"
            )

    def _seen(self) -> Iterator[tuple[int, str, FileStat | None]]:
        paths = [self._catalog.file_path(file) for file in range(self._catalog.file_count)]
        local = [(file, path) for file, path in enumerate(paths) if not is_url(path)]
        with ThreadPoolExecutor(_TOGETHER) as pool:
            for (file, path), seen in zip(local, pool.map(_look, [path for _, path in local]), strict=True):
                yield file, path, seen


def _look(path: str) -> FileStat | None:
    """Return what identifies a file; None when there is none that can be read."""
    return stat_of(path) if os.access(path, os.R_OK) else None
