"""Tells which directories of catalogs are in use, by locks of the kernel, and removes what nobody uses any more.

Knows no column and no cache. Who uses a directory holds a shared lock on it; who wants to remove it needs an exclusive
one, and never waits for it. So a directory that a living process uses is never removed, and one whose users were all
killed is free at once. Before its content is deleted, a directory is renamed: nobody finds half of it.
"""

from __future__ import annotations

import contextlib
import fcntl
import logging
import os
import stat
import tempfile
import weakref
from collections.abc import Iterator
from pathlib import Path

_LOG = logging.getLogger(__name__)

#: Names of what is being written or removed, or was when its process was killed, begin so.
UNFINISHED = ".new-"

#: Temporary catalogs are called so once they are held, and so before that.
_HELD_PREFIX, _NEW_PREFIX = "loader-service-catalog-", "loader-service-new-"


class Hold:
    """A process's use of a directory, until `release`; see `hold`.

    Parameters
    ----------
    descriptor
        The directory, with a shared lock.
    """

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor

    def release(self) -> None:
        """Stop using the directory."""
        os.close(self._descriptor)

    def release_with(self, user: object) -> None:
        """Stop using the directory when nothing refers to `user` any more, as the mappings of its files do."""
        weakref.finalize(user, os.close, self._descriptor)


def hold(directory: Path) -> Hold | None:
    """Use a directory from now on; None when it is not there, or is being removed at this moment.

    Raises
    ------
    OSError
        When it cannot be opened.
    """
    try:
        descriptor = os.open(directory, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    except (FileNotFoundError, NotADirectoryError):
        return None
    # A file system without locks gives them to nobody, so nobody can remove the directory either.
    if _lock(descriptor, fcntl.LOCK_SH) is False or not _is_still_at(directory, descriptor):
        os.close(descriptor)
        return None
    return Hold(descriptor)


def remove_unless_held(directory: Path) -> bool:
    """Remove a directory and return True; False when somebody uses it or was faster.

    Raises
    ------
    OSError
        When it cannot be removed.
    """
    try:
        descriptor = os.open(directory, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    except FileNotFoundError:
        return False
    with contextlib.ExitStack() as stack:
        stack.callback(os.close, descriptor)
        if not _lock(descriptor, fcntl.LOCK_EX) or not _is_still_at(directory, descriptor):
            return False
        with tempfile.TemporaryDirectory(dir=directory.parent, prefix=UNFINISHED) as grave:
            os.rename(directory, Path(grave) / "unused")
        return True


def temporary_directory() -> tuple[Path, Hold]:
    """Make a directory that is held; those that killed processes of this user left are removed.

    Raises
    ------
    OSError
        When there is no room for it.
    """
    sweep_temporary()
    new = Path(tempfile.mkdtemp(prefix=_NEW_PREFIX))
    held = hold(new)
    assert held is not None  # noqa: S101 - nobody else knows its name, and under this one nobody removes it
    place = new.with_name(new.name.replace(_NEW_PREFIX, _HELD_PREFIX))
    try:
        os.rename(new, place)
    except OSError:
        held.release()
        os.rmdir(new)
        raise
    return place, held


def sweep_temporary() -> None:
    """Remove the temporary directories of this user that nobody holds."""
    for directory in _temporary_directories():
        try:
            if remove_unless_held(directory):
                _LOG.info("removed the catalog %r, which a killed service had left", str(directory))
        except OSError as error:
            _LOG.warning("cannot remove the unused catalog %r: %s", str(directory), str(error))


def _temporary_directories() -> Iterator[Path]:
    for directory in Path(tempfile.gettempdir()).glob(f"{_HELD_PREFIX}*"):
        with contextlib.suppress(FileNotFoundError):  # its owner has just removed it
            status = directory.lstat()
            if stat.S_ISDIR(status.st_mode) and status.st_uid == os.getuid():
                yield directory


def _lock(descriptor: int, kind: int) -> bool | None:
    """Return whether the lock was had at once; None where the file system has no locks."""
    try:
        fcntl.flock(descriptor, kind | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:
        return None
    return True


def _is_still_at(directory: Path, descriptor: int) -> bool:
    """Return whether the path leads to what was opened; not when that was renamed before it was locked."""
    try:
        return os.path.samestat(os.stat(directory), os.fstat(descriptor))
    except FileNotFoundError:
        return False
