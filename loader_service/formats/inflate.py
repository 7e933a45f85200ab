"""GZIP and ZLIB streams as files that are read from begin to end, in bounded memory; knows no format inside them."""

from __future__ import annotations

import zlib
from typing import BinaryIO

#: Compressed bytes that are read at once.
_PIECE_BYTES = 2**18

#: For zlib: either header is accepted.
_EITHER_HEADER = 15 + 32


class InflateError(Exception):
    """A compressed stream is cut off or damaged; the message says which."""


class InflatedFile:
    """What a compressed file holds; GZIP members that follow each other are one stream.

    Parameters
    ----------
    file
        Open for reading, at the beginning of the stream; stays the caller's.
    """

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self._inflate = zlib.decompressobj(_EITHER_HEADER)
        self._waiting = b""
        self._is_begun = False

    def read(self, size: int) -> bytes:
        """Return up to `size` bytes, none only at the end; raises InflateError for a stream cut off or damaged."""
        while True:
            if self._inflate.eof:
                self._waiting = self._inflate.unused_data or self._file.read(_PIECE_BYTES)
                if not self._waiting.strip(b"\0"):  # some programs pad with zeros
                    return b""
                self._inflate = zlib.decompressobj(_EITHER_HEADER)
            elif not self._waiting:
                self._waiting = self._file.read(_PIECE_BYTES)
                if not self._waiting:
                    raise InflateError("the compressed stream is cut off")
            try:
                data = self._inflate.decompress(self._waiting, size)
            except zlib.error as error:
                raise InflateError(f"the compressed stream is damaged ({error})") from error
            self._waiting = self._inflate.unconsumed_tail
            if data:
                return data


def inflated_head(head: bytes, count: int) -> bytes:
    """Return up to `count` of the first bytes that a compressed file holds, by its own first bytes; b"" for no such."""
    try:
        return zlib.decompressobj(_EITHER_HEADER).decompress(head, count)
    except zlib.error:
        return b""
