"""The open files of a catalog: looked at before each read, read again when a disk fails. Knows no layout, no field."""

from __future__ import annotations

from collections import OrderedDict
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from loader_service.errors import ConfigError, FileTouched, LoaderError
from loader_service.stores.faults import ObjectChanged
from loader_service.stores.urls import is_url
from loader_service.worker.open_file import HDF5Failure, OpenFile, stat_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from loader_service.catalog.columns import Catalog, FileStat
    from loader_service.stores.copy_folder import CopyFolder
    from loader_service.worker.read_ahead import Opened
    from loader_service.worker.retry_patience import RetryPatience

_Result = TypeVar("_Result")


class _FileInCatalog(NamedTuple):
    """What the catalog says of a file."""

    path: str
    status: FileStat
    in_store: bool


class CatalogFiles:
    """Files that are opened when they are read; used by one thread.

    Parameters
    ----------
    catalog
        Stays the caller's.
    most_open
        How many are kept open at most; the one used longest ago is closed first.
    patience
        How long a read that fails is tried again.
    drop
        Called with the number of a file that is closed since it may be another one now.
    copy
        Keeps what is fetched of objects.

    Attributes
    ----------
    touched
        The file that was last found to have another time or inode; -1 without one.
    ahead
        Returns bytes of an object that were read ahead, ``(file, offset, length)``; None where they were not.

    Raises
    ------
    ConfigError
        When `most_open` is less than 1.
    """

    def __init__(
        self,
        catalog: Catalog,
        most_open: int,
        patience: RetryPatience,
        drop: Callable[[int], object],
        copy: CopyFolder | None = None,
    ) -> None:
        if most_open < 1:
            raise ConfigError(f"max_open_files={most_open!r} leaves no file to read from; give 1 or more")
        self._catalog = catalog
        self._most_open = most_open
        self._patience = patience
        self._drop = drop
        self._copy = copy
        self.ahead: Callable[[int, int, int], bytes | None] = lambda *_: None
        self._open_files: OrderedDict[int, OpenFile] = OrderedDict()
        self._adopted: dict[int, FileStat] = {}
        self._scanned: dict[int, _FileInCatalog] = {}  # of the files that are open
        self.touched = -1
        self._one_look_is_for_all = False
        self._looked_at = -1  # by `of_rows`
        self._seen: set[int] | None = None  # by `seen_as`, for the tasks at hand; None where nobody tells of tasks

    def of_rows(self, video: int) -> OpenFile:
        """Return a video's file, which is the one scanned, or was at the latest look where that is for all.

        Raises
        ------
        FileTouched, CatalogError
            As `read` does.
        """
        number = int(self._catalog.video_file[video])
        file = self._open_files.get(number) if self._one_look_is_for_all and number == self._looked_at else None
        if file is None:
            file, self._looked_at = self.read((video, 0), lambda opened: opened), number
        return file

    def begin_task(self, *, is_with_others: bool) -> None:
        """Come to a task; one that is reported together with those before it shares their looks at files."""
        self._one_look_is_for_all = is_with_others
        if not is_with_others:
            self._seen = set()

    def seen_as(self, video: int) -> FileStat:
        """Return what identifies a video's file, which is the one scanned, or was in the tasks at hand.

        For what is not read from the file; raises as `read` does.
        """
        number = int(self._catalog.video_file[video])
        if self._seen is None or number not in self._seen:
            self.read((video, 0), lambda opened: opened)
            if self._seen is not None:
                self._seen.add(number)
        scanned = self._scanned.get(number)
        return scanned.status if scanned else self.expected(number)

    def adopt(self, file: int, status: FileStat) -> None:
        """Take a file with another size, time or inode for the one that was scanned: its content is the same."""
        self._adopted[file] = status
        self._close(file)

    def expected(self, number: int) -> FileStat:
        """Return what a file's size, time and inode are to be."""
        return self._adopted.get(number) or self._catalog.file_stat(number)

    def close(self) -> None:
        """Close all files; a later `read` opens them again."""
        self._scanned.clear()
        while self._open_files:
            self._open_files.popitem()[1].close()

    def read(
        self,
        place: tuple[int, int],
        read: Callable[..., _Result],
        *arguments: Any,
        is_checked: bool = False,
    ) -> _Result:
        """Return what a read of a frame gives; try again, with the file opened anew, when the disk fails meanwhile.

        Parameters
        ----------
        place
            Video and frame.
        read, arguments
            Called with the open file and the arguments.
        is_checked
            Whether the file was found unchanged a moment ago, and stays open.
        """
        number = int(self._catalog.video_file[place[0]])
        attempts = None
        is_second = False
        while True:
            try:
                file = self._open_files.get(number) if is_checked else None
                return read(file or self._open(number, place), *arguments)
            except HDF5Failure:
                # What HDF5 keeps in memory may come from a read that was cut short; a second look is at the file.
                self._close(number)
                if is_second:
                    raise
                is_second = True
            except OSError as error:
                self._close(number)
                if isinstance(error, ObjectChanged):
                    self._touched(number, self._catalog.file_path(number))
                attempts = attempts or self._patience.attempts()
                if not attempts.again(error):
                    raise self._patience.give_up(number, attempts, error, self.describe(*place)) from error
            is_checked = False

    def hold(self, number: int) -> Opened | None:
        """Return what reads a file in any thread; None when it cannot be opened, which the next read of it will say.

        One that is open is not looked at: the caller does that, after it was read.
        """
        file = self.if_open(number)
        if file is not None:
            return file.hold()
        try:
            return self._open(number, (int(self._catalog.videos_of(number)[0]), 0)).hold()
        except (OSError, LoaderError):
            return None

    def is_in_memory(self, number: int, offset: int, length: int) -> bool:
        """Tell whether bytes of a file that is open can be read without waiting; False of one that is not open."""
        file = self.if_open(number)
        return file is not None and file.descriptor >= 0 and file.is_in_memory(offset, length)

    def if_open(self, number: int) -> OpenFile | None:
        """Return a file that is open, which nobody has looked at."""
        return self._open_files.get(number)

    def _close(self, number: int) -> None:
        self._drop(number)
        self._scanned.pop(number, None)
        if self._seen is not None:
            self._seen.discard(number)
        file = self._open_files.pop(number, None)
        if file is not None:
            file.close()

    def _scanned_as(self, number: int) -> _FileInCatalog:
        """Return what the catalog says of a file; looked up once while it is open."""
        path = self._catalog.file_path(number)
        return _FileInCatalog(path, self.expected(number), is_url(path))

    def _open(self, number: int, place: tuple[int, int]) -> OpenFile:
        if self._patience.gave_up(number):
            raise self._patience.gave_up_before(number, self.describe(*place))
        scanned = self._scanned.get(number) or self._scanned_as(number)
        path, expected, in_store = scanned
        # By path and at every read: besides a file that was cut off or written to under its readers, this also finds
        # one that another file has replaced, which a descriptor opened before would never show.
        # One in a store is compared by every request for bytes.
        if not in_store and stat_of(path) != expected:
            self._touched(number, path)
        file = self._open_files.get(number)
        if file is None:
            while len(self._open_files) >= self._most_open:
                oldest, longest_unused = self._open_files.popitem(last=False)
                self._scanned.pop(oldest, None)
                longest_unused.close()
            file = _open_object(path, self._copy, partial(self.ahead, number)) if in_store else OpenFile(path)
            if file.status() != expected:
                file.close()
                self._touched(number, path)
            self._open_files[number], self._scanned[number] = file, scanned
        self._open_files.move_to_end(number)
        return file

    def _touched(self, number: int, path: str) -> None:
        self.touched = number
        raise FileTouched(f"{path!r} is not the file that was scanned: its size, time or inode, or ETag, is another")

    def describe(self, video: int, frame: int) -> str:
        """Return a frame's name, for messages."""
        name = self._catalog.name(video).decode("utf-8", "surrogateescape")
        path = self._catalog.file_path(int(self._catalog.video_file[video]))
        return f"frame {frame} of video {name!r} in {path!r}"


def _open_object(path: str, copy: CopyFolder | None, ahead: Callable[[int, int], bytes | None]) -> OpenFile:
    from loader_service.worker.open_object import OpenObject  # noqa: PLC0415 - most services have no store

    return OpenObject(path, copy, ahead)
