"""Entries of a compressed file by their numbers: such a file is read from its beginning, and so in order."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Generic, TypeVar

from loader_service.errors import LoaderError, PackError
from loader_service.formats.range_file import RangeFile
from loader_service.pack.source_files import FileState, opened, states_of

_Entry = TypeVar("_Entry")


class InTurnReader(Generic[_Entry]):
    """Goes on in the file that it read last where it can, else begins at its first entry; used by one thread.

    Parameters
    ----------
    read_all
        Yields the entries of a file.
    """

    def __init__(self, read_all: Callable[[RangeFile], Iterator[_Entry]]) -> None:
        self._read_all = read_all
        self._entries: Iterator[_Entry] = iter(())
        self._file: tuple[str, FileState] | None = None
        self._next = 0

    def read(self, path: str, number: int) -> _Entry:
        """Return an entry.

        Parameters
        ----------
        path
            Of the file.
        number
            Of the entry, from 0; one before the last that was read costs all that come before it.

        Raises
        ------
        DamagedInput
            When the stream is cut off or damaged, or a checksum is wrong.
        PackError
            When there is no such entry any more.
        OSError
            When the file cannot be opened or read.
        """
        file = (path, states_of([path])[0])
        if file != self._file or number < self._next:
            self._file, self._entries, self._next = file, self._all(path), 0
        try:
            for entry in self._entries:
                self._next += 1
                if self._next > number:
                    return entry
        except (LoaderError, OSError):
            self._file = None
            raise
        self._file = None
        raise PackError(f"{path!r} has no entry {number} any more; pack again when nobody writes to it")

    def _all(self, path: str) -> Iterator[_Entry]:
        with opened(path) as file:
            yield from self._read_all(file)
