"""A file that is read at any place, wherever its bytes lie; and such a file on a local disk. Knows no format."""

from __future__ import annotations

import io
import os
from typing import Protocol

#: Bytes that a disk is asked for at least: more would be copied in vain where headers are read and data are not.
_BUFFER_BYTES = 4096


class RangeFile(Protocol):
    """A file that is open for reading, from its beginning on or at any place; used by one thread."""

    @property
    def name(self) -> str:
        """What it is called in errors."""
        ...

    @property
    def size_bytes(self) -> int:
        """Its size."""
        ...

    def read_at(self, offset: int, length: int) -> bytes:
        """Return bytes of any place; fewer than were asked for only at the end."""
        ...

    def read(self, size: int = -1, /) -> bytes | None:
        """Return the bytes that follow those of the `read` before; fewer than were asked for only at the end."""
        ...

    def seek(self, offset: int, whence: int = 0, /) -> int:
        """Go to a place, for `read`; return where that is."""
        ...

    def tell(self) -> int:
        """Return where the next `read` begins."""
        ...


class DiskFile(io.BufferedReader):
    """A file on a local disk, open for reading; a context manager.

    Parameters
    ----------
    path
        Of the file.

    Raises
    ------
    OSError
        When it cannot be opened.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        super().__init__(io.FileIO(os.fspath(path)), _BUFFER_BYTES)
        self.size_bytes = os.fstat(self.fileno()).st_size

    def read_at(self, offset: int, length: int) -> bytes:
        """Return bytes of any place; fewer than were asked for only at the end. Raises OSError."""
        data = os.pread(self.fileno(), length, offset)
        while len(data) < length and (piece := os.pread(self.fileno(), length - len(data), offset + len(data))):
            data += piece  # a signal can cut a read short
        return data
