"""Records of compressed TFRecord files by their numbers: such a file is read from its begin, and so in order."""

from __future__ import annotations

import os
from collections.abc import Iterator

from loader_service.errors import LoaderError, PackError
from loader_service.formats.tfrecord import Record, read_records


class CompressedRecords:
    """Goes on in the file that it read last where it can, else begins at its first record; used by one thread."""

    def __init__(self) -> None:
        self._records: Iterator[Record] = iter(())
        self._file: tuple[str, int, int, int] | None = None
        self._next = 0

    def read(self, path: str, number: int) -> bytes:
        """Return the data of a record.

        Parameters
        ----------
        path
            Of the file.
        number
            Of the record, from 0; one before the last that was read costs all that come before it.

        Raises
        ------
        DamagedInput
            When the stream is cut off or damaged, or a checksum is wrong.
        PackError
            When there is no such record any more.
        OSError
            When the file cannot be opened or read.
        """
        status = os.stat(path)
        file = (path, status.st_mtime_ns, status.st_size, status.st_ino)
        if file != self._file or number < self._next:
            self._file, self._records, self._next = file, read_records(path), 0
        try:
            for record in self._records:
                self._next += 1
                if self._next > number:
                    return record.data
        except (LoaderError, OSError):
            self._file = None
            raise
        self._file = None
        raise PackError(f"{path!r} has no record {number} any more; pack again when nobody writes to it")
