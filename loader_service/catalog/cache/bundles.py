"""Many small scans in one file of the cache: making a file for each takes as long as scanning it. Knows no scan.

A bundle is a table of keys and places, and then the contents, one after the other.
"""

from __future__ import annotations

import contextlib
import logging
import os
import struct
from typing import TYPE_CHECKING

from loader_service.catalog.attempts import pread_fully
from loader_service.catalog.cache.cache_folder import BUNDLES, is_bundle, write_file
from loader_service.catalog.cache.pruning import note_use

if TYPE_CHECKING:
    from collections.abc import Mapping

    from loader_service.private_folders import Folder

_LOG = logging.getLogger(__name__)

_HEAD = struct.Struct("<8sQ")
_ROW = struct.Struct("<16sQQ")
_MAGIC = b"scans 1\n"


def bundle_of(contents: Mapping[str, bytes]) -> bytes:
    """Return contents as one bundle; keys are 32 hex digits."""
    place = _HEAD.size + _ROW.size * len(contents)
    rows = []
    for key, content in contents.items():
        rows.append(_ROW.pack(bytes.fromhex(key), place, len(content)))
        place += len(content)
    return b"".join([_HEAD.pack(_MAGIC, len(contents)), *rows, *contents.values()])


def write_bundle(scans: Folder, name: str, contents: Mapping[str, bytes]) -> None:
    """Write a bundle into the folder of scans, named by 32 hex digits; OSError when it cannot be written."""
    with scans.folder(BUNDLES, make=True) as folder:
        write_file(folder, f"{name}.bundle", bundle_of(contents))


class Bundles:
    """The bundles of a cache, opened for reading; `close` when done.

    Parameters
    ----------
    scans
        The folder of scans; stays the caller's.
    """

    def __init__(self, scans: Folder) -> None:
        self._places: dict[str, tuple[int, int, int]] = {}
        self._descriptors: list[int] = []
        try:
            with scans.folder(BUNDLES) as folder:
                for name in filter(is_bundle, folder.names()):
                    self._add(folder, name)
        except FileNotFoundError:
            pass  # there is none yet

    def _add(self, folder: Folder, name: str) -> None:
        try:
            descriptor = folder.open_file(name, os.O_RDONLY)
        except OSError as error:
            _LOG.info("left out a bundle of scans: %s", str(error))
            return
        self._descriptors.append(descriptor)
        try:
            rows = _rows(descriptor)
        except (OSError, ValueError, struct.error) as error:
            _LOG.warning("scanning anew what %r keeps, which cannot be read: %s", str(folder.path / name), str(error))
            return
        self._places.update((key.hex(), (descriptor, at, length)) for key, at, length in rows)
        note_use(folder, name)

    def get(self, key: str) -> bytes | None:
        """Return what is kept under a key; None if nothing is. OSError where the disk fails."""
        found = self._places.get(key)
        return None if found is None else pread_fully(found[0], found[2], found[1])

    def close(self) -> None:
        """Close the files."""
        for descriptor in self._descriptors:
            with contextlib.suppress(OSError):
                os.close(descriptor)
        self._descriptors, self._places = [], {}


def _rows(descriptor: int) -> list[tuple[bytes, int, int]]:
    """Return the table of a bundle: keys, and where the contents are."""
    magic, count = _HEAD.unpack(pread_fully(descriptor, _HEAD.size, 0))
    size_bytes = os.fstat(descriptor).st_size
    if magic != _MAGIC or _HEAD.size + count * _ROW.size > size_bytes:
        raise ValueError("it is no bundle, or has been cut")
    return list(_ROW.iter_unpack(pread_fully(descriptor, count * _ROW.size, _HEAD.size)))
