"""The files that `pack` reads, by paths or URLs: bytes, sizes, versions. Nothing else in `pack` asks where they lie.

What a process knows of the versions of objects, from a listing or from the process that listed them, is asked for no
more: all that is read is of these versions, or an error.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import lru_cache
from typing import NamedTuple

from loader_service.errors import PackError
from loader_service.formats.range_file import DiskFile, RangeFile
from loader_service.stores.asking_again import until_it_comes
from loader_service.stores.blocks import OF_STREAMS, BlockFile
from loader_service.stores.faults import ObjectChanged, StoreFault
from loader_service.stores.listing import versions_of
from loader_service.stores.object_version import ObjectVersion
from loader_service.stores.open_stored import OpenStored, open_stored
from loader_service.stores.ranges_ahead import Range, RangesAhead
from loader_service.stores.urls import is_url

#: Part of a file that will be read: its path, the first byte, and how many; None: to its end.
Part = tuple[str, int, int | None]


class FileState(NamedTuple):
    """What identifies a file's content: time of change in ns, size in bytes, inode; of an object, its ETag's number."""

    changed: int
    size_bytes: int
    inode: int = 0


@contextmanager
def opened(path: str) -> Iterator[RangeFile]:
    """Give a file, open at its beginning; used by one thread, until the end of the context.

    Raises
    ------
    PackError
        When it lies in a store, and its bytes do not come; also from all that is read.
    OSError
        When it lies on a disk, and cannot be read; likewise.
    """
    if not is_url(path):
        with DiskFile(path) as local:
            yield local
        return
    file = _stored(path, _version(path))
    file.seek(0)
    yield file
    file.check()


@contextmanager
def for_library(path: str) -> Iterator[str | RangeFile]:
    """Give what a library opens: the path of a file on a disk, which it reads by itself, or an open file."""
    if not is_url(path):
        yield path
        return
    with opened(path) as file:
        yield file


def content_of(path: str) -> bytes:
    """Return all bytes of a file; raises as `opened` does."""
    if not is_url(path):
        with open(path, "rb", buffering=0) as file:
            return file.read()
    whole = Range(path, 0, _version(path).size_bytes)
    found = _AHEAD.take(whole) if whole.length else b""
    return _fetched(whole) if found is None else found


def expect(parts: Iterable[Part]) -> None:
    """Have those parts of files that lie in stores fetched ahead; they are read in this order, or not at all."""
    stored = [part for part in parts if is_url(part[0])]
    _learn(path for path, *_ in stored)
    _AHEAD.expect(
        Range(path, begin, _version(path).size_bytes if length is None else length) for path, begin, length in stored
    )


def states_of(paths: Sequence[str]) -> list[FileState]:
    """Return what identifies files; raises as `opened` does."""
    _learn(path for path in paths if is_url(path))
    return [_state_of(path) for path in paths]


def size_of(path: str) -> int:
    """Return the bytes of a file; 0 where it cannot be had; reading it says why."""
    try:
        return _state_of(path).size_bytes
    except (OSError, PackError):
        return 0


def change_of(states: Sequence[FileState]) -> int:
    """Return a number that says whether files have changed: the newest time; of objects what stands for all ETags."""
    if len(states) < 2 or any(state.inode for state in states):
        return max((state.changed for state in states), default=0)
    numbers = b"".join(state.changed.to_bytes(8, "little") for state in states)
    return int.from_bytes(hashlib.blake2b(numbers, digest_size=8).digest(), "little") >> 1


def know(versions: Mapping[str, ObjectVersion]) -> None:
    """Take versions of objects for those that are read in this process from now on."""
    _VERSIONS.update(versions)


def known(paths: Iterable[str]) -> dict[str, tuple[int, str]]:
    """Return what is known of the versions of some files, for `know` in another process, as JSON can say it."""
    if not _VERSIONS:
        return {}
    return {path: (found.size_bytes, found.tag) for path in paths if (found := _VERSIONS.get(path))}


def let_go() -> None:
    """Forget what is known and kept of objects, and close what is open of them."""
    _VERSIONS.clear()
    _AHEAD.close()
    _stored.cache_clear()
    _object.cache_clear()


_VERSIONS: dict[str, ObjectVersion] = {}


def _learn(urls: Iterable[str]) -> None:
    """Ask for the versions that are not known, many at a time."""
    unknown = list(dict.fromkeys(url for url in urls if url not in _VERSIONS))
    try:
        _VERSIONS.update(zip(unknown, until_it_comes(lambda: versions_of(unknown)), strict=True))
    except StoreFault as fault:
        raise _unread(fault) from fault


def _version(url: str) -> ObjectVersion:
    _learn((url,))
    return _VERSIONS[url]


def _state_of(path: str) -> FileState:
    if is_url(path):
        version = _version(path)
        return FileState(version.number, version.size_bytes)
    status = os.stat(path)
    return FileState(status.st_mtime_ns, status.st_size, status.st_ino)


class _StoredFile(BlockFile):
    """An object of a version, as a file that is read in order, or at any place."""

    def __init__(self, url: str, version: ObjectVersion) -> None:
        super().__init__(open_stored(url, version).read_at, version.size_bytes, OF_STREAMS)
        self.name = url

    def read_at(self, offset: int, length: int) -> bytes:
        """Return bytes; raises PackError when they do not come."""
        length = min(length, self.size_bytes - offset)
        found = _AHEAD.take(Range(self.name, offset, length)) if length > 0 else b""
        if found is not None:
            return found
        try:
            return super().read_at(offset, length)
        except StoreFault as fault:
            raise _unread(fault) from fault

    def check(self) -> None:
        """Raise PackError when a fault lasted: libraries may take one for the end of the file."""
        if self.fault is not None:
            raise _unread(self.fault)


#: Objects that were read last; each keeps blocks.
@lru_cache(maxsize=4)
def _stored(url: str, version: ObjectVersion) -> _StoredFile:
    try:
        return _StoredFile(url, version)
    except StoreFault as fault:
        raise _unread(fault) from fault


def _fetched(wanted: Range) -> bytes:
    """Return a range, asked for until it comes; in any thread. Raises PackError."""
    try:
        stored = _object(wanted.url, _VERSIONS[wanted.url])
        return until_it_comes(lambda: stored.read_at(wanted.offset, wanted.length))
    except StoreFault as fault:
        raise _unread(fault) from fault


@lru_cache(maxsize=64)
def _object(url: str, version: ObjectVersion) -> OpenStored:
    return open_stored(url, version)


_AHEAD = RangesAhead(_fetched)


def _unread(fault: StoreFault) -> PackError:
    if isinstance(fault, ObjectChanged):
        where = str(fault.strerror).partition(": ")[0]
        return PackError(f"{where} has changed while it was read; pack again when nobody writes to it")
    return PackError(str(fault.strerror))
