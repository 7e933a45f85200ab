"""The folder that decoded frames are kept in: whose it is, which forms have files there, and how the budget is divided.

It is a marked folder of this user's below the one that was named, and nothing in it is touched that could not have been
made here. One service has it at a time (`claim`); all its workers use it, and change it under the folder's lock.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from loader_service.flocks import Lock, lock, locked
from loader_service.frame_cache.form_file import FormFile
from loader_service.frame_cache.form_header import (
    DamagedHeader,
    ForeignFile,
    FormHeader,
    keep_less,
    read_extent,
    read_header,
    write_extent,
    write_header,
)
from loader_service.frame_cache.form_shares import FormNeed, shares
from loader_service.marked_folders import mark
from loader_service.private_folders import Folder, is_own_file, open_folder

_MARK = b"""# loader-service keeps decoded frames here. It can be removed while no service uses it; see
# https://bford.info/cachedir/
"""

#: Locked by the service that has the folder, and says which one it is.
_OWNER = "owner"

_FORM = re.compile(r"[0-9a-f]{32}\.frames\Z")

#: How long is waited for another worker that opens a form, in seconds; it takes milliseconds.
_LOCK_S = 10.0

#: File systems that are memory: what they hold ends with the machine.
_IN_MEMORY = frozenset({"tmpfs", "ramfs"})


class FolderTaken(Exception):
    """Another service has the folder; the text says which one."""


class FormSize(NamedTuple):
    """How much of a form is kept."""

    title: str
    frames: int
    kept_frames: int  # that have a place
    taken_bytes: int  # of the file system


def folder_name() -> str:
    """Return the name of this user's folder of frames."""
    return f"loader-service-frames-{os.geteuid()}"


def open_frames(folder: str | Path) -> Folder:
    """Open or make this user's folder of frames below another one.

    Raises
    ------
    NotOurs
        When it is a link, somebody else's, or holds things but no marker.
    OSError
        When it cannot be made or opened.
    """
    with open_folder(folder, make=True) as above:
        opened = above.private(folder_name())
    try:
        with locked(opened, _LOCK_S):
            mark(opened, _MARK)
    except OSError:
        opened.close()
        raise
    return opened


@contextmanager
def claim(folder: Folder, who: str) -> Iterator[None]:
    """Have a folder for one service, for as long as that lasts.

    Parameters
    ----------
    folder
        As `open_frames` gives it.
    who
        Names the service to others that want it.

    Raises
    ------
    FolderTaken
        When another service has it.
    OSError
        When nothing can be written there.
    """
    descriptor = folder.open_file(_OWNER, os.O_RDWR | os.O_CREAT)
    try:
        if lock(descriptor, folder, _OWNER) is Lock.TAKEN:
            raise FolderTaken(os.pread(descriptor, 4096, 0).decode("utf-8", "replace").strip() or "another service")
        os.ftruncate(descriptor, 0)
        os.pwrite(descriptor, who.encode("utf-8", "replace"), 0)
        yield
    finally:
        os.close(descriptor)


def is_in_memory(folder: Folder, mounts: Path = Path("/proc/self/mountinfo")) -> bool:
    """Tell whether a folder lies in memory; False where the kernel does not say."""
    device = folder.status().st_dev
    wanted = f"{os.major(device)}:{os.minor(device)}"
    try:
        lines = mounts.read_text("utf-8", "surrogateescape").splitlines()
    except OSError:
        return False
    for line in lines:
        before, _, after = line.partition(" - ")
        if before.split()[2:3] == [wanted]:
            return after.split()[:1] != [] and after.split()[0] in _IN_MEMORY
    return False


def form_sizes(folder: Folder) -> list[FormSize]:
    """Return how much is kept of each form, for people; forms that cannot be read are left out."""
    found = []
    for name, status in _forms(folder):
        try:
            descriptor = folder.open_file(name, os.O_RDONLY)
        except OSError:
            continue
        try:
            header, (kept, _) = read_header(descriptor), read_extent(descriptor)
        except (OSError, DamagedHeader, ForeignFile):
            continue
        finally:
            os.close(descriptor)
        kept_frames = header.cells.frames * kept // header.cells.blocks
        found.append(FormSize(header.title, header.cells.frames, kept_frames, status.st_blocks * 512))
    return found


def _is_sound(descriptor: int, header: FormHeader) -> bool:
    """Tell whether a file has the header that it should; ForeignFile when it was not made here."""
    try:
        known = read_header(descriptor)
        read_extent(descriptor)
    except DamagedHeader:
        return False
    size = header.cells.file_bytes(header.cells.blocks)
    return known[:2] == header[:2] and os.fstat(descriptor).st_size == size


def taken_bytes(folder: Folder) -> int:
    """Return what all forms take of the file system."""
    return sum(status.st_blocks * 512 for _, status in _forms(folder))


def _forms(folder: Folder) -> Iterator[tuple[str, os.stat_result]]:
    for name, status in folder.entries():
        if _FORM.match(name) and is_own_file(status):
            yield name, status


class FrameFolder:
    """A worker's way to the files of forms; used by one thread.

    Parameters
    ----------
    folder
        In which this user's folder of frames is.
    budget_bytes
        That all forms together may take.
    complain
        Told a line when something is wrong that people should see to.

    Raises
    ------
    OSError
        As `open_frames` does.
    """

    def __init__(self, folder: str | Path, budget_bytes: int, complain: Callable[[str], object]) -> None:
        self._folder = open_frames(folder)
        self._budget_bytes = budget_bytes
        self._complain = complain
        self._is_in_memory = is_in_memory(self._folder)
        self._open: dict[str, FormFile] = {}

    def open_form(self, header: FormHeader) -> FormFile | None:
        """Open the file of a form, made if need be, with its share of the budget; None, and a line, when that fails.

        Opened twice, it is one; each time wants a `release`.
        """
        name = f"{header.key.hex()[:32]}.frames"
        if name not in self._open:
            try:
                with locked(self._folder, _LOCK_S):
                    descriptor = self._make(name, header)
                    self._divide()
            except ForeignFile:
                self._complain(
                    f"{self._path(name)} was not made by a cache; remove or rename it: its frames are decoded"
                )
                return None
            except OSError as error:
                self._complain(f"cannot use the cache {self._path(name)}: {error}; its frames are decoded each time")
                return None
            path = str(self._folder.path / name)
            self._open[name] = FormFile(descriptor, path, header.cells, self._complain, is_in_memory=self._is_in_memory)
        form = self._open[name]
        form.users += 1
        return form

    def release(self, form: FormFile) -> None:
        """Take note that a stream uses a form no more; without any, it is only kept while there is room."""
        form.users -= 1
        if not form.users:
            for name in [name for name, each in self._open.items() if each is form]:
                del self._open[name]
            form.close()

    def close(self) -> None:
        """Close all files and the folder."""
        for form in self._open.values():
            form.close()
        self._open.clear()
        self._folder.close()

    # ---- inside, with the folder locked

    def _make(self, name: str, header: FormHeader) -> int:
        """Return a descriptor of a form's file, which says that the form is used for as long as it is open.

        One that is damaged is replaced by another, since others may have it mapped.
        """
        descriptor = self._folder.open_file(name, os.O_RDWR | os.O_CREAT)
        try:
            if os.fstat(descriptor).st_size and not _is_sound(descriptor, header):
                self._complain(f"the cache {self._path(name)} was damaged, or of another version; it is made anew")
                self._folder.unlink(name)
                os.close(descriptor)
                descriptor = -1
                descriptor = self._folder.open_file(name, os.O_RDWR | os.O_CREAT | os.O_EXCL)
            lock(descriptor, self._folder, name, shared=True)
            if not os.fstat(descriptor).st_size:
                write_header(descriptor, header)
            os.utime(descriptor)  # it was used now
        except BaseException:
            if descriptor >= 0:
                os.close(descriptor)
            raise
        return descriptor

    def _divide(self) -> None:
        """Give each form its share: first those that lose, then those that win."""
        descriptors = {}
        try:
            needs = []
            for name, status in _forms(self._folder):
                descriptor = descriptors[name] = self._folder.open_file(name, os.O_RDWR)
                is_used = lock(descriptor, self._folder, name) is not Lock.HAD
                try:
                    cells, kept = read_header(descriptor).cells, read_extent(descriptor)[0]
                except ForeignFile:
                    continue
                except DamagedHeader:
                    if not is_used:
                        self._folder.unlink(name)
                    continue
                needs.append(FormNeed(name, cells, kept, is_used, status.st_mtime))
            given = shares(self._budget_bytes, needs)
            for need in sorted(needs, key=lambda each: given[each.name] > each.kept):
                self._resize(need, given[need.name], descriptors[need.name])
        finally:
            for descriptor in descriptors.values():
                os.close(descriptor)

    def _resize(self, need: FormNeed, blocks: int, descriptor: int) -> None:
        if not blocks and not need.is_used:
            self._folder.unlink(need.name)
        elif blocks > need.kept:
            write_extent(descriptor, blocks, read_extent(descriptor)[1])
        elif blocks < need.kept:
            keep_less(descriptor, need.cells, blocks, read_extent(descriptor)[1])

    def _path(self, name: str) -> str:
        return repr(str(self._folder.path / name))
