"""Tells which directories of catalogs are in use, by locks of the kernel, and removes what nobody uses any more.

Knows no cache. Who uses a directory holds a shared lock on it; who wants to remove it needs an exclusive one, and never
waits for it. So a directory that a living process uses is never removed, and one whose users were all killed is free at
once. Only catalogs are removed: a directory that holds anything else stays as it is.
"""

from __future__ import annotations

import logging
import os
import re
import secrets
import stat
import tempfile
import weakref

from loader_service.catalog.cache.column_files import FACTS, is_catalog_file
from loader_service.flocks import Lock, is_at, lock
from loader_service.private_folders import Folder, open_folder

_LOG = logging.getLogger(__name__)

_TEMPORARY = re.compile(r"loader-service-catalog-[0-9a-f]{16}\Z")


class Hold:
    """A process's use of a directory, until `release`; see `hold`.

    Parameters
    ----------
    folder
        The directory, with a shared lock.
    """

    def __init__(self, folder: Folder) -> None:
        self._folder = folder

    @property
    def folder(self) -> Folder:
        """The directory."""
        return self._folder

    def release(self) -> None:
        """Stop using the directory."""
        self._folder.close()

    def release_with(self, user: object) -> None:
        """Stop using the directory when nothing refers to `user` any more, as the mappings of its files do."""
        weakref.finalize(user, self._folder.close)


def hold(parent: Folder, name: str) -> Hold | None:
    """Use a directory from now on; None when it is not there, or is being removed at this moment.

    Raises
    ------
    OSError
        When it cannot be opened, or is not this user's.
    """
    try:
        folder = parent.folder(name)
    except FileNotFoundError:
        return None
    found = lock(folder.fileno(), parent, name, shared=True)
    # A file system without locks gives them to nobody, so nobody can remove the directory either.
    if found is Lock.HAD or (found is Lock.UNSUPPORTED and is_at(folder.fileno(), parent, name)):
        return Hold(folder)
    folder.close()
    return None


def remove_unless_held(parent: Folder, name: str) -> bool:
    """Remove the directory of a catalog and return True; False when somebody uses it, or was faster.

    Raises
    ------
    NotOurs
        When it is not this user's, or holds anything that is no catalog's.
    OSError
        When it cannot be removed.
    """
    try:
        folder = parent.folder(name)
    except FileNotFoundError:
        return False
    with folder:
        return lock(folder.fileno(), parent, name) is Lock.HAD and remove_catalog(parent, name, folder)


def remove_catalog(parent: Folder, name: str, folder: Folder) -> bool:
    """Remove the directory of a catalog that nobody else uses; raises as `remove_unless_held`."""
    # First what makes it a catalog, so that what a kill leaves is none.
    for entry in sorted(folder.own_files(is_catalog_file), key=lambda each: each != FACTS):
        folder.unlink(entry)
    return parent.remove_folder(name, folder)


def temporary_directory() -> tuple[Folder, Hold]:
    """Make a directory that is held, in a folder that is returned too; those that killed processes left are removed.

    Raises
    ------
    OSError
        When there is no room for it.
    """
    place = open_folder(tempfile.gettempdir())
    try:
        sweep_temporary(place)
        while True:
            name = f"loader-service-catalog-{secrets.token_hex(8)}"
            os.mkdir(name, 0o700, dir_fd=place.fileno())
            held = hold(place, name)
            if held is not None:  # else another process has just swept it
                return place, held
    except OSError:
        place.close()
        raise


def sweep_temporary(place: Folder) -> None:
    """Remove the temporary catalogs of this user that nobody holds."""
    for name in _names(place):
        status = place.status_of(name) if _TEMPORARY.match(name) else None
        if status is None or not stat.S_ISDIR(status.st_mode) or status.st_uid != os.geteuid():
            continue
        try:
            if remove_unless_held(place, name):
                _LOG.info("removed the catalog %r, which a killed service had left", str(place.path / name))
        except OSError as error:
            _LOG.warning("left the unused catalog %r: %s", str(place.path / name), str(error))


def _names(folder: Folder) -> list[str]:
    """Return the names in a folder that was opened to be passed through only; none where they may not be read."""
    try:
        descriptor = os.open(".", os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC, dir_fd=folder.fileno())
    except PermissionError:
        return []
    try:
        return sorted(os.listdir(descriptor))
    finally:
        os.close(descriptor)
