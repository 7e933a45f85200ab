"""Keeps scans of single files, and whole catalogs, so that only what changed is read again. Knows no HDF5."""

from __future__ import annotations

import contextlib
import errno
import hashlib
import json
import logging
import os
import shutil
import tempfile
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from loader_service.catalog.column_files import FORMAT_VERSION, open_catalog, write_catalog
from loader_service.catalog.columns import Catalog, FileStat, Header
from loader_service.catalog.directory_locks import UNFINISHED, hold, remove_unless_held, temporary_directory
from loader_service.catalog.findings import UNPACK_ERRORS, FileScan, ScanOptions, pack, unpack
from loader_service.catalog.pruning import note_use, prune
from loader_service.errors import CatalogError

if TYPE_CHECKING:
    from collections.abc import Mapping

    import numpy.typing as npt

_LOG = logging.getLogger(__name__)


class ScanCache:
    """Scans of files by path, size, time, inode and options.

    Parameters
    ----------
    directory
        Made when the first entry is written; several processes may use it at once.
    options
        Of the scans.
    """

    def __init__(self, directory: Path, options: ScanOptions) -> None:
        self._directory = directory
        # Labels from a CSV file are matched later and on_bad_file decides later; neither changes a file's scan,
        # but with a CSV the labels inside of the file are not read.
        schema = None if options.schema is None else asdict(options.schema)
        told = [options.frames, options.label, options.labels_csv is not None, options.allow_external, schema]
        self._options = json.dumps(told)
        self._writable = True

    def load(self, path: str, status: FileStat) -> FileScan | None:
        """Return the scan of this very file, or None if there is none that can be read."""
        entry = self._entry(path, status)
        try:
            scan = unpack(entry.read_bytes())
        except FileNotFoundError:
            return None
        except UNPACK_ERRORS as error:
            _LOG.warning("scanning %r again, its cached scan cannot be read: %s", path, str(error))
            return None
        note_use(entry)
        return scan

    def store(self, path: str, scan: FileScan) -> None:
        """Keep a scan; a cache that cannot be written is no error, but is said once."""
        if not self._writable:
            return
        try:
            _write_whole(self._entry(path, scan.status), pack(scan))
        except OSError as error:
            self._writable = False
            _LOG.warning("cannot keep scans in %r: %s; every start will scan anew", str(self._directory), str(error))

    def _entry(self, path: str, status: FileStat) -> Path:
        key = json.dumps([FORMAT_VERSION, path, status.size_bytes, status.mtime_ns, status.inode]) + self._options
        name = hashlib.blake2b(key.encode("ascii"), digest_size=16).hexdigest()
        return self._directory / name[:2] / f"{name[2:]}.npz"


def _write_whole(target: Path, content: bytes) -> None:
    """Write a file so that others see all of it or nothing."""
    target.parent.mkdir(parents=True, exist_ok=True)
    descriptor, unfinished = tempfile.mkstemp(dir=target.parent, prefix=UNFINISHED)
    try:
        with os.fdopen(descriptor, "wb") as stream:
            stream.write(content)
        os.replace(unfinished, target)
    except OSError:
        with contextlib.suppress(OSError):
            os.unlink(unfinished)
        raise


def find_catalog(cache_dir: Path, key: str) -> Catalog | None:
    """Return the catalog that was kept under this key, or None if there is none that can be opened.

    Nobody removes it from the cache while it is referred to.
    """
    directory = _catalog_directory(cache_dir, key)
    try:
        found = _open_held(directory)
    except (CatalogError, OSError) as error:
        _LOG.warning("making the catalog anew: %s", str(error))
        return None
    if found is not None:
        note_use(directory)
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
    final = _catalog_directory(cache_dir, key)
    try:
        _write_directory(final, header, columns)
        kept = _open_held(final)
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
        try:
            write_catalog(place, header, columns)
            catalog = open_catalog(place)
        except BaseException:
            held.release()
            shutil.rmtree(place)
            raise
    except OSError as error:
        place_name = tempfile.tempdir or "a temporary directory"  # None when no such directory has room for a byte
        raise CatalogError(
            f"cannot write the catalog to {place_name!r}: {error}; make room there, or set TMPDIR to another"
        ) from error
    held.release_with(catalog)
    catalog.remove_on_close()
    return catalog


def _open_held(directory: Path) -> Catalog | None:
    """Return the catalog in a directory, which then nobody removes; None when there is none."""
    held = hold(directory)
    if held is None:
        return None
    try:
        catalog = open_catalog(directory)
    except BaseException:
        held.release()
        raise
    held.release_with(catalog)
    return catalog


def _catalog_directory(cache_dir: Path, key: str) -> Path:
    return cache_dir / "catalogs" / key


def _write_directory(final: Path, header: Header, columns: Mapping[str, npt.NDArray[Any]]) -> None:
    final.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=final.parent, prefix=UNFINISHED) as place:
        unfinished = Path(place) / "catalog"
        unfinished.mkdir()
        write_catalog(unfinished, header, columns)
        if final.exists() and find_catalog(final.parent.parent, final.name) is None:
            # A damaged one goes out of the way: a rename does not replace a directory that is not empty. If it is held,
            # it is a good one that somebody has put there in this moment.
            remove_unless_held(final)
        with contextlib.suppress(FileExistsError):
            _rename_directory(unfinished, final)


def _rename_directory(source: Path, target: Path) -> None:
    """Rename a directory; FileExistsError if the target exists, whichever of its two names the system has for that."""
    try:
        os.rename(source, target)
    except OSError as error:
        if error.errno == errno.ENOTEMPTY:
            raise FileExistsError(error.errno, error.strerror, str(target)) from error
        raise
