"""Keeps the cache of scans and catalogs within bounds: what was not used for longest goes.

It works by descriptor, follows no link, and removes only what bears a name that the cache gives and is this user's.
"""

from __future__ import annotations

import contextlib
import logging
import os
import stat
from collections.abc import Iterable, Iterator
from pathlib import Path

from loader_service.catalog.cache.cache_folder import (
    BUNDLES,
    CATALOGS,
    SCANS,
    is_bundle,
    is_catalog,
    is_scan,
    is_scan_folder,
    is_unfinished,
    open_cache,
)
from loader_service.catalog.cache.column_files import is_catalog_file
from loader_service.catalog.cache.directory_locks import remove_unless_held
from loader_service.private_folders import Folder, NotOurs, is_own_file
from loader_service.record_class import record
from loader_service.sizes import counted

_LOG = logging.getLogger(__name__)

#: Writing takes seconds: what is still unfinished after a day belongs to nobody. In seconds.
_ABANDONED_S = 86_400.0


@record(frozen=True)
class CacheLimits:
    """How much is kept. A catalog takes 50 bytes a video and 12 a frame: 1.3 GB for a million videos of 100 frames.

    Attributes
    ----------
    catalogs
        Number of catalogs.
    catalog_bytes
        Of all catalogs.
    scan_bytes
        Of all scans of single files.
    bundles
        Number of files that hold many scans.
    """

    catalogs: int = 32
    catalog_bytes: int = 8 * 2**30
    scan_bytes: int = 4 * 2**30
    bundles: int = 64


@record(frozen=True)
class _Entry:
    folder: str
    name: str
    used_s: float
    size_bytes: int


def note_use(folder: Folder, name: str = ".") -> None:
    """Make an entry the one that was used last; on a read-only disk, it stays as it is."""
    with contextlib.suppress(OSError):
        os.utime(name, dir_fd=folder.fileno(), follow_symlinks=False)


def prune(cache_dir: Path, limits: CacheLimits | None = None) -> None:
    """Remove the catalogs and scans beyond the limits, those used longest ago first, and what killed writers left.

    Called by the process that has just added to the cache; several processes may do so at once. A catalog that a living
    process uses stays. A cache that cannot be pruned is no error, but is said.
    """
    bounds = limits or CacheLimits()
    try:
        with contextlib.suppress(FileNotFoundError), open_cache(cache_dir) as cache:
            note_use(cache)
            abandoned_s = cache.status().st_mtime - _ABANDONED_S  # by the disk's own clock
            with contextlib.suppress(FileNotFoundError), cache.folder(CATALOGS) as catalogs:
                _prune_catalogs(catalogs, bounds, abandoned_s)
            with contextlib.suppress(FileNotFoundError), cache.folder(SCANS) as scans:
                _prune_scans(scans, bounds, abandoned_s)
    except OSError as error:
        _LOG.warning("cannot prune the cache %r: %s; it keeps growing", str(cache_dir), str(error))


def _prune_catalogs(catalogs: Folder, limits: CacheLimits, abandoned_s: float) -> None:
    entries: list[_Entry] = []
    for name, status in catalogs.entries():
        if is_unfinished(name) and stat.S_ISDIR(status.st_mode) and status.st_mtime < abandoned_s:
            _remove(catalogs, name)
        if is_catalog(name) and stat.S_ISDIR(status.st_mode):
            entries += _catalog_entries(catalogs, name)
    removed = sum(_remove(catalogs, each.name) for each in _beyond(entries, limits.catalogs, limits.catalog_bytes))
    if removed:
        _LOG.info("removed %s from the cache, unused for longest", counted(removed, "catalog"))


def _prune_scans(scans: Folder, limits: CacheLimits, abandoned_s: float) -> None:
    entries: list[_Entry] = []
    for name, _ in scans.entries():
        if is_scan_folder(name) or name == BUNDLES:
            entries += _scan_entries(scans, name, abandoned_s)
    removed = 0
    bundles = [entry for entry in entries if entry.folder == BUNDLES]
    beyond = [*_beyond(bundles, limits.bundles, limits.scan_bytes), *_beyond(entries, len(entries), limits.scan_bytes)]
    for entry in dict.fromkeys(beyond):
        with contextlib.suppress(FileNotFoundError), scans.folder(entry.folder) as folder:
            folder.unlink(entry.name)  # who is reading it has it open; who comes later scans the file again
            removed += 1
    if removed:
        _LOG.info("removed %s from the cache, unused for longest", counted(removed, "scan"))


def _scan_entries(scans: Folder, name: str, abandoned_s: float) -> Iterator[_Entry]:
    with contextlib.suppress(FileNotFoundError, NotOurs), scans.folder(name) as folder:
        for entry, status in folder.entries():
            if not is_own_file(status):
                continue
            if is_bundle(entry) if name == BUNDLES else is_scan(entry):
                yield _Entry(name, entry, status.st_mtime, status.st_size)
            elif is_unfinished(entry) and status.st_mtime < abandoned_s:
                folder.unlink(entry)


def _catalog_entries(catalogs: Folder, name: str) -> Iterator[_Entry]:
    with contextlib.suppress(FileNotFoundError, NotOurs), catalogs.folder(name) as folder:
        size_bytes = sum(status.st_size for status in folder.own_files(is_catalog_file).values())
        yield _Entry("", name, folder.status().st_mtime, size_bytes)


def _remove(catalogs: Folder, name: str) -> bool:
    try:
        return remove_unless_held(catalogs, name)
    except NotOurs as error:
        _LOG.warning("left %r in the cache: %s", name, str(error))
        return False


def _beyond(entries: Iterable[_Entry], most: int, most_bytes: int) -> Iterator[_Entry]:
    """Yield the entries for which there is no room beside those used after them; the last used one always has room."""
    size_bytes = 0
    for number, entry in enumerate(sorted(entries, key=lambda each: each.used_s, reverse=True)):
        size_bytes += entry.size_bytes
        if number and (number >= most or size_bytes > most_bytes):
            yield entry
