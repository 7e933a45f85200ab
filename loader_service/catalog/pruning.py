"""Keeps the cache of scans and catalogs within bounds: what was not used for longest goes. Knows no content of it."""

from __future__ import annotations

import contextlib
import logging
import os
import shutil
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from loader_service.catalog.directory_locks import UNFINISHED, remove_unless_held

_LOG = logging.getLogger(__name__)

#: Writing takes seconds: what is still unfinished after a day belongs to nobody. In seconds.
_ABANDONED_S = 86_400.0


@dataclass(frozen=True)
class Limits:
    """How much is kept. A catalog takes 50 bytes a video and 12 a frame: 1.3 GB for a million videos of 100 frames.

    Attributes
    ----------
    catalogs
        Number of catalogs.
    catalog_bytes
        Of all catalogs.
    scan_bytes
        Of all scans of single files.
    """

    catalogs: int = 32
    catalog_bytes: int = 8 * 2**30
    scan_bytes: int = 4 * 2**30


@dataclass(frozen=True)
class _Entry:
    path: Path
    used_s: float
    size_bytes: int


def note_use(path: Path) -> None:
    """Make an entry the one that was used last; in a cache that belongs to somebody else, it stays as it is."""
    with contextlib.suppress(OSError):  # such as a cache on a read-only disk, which cannot be pruned either
        os.utime(path)


def prune(cache_dir: Path, limits: Limits | None = None) -> None:
    """Remove the catalogs and scans beyond the limits, those used longest ago first, and what killed writers left.

    Called by whoever has just added to the cache; several processes may do so at once. A catalog that a living process
    uses stays. A cache that cannot be pruned is no error, but is said.
    """
    bounds = limits or Limits()
    try:
        _remove_abandoned(cache_dir)
        _prune_catalogs(cache_dir / "catalogs", bounds)
        _prune_scans(cache_dir / "scans", bounds)
    except OSError as error:
        _LOG.warning("cannot prune the cache %r: %s; it keeps growing", str(cache_dir), str(error))


def _prune_catalogs(directory: Path, limits: Limits) -> None:
    entries = [_catalog_entry(path) for path in _children(directory) if not path.name.startswith(UNFINISHED)]
    removed = sum(remove_unless_held(each.path) for each in _beyond(entries, limits.catalogs, limits.catalog_bytes))
    if removed:
        _LOG.info("removed %d catalogs from the cache, unused for longest", removed)


def _prune_scans(directory: Path, limits: Limits) -> None:
    entries = [
        _Entry(path, status.st_mtime, status.st_size)
        for folder in _children(directory)
        for path, status in _files(folder)
        if not path.name.startswith(UNFINISHED)
    ]
    removed = 0
    for entry in _beyond(entries, len(entries), limits.scan_bytes):
        entry.path.unlink(missing_ok=True)  # who is reading it has it open; who comes later scans the file again
        removed += 1
    if removed:
        _LOG.info("removed %d scans from the cache, unused for longest", removed)


def _beyond(entries: Iterable[_Entry], most: int, most_bytes: int) -> Iterator[_Entry]:
    """Yield the entries for which there is no room beside those used after them; the last used one always has room."""
    size_bytes = 0
    for number, entry in enumerate(sorted(entries, key=lambda each: each.used_s, reverse=True)):
        size_bytes += entry.size_bytes
        if number and (number >= most or size_bytes > most_bytes):
            yield entry


def _remove_abandoned(cache_dir: Path) -> None:
    """Remove what was begun and never finished; its age is measured against the disk's own clock."""
    note_use(cache_dir)
    now_s = _mtime(cache_dir, 0.0)
    for folder in (cache_dir / "catalogs", *_children(cache_dir / "scans")):
        for path in _children(folder):
            if path.name.startswith(UNFINISHED) and _mtime(path, now_s) < now_s - _ABANDONED_S:
                if path.is_dir():
                    shutil.rmtree(path, ignore_errors=True)
                else:
                    path.unlink(missing_ok=True)


def _catalog_entry(directory: Path) -> _Entry:
    return _Entry(directory, _mtime(directory, 0.0), sum(status.st_size for _, status in _files(directory)))


def _mtime(path: Path, gone: float) -> float:
    try:
        return path.stat().st_mtime
    except FileNotFoundError:
        return gone  # another process was faster


def _children(directory: Path) -> list[Path]:
    try:
        return [Path(entry.path) for entry in os.scandir(directory)]
    except (FileNotFoundError, NotADirectoryError):
        return []


def _files(directory: Path) -> Iterator[tuple[Path, os.stat_result]]:
    for path in _children(directory):
        with contextlib.suppress(FileNotFoundError):  # another process was faster
            yield path, path.stat()
