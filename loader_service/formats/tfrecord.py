"""TFRecord files: records with checksums, read and written without TensorFlow; knows nothing of what a record holds.

A record is its length (8 bytes, little endian), the masked CRC32C of these 8 bytes, the data, and the masked CRC32C of
the data. Both checksums are compared in every function that reads.
"""

from __future__ import annotations

import os
import struct
import zlib
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, nullcontext
from typing import BinaryIO, Literal, NamedTuple, Protocol

from loader_service.formats.checksums import masked_crc32c
from loader_service.formats.damage import DamagedInput
from loader_service.formats.inflate import InflatedFile, InflateError, inflated_head
from loader_service.formats.range_file import RangeFile

#: Length and its checksum; the checksum of the data.
_HEADER, _FOOTER = struct.Struct("<QI"), struct.Struct("<I")

_HEADER_BYTES, _FOOTER_BYTES = _HEADER.size, _FOOTER.size
_OVERHEAD_BYTES = _HEADER_BYTES + _FOOTER_BYTES

#: Lengths whose checksums are remembered.
_MOST_KNOWN = 65_536

#: A protocol buffer cannot be longer, and no other record is worth so much memory.
MOST_RECORD_BYTES = 2**31 - 1

#: Bytes that are read at once: small enough to stay in the cache of a core until they are checked.
_BLOCK_BYTES = 2**18

Compression = Literal["", "GZIP", "ZLIB"]

#: What zlib's `wbits` must be to write each.
_WINDOW_BITS = {"GZIP": 31, "ZLIB": 15}

_REMEDY = "write the file again, or leave the rest of it out"


class Record(NamedTuple):
    """A record, and where it begins: in the file, or, of a compressed file, in what that holds."""

    offset: int
    data: bytes


class RecordPlace(NamedTuple):
    """Where a record lies in a file that is not compressed: begin of the record, bytes of its data, number from 0."""

    offset: int
    length: int
    number: int


class _BinaryStream(Protocol):
    def read(self, size: int, /) -> bytes: ...


#: Called with the error of each record that is left out.
OnBad = Callable[[DamagedInput], object]


def compression_of(head: bytes) -> Compression:
    """Return how a file is compressed, from its first 12 bytes or more.

    The beginning of a plain file can look like that of a compressed one, but then its checksum is not there by chance.
    """
    if len(head) >= _HEADER.size and masked_crc32c(head[:8]) == _HEADER.unpack_from(head)[1]:
        return ""
    if head.startswith(b"\x1f\x8b\x08"):
        return "GZIP"
    is_zlib = len(head) >= 2 and head[0] & 0x0F == 8 and head[0] >> 4 <= 7 and (head[0] << 8 | head[1]) % 31 == 0
    return "ZLIB" if is_zlib else ""


def begins_records(head: bytes) -> bool:
    """Tell whether a file that begins so, with 64 bytes or more, is one of records, compressed or not."""
    begin = inflated_head(head, _HEADER_BYTES) if compression_of(head) else head
    return len(begin) >= _HEADER_BYTES and masked_crc32c(begin[:8]) == _HEADER.unpack_from(begin)[1]


def read_records(
    source: str | os.PathLike[str] | BinaryIO | RangeFile, on_bad: OnBad | None = None
) -> Iterator[Record]:
    """Yield the records of a file, in order; GZIP and ZLIB are found out from the bytes.

    Parameters
    ----------
    source
        A path, or a file that is open for reading at its beginning, which need not be seekable, and is not closed.
    on_bad
        Called with the error of what is left out: of a record whose data do not match their checksum, that record; of
        one whose length does not, or that is cut off, that and all that follow. None: the error is raised.

    Raises
    ------
    DamagedInput
        Without `on_bad`: for a wrong checksum, a file that is cut off, or a compressed stream that is damaged.
    OSError
        When the file cannot be opened or read.
    """
    opened: AbstractContextManager[BinaryIO | RangeFile]
    if isinstance(source, (str, os.PathLike)):
        name, opened = os.fspath(source), open(source, "rb", buffering=0)  # noqa: SIM115 - closed below
    else:
        name, opened = str(getattr(source, "name", "a stream")), nullcontext(source)
    with opened as file:
        head = _read_fully(file, _HEADER.size)
        stream: _BinaryStream = _Rewound(head, file)
        if compression_of(head):
            stream = InflatedFile(stream)  # type: ignore[arg-type] # it calls `read` alone
        try:
            yield from _records(_StreamBlock(stream), name, on_bad)
        except DamagedInput as error:
            if on_bad is None:
                raise
            on_bad(error)


def _records(window: _StreamBlock, name: str, on_bad: OnBad | None) -> Iterator[Record]:
    """Yield the records of a stream of bytes; all that is done for each record is spelled out here: the hot path.

    Lengths repeat, so those whose checksum was right are remembered.
    """
    number = place = size = base = 0
    block = b""
    known: dict[int, int] = {}
    unpack_header, unpack_footer, make = _HEADER.unpack_from, _FOOTER.unpack_from, tuple.__new__
    while True:
        if size - place < _HEADER_BYTES:
            block, base = window.fill(place, _HEADER_BYTES, (name, number))
            place, size = 0, len(block)
            if not size:
                return
        length, length_crc = unpack_header(block, place)
        if known.get(length) != length_crc:
            _check_length(length, length_crc, block[place : place + 8], (name, number, base + place))
            if len(known) >= _MOST_KNOWN:
                known.clear()
            known[length] = length_crc
        start = place + _HEADER_BYTES
        end = start + length
        if end + _FOOTER_BYTES > size:
            block, base = window.fill(place, length + _OVERHEAD_BYTES, (name, number))
            place, size, start, end = 0, len(block), _HEADER_BYTES, _HEADER_BYTES + length
        data = block[start:end]
        if masked_crc32c(data) == unpack_footer(block, end)[0]:
            yield make(Record, (base + place, data))
        elif on_bad is None:
            raise _bad_data(name, number, base + place)
        else:
            on_bad(_bad_data(name, number, base + place))
        place = end + _FOOTER_BYTES
        number += 1


def locate_records(file: RangeFile) -> Iterator[RecordPlace]:
    """Yield where the records of a file lie, without reading their data: for `read_record`, in any order and process.

    Headers of small records lie in one block with their neighbours'; behind a large record a header is read alone. As
    in `_records`, lengths whose checksum was right are remembered.

    Raises
    ------
    DamagedInput
        When a length does not match its checksum, or the file is cut off or compressed, and so cannot be read this way.
    OSError
        When the file cannot be read.
    """
    name, size, read_at = file.name, file.size_bytes, file.read_at
    number = offset = length = 0
    block, base = b"", 0  # bytes of the file, and where they begin
    known: dict[int, int] = {}
    unpack_header, make = _HEADER.unpack_from, tuple.__new__
    while offset < size:
        place = offset - base
        if len(block) - place < _HEADER_BYTES:
            count = _BLOCK_BYTES if length < _BLOCK_BYTES // 8 else _HEADER_BYTES
            block, base, place = read_at(offset, count), offset, 0
            if len(block) < _HEADER_BYTES:
                raise _cut(name, number, offset)
            if not number and compression_of(block):
                raise DamagedInput(name, "record 0", 0, "the file is compressed: `read_records` reads it, in order")
        length, length_crc = unpack_header(block, place)
        if known.get(length) != length_crc:
            _check_length(length, length_crc, block[place : place + 8], (name, number, offset))
            if len(known) >= _MOST_KNOWN:
                known.clear()
            known[length] = length_crc
        following = offset + length + _OVERHEAD_BYTES
        if following > size:
            raise _cut(name, number, offset)
        yield make(RecordPlace, (offset, length, number))
        offset, number = following, number + 1


def data_range(place: RecordPlace) -> tuple[int, int]:
    """Return the first byte of a record's data in its file, and how many there are with their checksum."""
    return place.offset + _HEADER_BYTES, place.length + _FOOTER_BYTES


def read_record(file: RangeFile, place: RecordPlace) -> bytes:
    """Return the data of one record.

    Parameters
    ----------
    file
        It is in.
    place
        From `locate_records`.

    Raises
    ------
    DamagedInput
        When the data do not match their checksum, or are not there.
    """
    begin, size = data_range(place)
    data = file.read_at(begin, size)
    if len(data) != size:
        raise _cut(file.name, place.number, place.offset)
    if masked_crc32c(data[:-4]) != _FOOTER.unpack_from(data, place.length)[0]:
        raise _bad_data(file.name, place.number, place.offset)
    return data[:-4]


class RecordWriter:
    """Writes records to a file; a context manager that ends the compressed stream, and leaves the file open.

    Parameters
    ----------
    file
        Open for writing.
    compression
        As TensorFlow calls it.
    """

    def __init__(self, file: BinaryIO, compression: Compression = "") -> None:
        self._file = file
        self._deflate = zlib.compressobj(wbits=_WINDOW_BITS[compression]) if compression else None

    def __enter__(self) -> RecordWriter:
        return self

    def __exit__(self, *_: object) -> None:
        self.finish()

    def write(self, data: bytes) -> None:
        """Write a record.

        Raises
        ------
        ValueError
            When it has more than `MOST_RECORD_BYTES`.
        OSError
            When the file cannot take it, such as on a full disk.
        """
        if len(data) > MOST_RECORD_BYTES:
            raise ValueError(f"a record of {len(data)} bytes; write at most {MOST_RECORD_BYTES}")
        length = len(data).to_bytes(8, "little")
        pieces = (length + _FOOTER.pack(masked_crc32c(length)), data, _FOOTER.pack(masked_crc32c(data)))
        self._file.writelines(pieces if self._deflate is None else map(self._deflate.compress, pieces))

    def finish(self) -> None:
        """End the compressed stream; harmless when that was done."""
        deflate, self._deflate = self._deflate, None
        if deflate is not None:
            self._file.write(deflate.flush())


class _StreamBlock:
    """A block of a stream, and where it begins in the stream."""

    def __init__(self, stream: _BinaryStream) -> None:
        self._stream = stream
        self._block, self._base = b"", 0

    def fill(self, place: int, needed: int, where: tuple[str, int]) -> tuple[bytes, int]:
        """Return a block that begins at a place of the one before, and where that is in the stream.

        It has as many bytes as are needed, or none at the end of the stream. Raises DamagedInput.
        """
        name, number = where
        pieces = [self._block[place:]]
        self._base += place
        available = len(pieces[0])
        try:
            while available < needed:
                piece = self._stream.read(max(_BLOCK_BYTES, min(needed - available, 2**24)))
                if not piece:
                    break
                pieces.append(piece)
                available += len(piece)
        except InflateError as error:
            raise DamagedInput(name, f"record {number}", self._base, f"{error}; {_REMEDY}") from error
        self._block = b"".join(pieces)
        if 0 < available < needed:
            raise _cut(name, number, self._base)
        return self._block, self._base


class _Rewound:
    """A file of which some bytes were read already, as if they were not."""

    def __init__(self, head: bytes, file: BinaryIO | RangeFile) -> None:
        self._head, self._file = head, file

    def read(self, size: int) -> bytes:
        if self._head:
            head, self._head = self._head[:size], self._head[size:]
            return head
        return self._file.read(size) or b""


def _read_fully(file: BinaryIO | RangeFile, size: int) -> bytes:
    pieces: list[bytes] = []
    while size > 0 and (piece := file.read(size)):
        pieces.append(piece)
        size -= len(piece)
    return b"".join(pieces)


def _check_length(length: int, crc: int, encoded: bytes, place: tuple[str, int, int]) -> None:
    name, number, offset = place
    if masked_crc32c(encoded) != crc:
        what = "no TFRecord file" if not number else "damaged"
        reason = f"the length does not match its checksum (CRC32C), so the file is {what}; {_REMEDY}"
        raise DamagedInput(name, f"record {number}", offset, reason)
    if length > MOST_RECORD_BYTES:
        reason = f"{length} bytes, expected at most {MOST_RECORD_BYTES}; {_REMEDY}"
        raise DamagedInput(name, f"record {number}", offset, reason)


def _cut(name: str, number: int, offset: int) -> DamagedInput:
    return DamagedInput(name, f"record {number}", offset, f"the file is cut off; {_REMEDY}")


def _bad_data(name: str, number: int, offset: int) -> DamagedInput:
    reason = "the data do not match their checksum (CRC32C); write the file again, or leave the record out"
    return DamagedInput(name, f"record {number}", offset, reason)
