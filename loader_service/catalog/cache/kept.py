"""Keeps scans of single files, and whole catalogs, so that only what changed is read again. Knows no HDF5."""

from __future__ import annotations

import errno
import hashlib
import json
import logging
import os
import tempfile
import weakref
from pathlib import Path
from typing import TYPE_CHECKING, Any

from loader_service.catalog.cache.bundles import Bundles, write_bundle
from loader_service.catalog.cache.cache_folder import CATALOGS, SCANS, open_cache, unfinished_name, write_file
from loader_service.catalog.cache.column_files import open_catalog, scan_version, write_catalog
from loader_service.catalog.cache.directory_locks import (
    Hold,
    hold,
    remove_catalog,
    remove_unless_held,
    temporary_directory,
)
from loader_service.catalog.cache.pruning import note_use, prune
from loader_service.catalog.columns import Catalog, FileStat, Header
from loader_service.catalog.findings import UNPACK_ERRORS, FileScan, PackedScan, unpack
from loader_service.errors import CatalogError
from loader_service.private_folders import Folder, NotOurs
from loader_service.scan_options import ScanOptions

if TYPE_CHECKING:
    from collections.abc import Mapping

    import numpy.typing as npt

_LOG = logging.getLogger(__name__)

#: Scans of one run that have a file of their own; beyond these, small ones go together, so many at once. A file takes
#: 50 to 700 µs to make, by file system (`benchmarks/inspecting.py`).
_ALONE, _SMALL_BYTES, _TOGETHER = 64, 2**16, 4096


class ScanCache:
    """Scans of files by path, size, time, inode and options; a context manager.

    Parameters
    ----------
    cache_dir
        Made when the first entry is written; several processes may use it at once.
    options
        Of the scans.
    """

    def __init__(self, cache_dir: Path, options: ScanOptions) -> None:
        self._cache_dir = cache_dir
        # Labels from a CSV file, and classes, are matched later. With a CSV the labels inside of the file are not read.
        self._options = options.key(labels=options.labels is not None, classes=None)
        self._scans: Folder | None = None
        self._bundles: Bundles | None = None
        self._usable = True
        self._written = 0
        self._waiting: dict[str, bytes] = {}

    def __enter__(self) -> ScanCache:
        try:
            self._open()
        except FileNotFoundError:
            pass  # nothing is kept yet
        except OSError as error:
            self._give_up(error)
        return self

    def __exit__(self, *_: object) -> None:
        try:
            self._write_waiting()
        except OSError as error:
            self._give_up(error)
        if self._bundles is not None:
            self._bundles.close()
        if self._scans is not None:
            self._scans.close()

    def load(self, path: str, status: FileStat) -> FileScan | None:
        """Return the scan of this very file, or None if there is none that can be read."""
        if self._scans is None:
            return None
        if self._bundles is None:
            self._bundles = Bundles(self._scans)
        key = self._key(path, status)
        try:
            together = self._bundles.get(key)
            scan = _read(self._scans, key) if together is None else unpack(together)
        except FileNotFoundError:
            return None
        except (OSError, *UNPACK_ERRORS) as error:
            _LOG.warning("scanning %r again, its cached scan cannot be read: %s", path, str(error))
            return None
        return scan

    def store(self, path: str, scan: PackedScan) -> None:
        """Keep a scan; a cache that cannot be written is no error, but is said once."""
        if not self._usable:
            return
        try:
            self._write(path, scan)
        except OSError as error:
            self._give_up(error)

    def _write(self, path: str, packed: PackedScan) -> None:
        key, content = self._key(path, packed.scan.status), packed.data
        if self._written >= _ALONE and len(content) <= _SMALL_BYTES:
            self._waiting[key] = content
            if len(self._waiting) >= _TOGETHER:
                self._write_waiting()
            return
        scans = self._scans or self._open(make=True)
        group, name = _entry(key)
        with scans.folder(group, make=True) as folder:
            write_file(folder, name, content)
        self._written += 1

    def _write_waiting(self) -> None:
        if self._waiting and self._usable:
            write_bundle(self._scans or self._open(make=True), next(iter(self._waiting)), self._waiting)
        self._waiting = {}

    def _open(self, *, make: bool = False) -> Folder:
        with open_cache(self._cache_dir, make=make) as cache:
            self._scans = cache.folder(SCANS, make=make)
        return self._scans

    def _give_up(self, error: OSError) -> None:
        self._usable = False
        _LOG.warning("cannot keep scans in %r: %s; every start will scan anew", str(self._cache_dir), str(error))

    def _key(self, path: str, status: FileStat) -> str:
        key = json.dumps([scan_version(), path, status.size_bytes, status.mtime_ns, status.inode]) + self._options
        return hashlib.blake2b(key.encode("ascii"), digest_size=16).hexdigest()


def _entry(key: str) -> tuple[str, str]:
    """Return folder and name of a scan that has a file of its own."""
    return key[:2], f"{key[2:]}.npz"


def _read(scans: Folder, key: str) -> FileScan:
    group, name = _entry(key)
    with scans.folder(group) as folder:
        with os.fdopen(folder.open_file(name, os.O_RDONLY), "rb") as stream:
            scan = unpack(stream.read())
        note_use(folder, name)
    return scan


def find_catalog(cache_dir: Path, key: str) -> Catalog | None:
    """Return the catalog that was kept under this key, or None if there is none that can be opened.

    Nobody removes it from the cache while it is referred to.
    """
    try:
        with open_cache(cache_dir) as cache, cache.folder(CATALOGS) as catalogs:
            return _find(catalogs, key)
    except FileNotFoundError:
        return None
    except OSError as error:
        _LOG.info("found no catalog in %r: %s", str(cache_dir), str(error))  # a warning follows when it cannot be kept
        return None


def _find(catalogs: Folder, key: str) -> Catalog | None:
    try:
        found = _open_held(catalogs, key)
    except (CatalogError, OSError) as error:
        _LOG.warning("making the catalog anew: %s", str(error))
        return None
    if found is not None:
        note_use(catalogs, key)
    return found


def keep_catalog(cache_dir: Path, key: str, header: Header, columns: Mapping[str, npt.NDArray[Any]]) -> Catalog:
    """Write a catalog where `find_catalog` finds it, or, if that is impossible, into a directory that `close` removes.

    Others see all of it or nothing. If another process was faster, its equal catalog is used. What was not used for
    longest makes room for it.

    Raises
    ------
    CatalogError
        When there is no room in the temporary directory either.
    """
    try:
        with open_cache(cache_dir, make=True) as cache, cache.folder(CATALOGS, make=True) as catalogs:
            _write_directory(catalogs, key, header, columns)
            kept = _open_held(catalogs, key)
    except (CatalogError, OSError) as error:
        _LOG.warning("cannot keep the catalog in %r: %s; it goes to a temporary directory", str(cache_dir), str(error))
        kept = None
    if kept is None:
        return write_temporary(header, columns)
    prune(cache_dir)
    return kept


def write_temporary(header: Header, columns: Mapping[str, npt.NDArray[Any]]) -> Catalog:
    """Write a catalog into a directory that `Catalog.close` removes, or, after a kill, the next such call.

    Raises
    ------
    CatalogError
        When there is no room in the temporary directory.
    """
    try:
        place, held = temporary_directory()
        name = held.folder.path.name
        try:
            write_catalog(held.folder, header, columns)
            catalog = open_catalog(held.folder.path)
        except BaseException:
            remove_catalog(place, name, held.folder)
            held.release()
            place.close()
            raise
    except OSError as error:
        place_name = tempfile.tempdir or "a temporary directory"  # None when no such directory has room for a byte
        raise CatalogError(
            f"cannot write the catalog to {place_name!r}: {error}; make room there, or set TMPDIR to another"
        ) from error
    held.release_with(catalog)
    weakref.finalize(catalog, place.close)
    catalog.at_close(lambda: _remove_temporary(place, held))
    return catalog


def _remove_temporary(place: Folder, held: Hold) -> None:
    try:
        remove_catalog(place, held.folder.path.name, held.folder)
    except NotOurs as error:
        _LOG.warning("left a temporary catalog: %s", str(error))


def _open_held(catalogs: Folder, name: str) -> Catalog | None:
    """Return the catalog in a directory, which then nobody removes; None when there is none."""
    held = hold(catalogs, name)
    if held is None:
        return None
    try:
        catalog = open_catalog(held.folder.path)
    except BaseException:
        held.release()
        raise
    held.release_with(catalog)
    return catalog


def _write_directory(catalogs: Folder, key: str, header: Header, columns: Mapping[str, npt.NDArray[Any]]) -> None:
    unfinished = unfinished_name()
    with catalogs.folder(unfinished, make=True) as folder:
        try:
            write_catalog(folder, header, columns)
            if catalogs.status_of(key) is not None and _find(catalogs, key) is None:
                # A damaged one goes out of the way: a rename does not replace a directory that is not empty. If it is
                # held, it is a good one that somebody has put there in this moment.
                remove_unless_held(catalogs, key)
            catalogs.rename(unfinished, key)
        except BaseException as error:
            remove_catalog(catalogs, unfinished, folder)
            if not _is_there_already(error):
                raise


def _is_there_already(error: BaseException) -> bool:
    """Return whether a rename failed since its target exists; the system has two names for that."""
    return isinstance(error, OSError) and error.errno in (errno.ENOTEMPTY, errno.EEXIST)
