"""The files of an endpoint: its folder, its sockets, its lock; touches only those that a service of this user has made.

The default folder is private. A folder that a user names is used as it is, since ``/tmp`` or a home is nobody's to
change, as long as no other user could put another socket in the place of ours.
"""

from __future__ import annotations

import os
import re
import socket
import stat
import time
from pathlib import Path

from loader_service.endpoint import private_directories
from loader_service.errors import ConfigError
from loader_service.private_folders import Folder, NotOurs, check_ours, open_folder
from loader_service.sharing_group import ENVIRONMENT_VARIABLE as GROUP_VARIABLE
from loader_service.sharing_group import FILE_MODE, may_enter, sharing_group

#: How long a socket may still be open after its service was killed, and between two looks; in seconds.
_CLOSING_S, _PAUSE_S = 2.0, 0.02

#: Connections that may wait to be accepted.
_BACKLOG = 128

#: What a service writes into its lock file; an empty one may be that of a service that was killed before it wrote.
_LOCK_CONTENT = re.compile(rb"(\d{1,20}\n)?\Z")

_REMEDY = "choose another --endpoint"


def open_socket_folder(directory: Path) -> Folder:
    """Open the folder of an endpoint, made with mode 0700 when it is not there.

    If the service is shared with a group, a folder that is made lets that group in too.

    Raises
    ------
    ConfigError
        When it cannot be made, when another user could replace what is in it, or a group that is to share it cannot
        enter it.
    """
    group = sharing_group()
    try:
        if group is not None:
            return _shared_socket_folder(directory, group)
        if directory in private_directories():
            with open_folder(directory.parent) as parent:
                return parent.private(directory.name)
        opened = open_folder(directory, make=True)
    except NotOurs as error:
        where = "set XDG_RUNTIME_DIR to a folder of yours"
        raise ConfigError(f"{error}; remove it, {where}, or {_REMEDY}") from error
    except OSError as error:
        raise ConfigError(f"cannot make the folder {directory}: {error.strerror}; {_REMEDY}") from error
    return _unreplaceable(opened, directory)


def _shared_socket_folder(directory: Path, group: int) -> Folder:
    """Open or make a folder that a group can enter."""
    if directory in private_directories():
        raise ConfigError(
            f"{GROUP_VARIABLE} is set, and {directory} is for one user alone; name an --endpoint in another folder, "
            "which service and trainers see"
        )
    with open_folder(directory.parent, make=True) as parent:
        opened = _unreplaceable(
            open_folder(directory) if parent.status_of(directory.name) else parent.shared(directory.name, group),
            directory,
        )
    if not may_enter(opened.status(), group):
        opened.close()
        raise ConfigError(
            f"group {group} of {GROUP_VARIABLE} may not enter {directory}; run `chgrp {group} {directory}` and "
            f"`chmod g+x {directory}`, or {_REMEDY}"
        )
    return opened


def _unreplaceable(opened: Folder, directory: Path) -> Folder:
    """Return a folder in which no other user could replace a socket."""
    status = opened.status()
    writable_by_all = status.st_mode & stat.S_IWOTH and not status.st_mode & stat.S_ISVTX
    if status.st_uid in (os.geteuid(), 0) and not writable_by_all:
        return opened
    opened.close()
    if writable_by_all:
        raise ConfigError(f"anybody could replace a socket in {directory}, whose mode has no sticky bit; {_REMEDY}")
    raise ConfigError(f"the folder {directory} belongs to user {status.st_uid}, not to you; {_REMEDY}")


def check_replaceable(folder: Folder, name: str) -> None:
    """Make sure that a name is free, or a socket of this user.

    Raises
    ------
    ConfigError
        When it is anything else.
    """
    status, path = folder.status_of(name), folder.path / name
    if status is None:
        return
    if not stat.S_ISSOCK(status.st_mode):
        raise ConfigError(f"{str(path)!r} exists and is no socket; {_REMEDY}")
    if status.st_uid != os.geteuid():
        raise ConfigError(f"the socket {str(path)!r} belongs to user {status.st_uid}, not to you; {_REMEDY}")


def remove_stale(folder: Folder, name: str) -> None:
    """Remove the socket that a killed service has left; the caller holds the endpoint's lock.

    Raises
    ------
    ConfigError
        When somebody still listens at it: that is another program's.
    """
    check_replaceable(folder, name)
    deadline = time.monotonic() + _CLOSING_S
    while _is_alive(folder.path / name):
        if time.monotonic() > deadline:
            raise ConfigError(f"another program listens at {str(folder.path / name)!r}; {_REMEDY}")
        time.sleep(_PAUSE_S)
    folder.unlink(name)


def _is_alive(path: Path) -> bool:
    """Return whether anybody listens at a socket, of whatever type."""
    with socket.socket(socket.AF_UNIX) as probe:
        probe.setblocking(False)
        try:
            probe.connect(str(path))
        except (FileNotFoundError, ConnectionRefusedError):
            return False
        except OSError:
            return True
    return True


class Listener:
    """A listening socket at an ``ipc://`` address, which goes when it is closed.

    Parameters
    ----------
    address
        Where it listens.
    group
        Which may connect, beside this user.

    Raises
    ------
    ConfigError
        When there can be none.
    """

    def __init__(self, address: str, group: int | None = None) -> None:
        path = Path(address.removeprefix("ipc://"))
        self._name = path.name
        self._folder = open_socket_folder(path.parent)
        self._socket = socket.socket(socket.AF_UNIX)
        self._socket.setblocking(False)  # two of ZeroMQ's sockets may hear of one connection, and one finds it gone
        before = os.umask(0o177)
        try:
            remove_stale(self._folder, self._name)
            self._socket.bind(str(path))
            self._socket.listen(_BACKLOG)
            bound = self._folder.status_of(self._name)
            if bound is None:
                raise NotOurs(f"{str(path.parent)!r} was moved")
            check_ours(bound, path)
            self._bound = bound
            if group is not None:
                self._share(group)
        except (OSError, ConfigError) as error:
            self._close()
            why = str(error).removesuffix(f"; {_REMEDY}")
            raise ConfigError(f"cannot listen at {address}: {why}; {_REMEDY}") from error
        finally:
            os.umask(before)

    def _share(self, group: int) -> None:
        os.chown(self._name, -1, group, dir_fd=self._folder.fileno(), follow_symlinks=False)
        os.chmod(self._name, FILE_MODE, dir_fd=self._folder.fileno())

    def fileno(self) -> int:
        """Return the socket's descriptor."""
        return self._socket.fileno()

    def close(self) -> None:
        """Close the socket and remove its name, unless that leads to another one by now."""
        found = self._folder.status_of(self._name)
        if found is not None and os.path.samestat(found, self._bound):
            self._folder.unlink(self._name)
        self._close()

    def _close(self) -> None:
        self._socket.close()
        self._folder.close()


def check_lock_file(descriptor: int, path: Path, *, private: bool) -> None:
    """Make sure that a lock file was made by a service, before anything is written to it.

    Raises
    ------
    NotOurs
        When it has another content or another name; in a private folder only the latter counts.
    """
    if os.fstat(descriptor).st_nlink > 1:
        raise NotOurs(f"{str(path)!r} has a second name")
    if not private and not _LOCK_CONTENT.match(os.pread(descriptor, 64, 0)):
        raise NotOurs(f"{str(path)!r} exists and is no lock file of a service")
