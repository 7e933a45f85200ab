"""What each kind of source can do, and what several of them need; a new kind is a file with such a class, and a row.

`items` runs in the process of the command, `read` in those that read: an item carries all that `read` needs to know.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Protocol

from loader_service.errors import PackError
from loader_service.pack.frame_blob import FrameSink
from loader_service.pack.records import Beside, Item, Recoding


class SourceKind(Protocol):
    """One kind of source."""

    #: What ``--from`` calls it.
    name: str

    #: What it takes, for messages.
    takes: str

    def claims(self, look: Look) -> bool:
        """Tell by the bytes and names of what lies there whether this kind can read it."""
        ...

    def items(self, look: Look, *, labelled: bool) -> Iterator[Item]:
        """Yield the videos in a source, by name; raises PackError when there is a fault that would fail all of it."""
        ...

    def files(self, item: Item) -> list[str]:
        """Return the files that a video is made of, which must not change while they are read."""
        ...

    def read(self, item: Item, recoding: Recoding, sink: FrameSink) -> Beside:
        """Give all frames of a video to `sink`, and return what lies beside them.

        Raises
        ------
        LoaderError
            When it cannot be read whole; the message names the source and the remedy.
        OSError
            Likewise.
        """
        ...


class Look:
    """What lies at a path that a user gave: the files below it, and the first bytes of some.

    Attributes
    ----------
    root
        The folder, or the folder of the file: names of videos are paths below it.
    files
        All files below it, or the one file, as paths below `root`, sorted; hidden ones are left out.
    is_folder
        Whether the user gave a folder.
    """

    def __init__(self, given: str) -> None:
        self.given = given
        path = Path(os.path.abspath(given))
        if not path.exists():
            raise PackError(f"{given!r}: there is no such file or folder; correct the path")
        self.is_folder = path.is_dir()
        self.root = path if self.is_folder else path.parent
        self._at_end = ExitStack()
        self.files = tuple(_files_below(path)) if self.is_folder else (path.name,)

    def at_end(self, close: Callable[[], object]) -> None:
        """Have something called when all items have been read."""
        self._at_end.callback(close)

    def close(self) -> None:
        """Let go of what the items needed."""
        self._at_end.close()

    def head(self, file: str, count: int = 512) -> bytes:
        """Return the first bytes of a file."""
        with (self.root / file).open("rb") as opened:
            return opened.read(count)

    def those(self, is_one: Callable[[str, bytes], bool]) -> Iterator[tuple[str, bytes, str]]:
        """Yield the files of a kind, each with its first bytes and its path.

        Parameters
        ----------
        is_one
            Tells that of a file and its first bytes.
        """
        for file in self.files:
            head = self.head(file)
            if is_one(file, head):
                yield file, head, os.path.join(self.root, file)

    def sample(self) -> Iterator[tuple[str, bytes]]:
        """Yield some files, the first, the last and those between at equal distances, with their first bytes."""
        step = max(1, len(self.files) // _LOOKED_AT)
        for file in dict.fromkeys((*self.files[::step], *self.files[-1:])):
            yield file, self.head(file)


#: Of the files of a folder, how many are looked at to tell its kind.
_LOOKED_AT = 64


def _files_below(folder: Path) -> Iterator[str]:
    """Yield files in order; links to folders are followed, once each."""
    seen: set[tuple[int, int]] = set()
    for place, folders, files in os.walk(folder, followlinks=True):
        status = os.stat(place)
        if (status.st_dev, status.st_ino) in seen:
            folders.clear()
            continue
        seen.add((status.st_dev, status.st_ino))
        folders[:] = sorted(each for each in folders if not each.startswith("."))
        below = os.path.relpath(place, folder)
        for file in sorted(files):
            if not file.startswith("."):
                yield file if below == "." else f"{below}/{file}"


def stem_of(path: str) -> str:
    """Return a path without its ending, in the form of a video's name."""
    return os.path.splitext(path)[0].replace(os.sep, "/")


def folder_label(name: str) -> str | None:
    """Return the folder that a video's name says it lies in; None where it lies in none."""
    return name.split("/")[-2] if "/" in name else None


class Unchanged:
    """Makes sure that files do not change while they are read; a context manager.

    Attributes
    ----------
    modified_ns
        The newest time of change of the files.

    Raises
    ------
    PackError
        At its end, when a file is another than at its beginning.
    """

    def __init__(self, paths: Sequence[str]) -> None:
        self._paths = paths
        self._before = [_state(path) for path in paths]
        self.modified_ns = max((modified for modified, *_ in self._before), default=0)

    def check(self) -> None:
        """Raise PackError when one has changed."""
        for path, before in zip(self._paths, self._before, strict=True):
            if _state(path) != before:
                raise PackError(f"{path!r} has changed while it was read; pack again when nobody writes to it")


def _state(path: str) -> tuple[int, int, int]:
    status = os.stat(path)
    return status.st_mtime_ns, status.st_size, status.st_ino
