"""A new file whose checksum and size are known when it is written, and which is on disk when it is closed."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path
from typing import BinaryIO, cast

from loader_service.formats.checksums import crc32c

#: Written at once; larger pieces are written as they are.
_BUFFER_BYTES = 2**20


class SummedFile:
    """A file that is written once, from begin to end; a context manager.

    Parameters
    ----------
    path
        Must not exist.
    sync
        Whether it is on disk when it is closed: one wait for the disk, too long for a small file.

    Attributes
    ----------
    crc32c, size_bytes
        Of what was written up to now.

    Raises
    ------
    OSError
        When it cannot be made; likewise from `write` and from the end of the context.
    """

    def __init__(self, path: Path, *, sync: bool = True) -> None:
        self._file = path.open("xb", buffering=_BUFFER_BYTES)
        self._sync = sync
        self.crc32c = 0
        self.size_bytes = 0

    def __enter__(self) -> SummedFile:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        with self._file:
            if kind is None:
                self._file.flush()
                if self._sync:
                    os.fsync(self._file.fileno())

    @property
    def as_file(self) -> BinaryIO:
        """The same, for those who write to any: `write` and `writelines` alone work."""
        return cast("BinaryIO", self)

    def write(self, data: bytes) -> int:
        """Write some bytes."""
        self.crc32c = crc32c(data, self.crc32c)
        self.size_bytes += len(data)
        return self._file.write(data)

    def writelines(self, pieces: Iterable[bytes]) -> None:
        """Write pieces, one after the other."""
        for piece in pieces:
            self.write(piece)
