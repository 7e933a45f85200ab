"""Opens the folders that belong to one user alone, and works in them by descriptor; knows nothing of their content.

In ``/tmp`` and ``/dev/shm`` anybody may make any name first: a link to another folder, a folder of their own, a pipe.
So a folder of ours is opened from its parent's descriptor without following a link, its owner is checked on what was
opened, and everything in it is reached from that descriptor. No path is looked up twice.
"""

from __future__ import annotations

import contextlib
import errno
import logging
import os
import stat
from collections.abc import Callable, Iterator
from pathlib import Path

from loader_service.sharing_group import FOLDER_MODE, share

_LOG = logging.getLogger(__name__)

#: Links on the way to a folder, as the kernel's own bound.
_MOST_LINKS = 40

_FOLDER = os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


class NotOurs(PermissionError):
    """A name leads to something that was not made by us, or not by this user; ``strerror`` is the whole sentence."""

    def __init__(self, sentence: str) -> None:
        super().__init__(errno.EPERM, sentence)

    def __str__(self) -> str:
        return str(self.strerror)


class Folder:
    """An open folder; a context manager.

    Parameters
    ----------
    descriptor
        The folder; closed by `close`.
    path
        Its name, for messages and for those who can only be given a name.
    """

    def __init__(self, descriptor: int, path: Path) -> None:
        self._descriptor = descriptor
        self.path = path

    def __enter__(self) -> Folder:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the descriptor, and with it any lock on it; harmless when it is closed."""
        descriptor, self._descriptor = self._descriptor, -1
        if descriptor >= 0:
            os.close(descriptor)

    def fileno(self) -> int:
        """Return the descriptor, such as for ``flock``."""
        return self._descriptor

    def status(self) -> os.stat_result:
        """Return the status of the folder itself."""
        return os.fstat(self._descriptor)

    def names(self) -> list[str]:
        """Return the names in it, sorted."""
        return sorted(os.listdir(self._descriptor))

    def status_of(self, name: str) -> os.stat_result | None:
        """Return the status of an entry, of a link itself; None when there is none."""
        try:
            return os.stat(name, dir_fd=self._descriptor, follow_symlinks=False)
        except FileNotFoundError:
            return None

    def entries(self) -> Iterator[tuple[str, os.stat_result]]:
        """Yield name and status of each entry; not of those that vanish meanwhile."""
        for name in self.names():
            status = self.status_of(name)
            if status is not None:
                yield name, status

    def own_files(self, is_ours: Callable[[str], bool]) -> dict[str, os.stat_result]:
        """Return the status of all entries, by name; raises NotOurs when one is no file of this user, named so."""
        found = dict(self.entries())
        for name, status in found.items():
            if not is_ours(name) or not is_own_file(status):
                raise NotOurs(f"{str(self.path / name)!r} was made by nobody who makes such folders")
        return found

    def folder(self, name: str, *, make: bool = False, owner: int | None = None) -> Folder:
        """Open a folder in it that belongs to this user, or to another one that is named.

        Parameters
        ----------
        name
            Of the folder.
        make
            Make it, with mode 0700, when it is not there.
        owner
            User to whom it is to belong; None: this one.

        Raises
        ------
        NotOurs
            When it is a link, no folder, or somebody else's.
        OSError
            When it cannot be made or opened.
        """
        path = self.path / name
        try:
            # Another user's may be entered and not be read.
            access = os.O_RDONLY if owner is None else os.O_PATH
            opened = Folder(self._open_folder(name, access | _FOLDER, make=make), path)
        except OSError as error:
            if error.errno in (errno.ELOOP, errno.ENOTDIR):
                raise NotOurs(f"{str(path)!r} is a link or no folder") from error
            raise
        try:
            check_ours(opened.status(), path, owner)
        except NotOurs:
            opened.close()
            raise
        return opened

    def _open_folder(self, name: str, flags: int, *, make: bool) -> int:
        try:
            return os.open(name, flags, dir_fd=self._descriptor)
        except FileNotFoundError:
            if not make:
                raise
        with contextlib.suppress(FileExistsError):  # another process was faster
            os.mkdir(name, 0o700, dir_fd=self._descriptor)
        return os.open(name, flags, dir_fd=self._descriptor)

    def shared(self, name: str, group: int) -> Folder:
        """Open or make a folder of this user that a group can enter too, and not list; raises as `folder` does."""
        opened = self.folder(name, make=True)
        try:
            share(opened.fileno(), FOLDER_MODE, group)
        except OSError:
            opened.close()
            raise
        return opened

    def private(self, name: str) -> Folder:
        """Open or make a folder that this user alone can enter; raises as `folder` does.

        One of ours with a wider mode is narrowed to 0700, with a line in the log: its name is ours too.
        """
        opened = self.folder(name, make=True)
        try:
            if stat.S_IMODE(opened.status().st_mode) & 0o077:
                os.fchmod(opened.fileno(), 0o700)
                _LOG.warning("others could enter %r; its mode is 0700 now", str(opened.path))
        except OSError:
            opened.close()
            raise
        return opened

    def open_file(self, name: str, flags: int, *, owner: int | None = None) -> int:
        """Return a descriptor of a regular file of this user, or of `owner`; one that is made has mode 0600.

        Raises
        ------
        NotOurs
            When it is a link, no regular file, or somebody else's.
        OSError
            When it cannot be opened.
        """
        path = self.path / name
        # A pipe in the file's place must not make the open wait.
        flags |= os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
        try:
            descriptor = os.open(name, flags, 0o600, dir_fd=self._descriptor)
        except OSError as error:
            if error.errno in (errno.ELOOP, errno.ENXIO):
                raise NotOurs(f"{str(path)!r} is a link or no file") from error
            raise
        try:
            _check_file(os.fstat(descriptor), path, owner)
        except NotOurs:
            os.close(descriptor)
            raise
        return descriptor

    def unlink(self, name: str) -> None:
        """Remove a name that is no folder's; harmless when it is not there."""
        with contextlib.suppress(FileNotFoundError):
            os.unlink(name, dir_fd=self._descriptor)

    def rename(self, name: str, target: str) -> None:
        """Give an entry another name in the same folder; a file takes the place of a file."""
        os.rename(name, target, src_dir_fd=self._descriptor, dst_dir_fd=self._descriptor)

    def remove_folder(self, name: str, opened: Folder) -> bool:
        """Remove an empty folder and return True; False when it is not empty, or the name leads to another one."""
        status = self.status_of(name)
        if status is None or not os.path.samestat(status, opened.status()):
            return False
        try:
            os.rmdir(name, dir_fd=self._descriptor)
        except OSError as error:
            if error.errno in (errno.ENOTEMPTY, errno.EEXIST):
                return False
            raise
        return True


def is_own_file(status: os.stat_result) -> bool:
    """Return whether this is the status of a regular file of this user."""
    return stat.S_ISREG(status.st_mode) and status.st_uid == os.geteuid()


def check_ours(status: os.stat_result, path: Path, owner: int | None = None) -> None:
    """Make sure that something belongs to this user: root's is not another user's, nor another user's root's.

    Or to `owner`, when one is named.

    Raises
    ------
    NotOurs
        When it is somebody else's.
    """
    if owner is not None and status.st_uid != owner:
        raise NotOurs(f"{str(path)!r} belongs to user {status.st_uid}, not to user {owner}, whose service it is")
    if owner is None and status.st_uid != os.geteuid():
        raise NotOurs(f"{str(path)!r} belongs to user {status.st_uid}, not to you")


def _check_file(status: os.stat_result, path: Path, owner: int | None) -> None:
    if not stat.S_ISREG(status.st_mode):
        raise NotOurs(f"{str(path)!r} is no file")
    check_ours(status, path, owner)


def open_folder(path: str | os.PathLike[str], *, make: bool = False) -> Folder:
    """Open a folder that a user or the system names, to reach what is in it; any user may own it.

    Links on the way are followed, but not those that another user has planted in a folder that anybody can write to.

    Parameters
    ----------
    path
        Of the folder.
    make
        Make what is missing, with mode 0700.

    Raises
    ------
    NotOurs
        When such a link is on the way.
    OSError
        When it cannot be made or opened.
    """
    place = Path(os.path.abspath(path)) if ".." not in Path(path).parts else Path.cwd() / path
    left = [part for part in reversed(place.parts) if part != "/"]
    links_left = _MOST_LINKS
    here = _root()
    try:
        while left:
            name = left.pop()
            target = _read_link(here, name) if links_left else None  # the last one fails, as it is no folder
            if target is not None:
                links_left -= 1
                left += [part for part in reversed(Path(target).parts) if part != "/"]
                if not os.path.isabs(target):
                    continue
            following = _root() if target is not None else _step(here, name, make=make)
            here.close()
            here = following
    except OSError:
        here.close()
        raise
    return here


def _root() -> Folder:
    return Folder(os.open("/", os.O_PATH | _FOLDER), Path("/"))


def _step(here: Folder, name: str, *, make: bool) -> Folder:
    try:
        descriptor = os.open(name, os.O_PATH | _FOLDER, dir_fd=here.fileno())
    except FileNotFoundError:
        if not make:
            raise
        with contextlib.suppress(FileExistsError):
            os.mkdir(name, 0o700, dir_fd=here.fileno())
        descriptor = os.open(name, os.O_PATH | _FOLDER, dir_fd=here.fileno())
    return Folder(descriptor, here.path / name)


def _read_link(here: Folder, name: str) -> str | None:
    """Return where a link leads, None when there is no link; refuses one that another user has planted."""
    try:
        descriptor = os.open(name, os.O_PATH | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=here.fileno())
    except FileNotFoundError:
        return None
    try:
        status = os.fstat(descriptor)
        if not stat.S_ISLNK(status.st_mode):
            return None
        above = here.status()
        if above.st_mode & stat.S_IWOTH and status.st_uid not in (os.geteuid(), above.st_uid):
            raise NotOurs(f"{str(here.path / name)!r} is a link that user {status.st_uid} has planted")
        return os.readlink("", dir_fd=descriptor)
    finally:
        os.close(descriptor)
