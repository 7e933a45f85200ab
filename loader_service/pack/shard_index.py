"""Makes an HDF5 file of bytes that are written already: the index comes last.

Workers write the bytes of videos into a shard before anybody knows how many there will be. When they are all there, an
HDF5 file of the same size is made beside it, sparse, whose datasets HDF5 has put where those bytes lie; then what HDF5
wrote, the head and the tail, is copied into the shard. No frame is written twice, and a run that was killed goes on
behind the last whole video.

HDF5 gives space in the order in which datasets are made, when there is one free region for all of them: so a dataset of
all bytes is made first, a block for all metadata behind it, and then the first one is removed. Where a version of HDF5
gives other places, `write_index` sees it and copies the bytes there.

References
----------
HDF5 File Format Specification 3.0, IV.A.2.i (data layout message): a contiguous dataset is an address and a size.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from h5py import h5a, h5d, h5f, h5g, h5p, h5s, h5t

from loader_service.catalog.names import PACKED
from loader_service.pack.records import PackedVideo, of_plain, text_of_list

#: Where the first video of a shard begins; the bytes before it are HDF5's.
FIRST_BYTE = 4096

#: Bytes of metadata that a video may take, and each of its datasets and attributes; too much costs nothing.
_VIDEO_BYTES, _ENTRY_BYTES = 4096, 1024

_PLACEHOLDER = b"bytes"
_PIECE_BYTES = 16 * 2**20


def write_index(shard: Path, records: Sequence[PackedVideo], aside: Path) -> None:
    """Make an HDF5 file of a shard's bytes.

    Parameters
    ----------
    shard
        Holds the bytes of the records, the first from `FIRST_BYTE` on, each at the end of the one before.
    records
        All of them.
    aside
        A path where another file may be made for a while, on the same file system.

    Raises
    ------
    OSError
        When there is no room.
    """
    try:
        places = _write_skeleton(aside, records)
    except RuntimeError as error:  # so h5py says what closing a file meets
        raise OSError(str(error)) from error
    end = records[-1].end if records else FIRST_BYTE
    with shard.open("r+b") as target, aside.open("r+b") as made:
        if any(each.lies_at != each.wanted_at for each in places):
            for each in places:
                _copy(target.fileno(), each.lies_at, made.fileno(), each.wanted_at, each.size_bytes)
            os.fsync(made.fileno())
            aside.replace(shard)
            return
        os.ftruncate(target.fileno(), end)
        _copy(made.fileno(), 0, target.fileno(), 0, FIRST_BYTE)
        _copy(made.fileno(), end, target.fileno(), end, os.fstat(made.fileno()).st_size - end)
        os.fsync(target.fileno())
    aside.unlink()


class _Place(NamedTuple):
    """Where the bytes of a dataset lie in the shard, and where HDF5 wants them."""

    lies_at: int
    wanted_at: int
    size_bytes: int


def _write_skeleton(path: Path, records: Sequence[PackedVideo]) -> list[_Place]:
    """Write all groups, attributes and datasets without their bytes; return where HDF5 wants them."""
    total = max(1, sum(record.size_bytes for record in records))
    name = os.fsencode(path)
    created = h5p.create(h5p.FILE_CREATE)
    created.set_obj_track_times(False)  # equal sources make equal files
    file = h5f.create(name, h5f.ACC_TRUNC, created, _access(2048, (total, FIRST_BYTE)))
    placeholder = h5d.create(file, _PLACEHOLDER, h5t.STD_U8LE, h5s.create_simple((total,)), _contiguous())
    del placeholder
    file.close()
    room = sum(
        _VIDEO_BYTES + _ENTRY_BYTES * (len(each.datasets) + len(each.attributes) + len(each.short)) for each in records
    )
    file = h5f.open(name, h5f.ACC_RDWR, _access(2**16 + room, (1, 1)))
    h5g.create(file, b"first")  # takes the block of metadata, behind the bytes
    file.unlink(b"first")
    file.unlink(_PLACEHOLDER)
    h5a.create(file, PACKED.encode(), h5t.STD_U8LE, h5s.create(h5s.SCALAR)).write(np.array(1, np.uint8))
    groups = _Groups(file)
    places = [place for record in records for place in _write_video(groups.make(record.name), record)]
    groups.close()
    for record in records:
        _write_short(file, record)
    file.close()
    return places


class _Groups:
    """The groups of a file, without times of their making; those that hold others stay open."""

    def __init__(self, file: Any) -> None:
        self._outer = {"": file}
        self._links = h5p.create(h5p.LINK_CREATE)
        self._links.set_char_encoding(h5t.CSET_UTF8)
        self._untimed = h5p.create(h5p.GROUP_CREATE)
        self._untimed.set_obj_track_times(False)

    def make(self, path: str) -> Any:
        """Return a new group."""
        parent, _, name = path.rpartition("/")
        return h5g.create(self._parent(parent), _encoded(name), self._links, self._untimed)

    def _parent(self, path: str) -> Any:
        if path not in self._outer:
            self._outer[path] = self.make(path)
        return self._outer[path]

    def close(self) -> None:
        """Let go of all groups."""
        self._outer.clear()


def _encoded(text: str) -> bytes:
    return text.encode("utf-8", "surrogateescape")


def _access(metadata_bytes: int, alignment: tuple[int, int]) -> Any:
    properties = h5p.create(h5p.FILE_ACCESS)
    # One old enough for every reader of the last ten years, and its groups take half of the bytes of the oldest.
    properties.set_libver_bounds(h5f.LIBVER_V18, h5f.LIBVER_V18)
    properties.set_meta_block_size(metadata_bytes)
    properties.set_alignment(*alignment)
    properties.set_fclose_degree(h5f.CLOSE_STRONG)
    return properties


def _contiguous() -> Any:
    properties = h5p.create(h5p.DATASET_CREATE)
    properties.set_alloc_time(h5d.ALLOC_TIME_EARLY)
    properties.set_fill_time(h5d.FILL_TIME_NEVER)
    properties.set_obj_track_times(False)
    return properties


def _write_video(group: Any, record: PackedVideo) -> list[_Place]:
    properties = _contiguous()
    places, lies_at = [], record.offset
    for each in record.datasets:
        element = np.dtype(each.dtype)
        kind = h5t.py_create(element, logical=True)
        made = h5d.create(group, _encoded(each.name), kind, h5s.create_simple(each.shape), properties)
        size = int(np.prod(each.shape, dtype=np.int64)) * element.itemsize
        if size:
            places.append(_Place(lies_at, made.get_offset(), size))
        lies_at += size
    for key, value in record.attributes.items():
        _write_attribute(group, key, value)
    return places


def _write_short(file: Any, record: PackedVideo) -> None:
    """Write the lists of a video that lie with the index; behind all others, whose places are to stay."""
    for name, value in record.short.items():
        array = of_plain(value)
        kind, space = h5t.py_create(array.dtype, logical=True), h5s.create_simple(array.shape)
        made = h5d.create(file, _encoded(f"{record.name}/{name}"), kind, space, _contiguous())
        if array.size:
            made.write(h5s.ALL, h5s.ALL, np.ascontiguousarray(array))


def _write_attribute(group: Any, name: str, value: Any) -> None:
    value = text_of_list(value)
    if isinstance(value, str):
        text = _encoded(value) or b"\0"
        kind = h5t.C_S1.copy()
        kind.set_size(len(text))
        kind.set_cset(h5t.CSET_UTF8)
        array = np.array(text, f"S{len(text)}")
    else:
        array = of_plain(value)
        kind = h5t.py_create(array.dtype, logical=True)
    space = h5s.create_simple(array.shape) if array.shape else h5s.create(h5s.SCALAR)
    h5a.create(group, _encoded(name), kind, space).write(array, kind)


def _copy(source: int, begin: int, target: int, place: int, count: int) -> None:
    done = 0
    while done < count:
        piece = os.pread(source, min(_PIECE_BYTES, count - done), begin + done)
        if not piece:
            raise OSError(f"expected {count} bytes from byte {begin}, got {done}")
        written = 0
        while written < len(piece):
            written += os.pwrite(target, piece[written:], place + done + written)
        done += len(piece)
