"""Finds vlen elements in HDF5 global heaps by reading the file's bytes; knows no h5py and no video."""

from __future__ import annotations

import struct
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from loader_service.catalog.attempts import ByteSource, pread_fully

if TYPE_CHECKING:
    from collections.abc import Mapping

    import numpy.typing as npt

    from loader_service.catalog.attempts import RangeReader

#: A vlen element as it lies in its dataset: length, address of the heap collection, number of the object in it.
#: HDF5 File Format Specification 3.0, IV.B "Disk Format: Global Heap ID", with 8-byte addresses.
REFERENCE = np.dtype([("length", "<u4"), ("heap", "<u8"), ("number", "<u4")])

# III.E "Disk Format: Level 1E - Global Heap": a collection's signature, version and size; then, for each object, its
# number, reference count, 4 reserved bytes and size, the data following, padded to a multiple of 8.
_COLLECTION = struct.Struct("<4sB3xQ")
_OBJECT = struct.Struct("<HH4xQ")
# Collections are at least this long, so this much can be read at once; a second read is only needed for the headers
# behind objects that fill more. Of objects that are longer than this the headers are read alone.
_READ_BYTES = 4096


class HeapError(ValueError):
    """The bytes are no global heap as it should be, so the elements must be read through HDF5."""


#: Objects of a collection: where each begins and how long it is, by its number.
Objects = dict[int, tuple[int, int]]

#: Those of several, by the collection's address.
Collections = dict[int, Objects]

#: Collections that are kept for the next look at the same file.
_MOST_KEPT = 64


def locate(
    descriptor: ByteSource, references: npt.NDArray[Any], file_bytes: int, known: Collections | None = None
) -> npt.NDArray[np.int64]:
    """Return where in the file each element's bytes begin.

    Parameters
    ----------
    descriptor
        The file, open for reading.
    references
        ``(elements,)`` of `REFERENCE`. Elements without bytes get the offset 0.
    file_bytes
        Size of the file.
    known
        Collections of this file that were read before; some of those that are read now are added.

    Returns
    -------
    offsets : ``(elements,) int64``

    Raises
    ------
    HeapError
        When a collection is not as specified, or an element is not in it with its full length.
    OSError
        When the file cannot be read.
    """
    offsets = np.zeros(len(references), np.int64)
    (filled,) = references["length"].nonzero()
    order = filled[references["heap"][filled].argsort(kind="stable")]
    heaps = references["heap"][order].tolist()
    numbers = references["number"][order].tolist()
    lengths = references["length"][order].tolist()
    far = {} if isinstance(descriptor, int) else _read_far(descriptor, _numbers_in(heaps, numbers), file_bytes)
    read = partial(_read_collection, descriptor, file_bytes)
    current, objects = -1, {}
    found = []
    for heap, number, length in zip(heaps, numbers, lengths, strict=True):
        if heap != current:
            kept = {} if known is None or far else known  # of a far collection only a part is known
            current, objects = heap, far.get(heap) or kept.get(heap) or read(heap, length)
            if len(kept) < _MOST_KEPT:
                kept[heap] = objects
        start, size = objects.get(number, (0, -1))
        if size != length:
            raise HeapError(f"object {number} of the heap at {heap}: expected {length} bytes, got {size}")
        found.append(start)
    offsets[order] = found
    return offsets


def _read_collection(descriptor: ByteSource, file_bytes: int, address: int, length: int) -> Objects:
    """Return where each object of one collection begins and how long it is, by its number; `length`: of one of them."""
    _check_place(address, file_bytes)
    window, base = _read(descriptor, address, _COLLECTION.size + _OBJECT.size, length), address
    end = _end_of(window, address, file_bytes)
    objects = {}
    position = address + _COLLECTION.size
    while position + _OBJECT.size <= end:
        if position + _OBJECT.size > base + len(window):
            window, base = _read(descriptor, position, _OBJECT.size, length), position
        number, _, length = _OBJECT.unpack_from(window, position - base)
        if number == 0:  # the free space, always last
            break
        start = position + _OBJECT.size
        objects[number] = (start, length)
        position = start + (length + 7) // 8 * 8
        if position > end:
            raise HeapError(f"object {number} of the heap at {address} crosses its end")
    return objects


def _check_place(address: int, file_bytes: int) -> None:
    if address + _COLLECTION.size > file_bytes:
        raise HeapError(f"a heap at {address} in a file of {file_bytes} bytes")


def _end_of(window: bytes, address: int, file_bytes: int) -> int:
    """Return where a collection ends, whose header a window begins with."""
    signature, version, size = _COLLECTION.unpack_from(window)
    if signature != b"GCOL" or version != 1 or address + size > file_bytes:
        raise HeapError(f"no heap at {address}: {signature!r}, version {version}, {size} bytes")
    return int(address + size)


def _numbers_in(heaps: list[int], numbers: list[int]) -> dict[int, set[int]]:
    """Return the numbers of the objects that are wanted of each collection, by its address."""
    wanted: dict[int, set[int]] = {}
    for heap, number in zip(heaps, numbers, strict=True):
        wanted.setdefault(heap, set()).add(number)
    return wanted


def _read_far(source: RangeReader, wanted: Mapping[int, set[int]], file_bytes: int) -> Collections:
    """Return the same of many collections of a file where each read takes long, by their addresses.

    Only headers are read, those of all collections at a time; of each collection until all that is wanted of it is
    found.
    """
    for address in wanted:
        _check_place(address, file_bytes)
    missing = {address: set(numbers) for address, numbers in wanted.items()}
    found: Collections = {address: {} for address in wanted}
    headers = source.read_each(list(wanted), _COLLECTION.size)
    ends = {each: _end_of(header, each, file_bytes) for each, header in zip(wanted, headers, strict=True)}
    positions = {address: address + _COLLECTION.size for address in wanted}
    while positions:
        positions = {each: at for each, at in positions.items() if at + _OBJECT.size <= ends[each]}
        windows = source.read_each(list(positions.values()), _OBJECT.size)
        for (address, position), window in zip(list(positions.items()), windows, strict=True):
            number, _, length = _OBJECT.unpack_from(window)
            start = position + _OBJECT.size
            positions[address] = start + (length + 7) // 8 * 8
            if number == 0 or positions[address] > ends[address]:
                del positions[address]
                continue
            found[address][number] = (start, length)
            missing[address].discard(number)
            if not missing[address]:
                del positions[address]
    return found


def _read(descriptor: ByteSource, position: int, header: int, length: int) -> bytes:
    """Return bytes from a header on, and of objects of such a length no more than that where they fill a read."""
    window = pread_fully(descriptor, header if length > _READ_BYTES else _READ_BYTES, position)
    if len(window) < max(_COLLECTION.size, _OBJECT.size):
        raise HeapError(f"the file ends at {position + len(window)}, in the middle of a heap")
    return window
