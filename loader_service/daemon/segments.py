"""Creates and unlinks the segments of one service, and sweeps those that dead services left; maps none of them.

All segments of a service lie in one folder, which the living service keeps locked. A folder whose lock can be had
belongs to nobody any more, so the sweep can never touch a living service. It removes what a service makes, which is
files called ``slot-N`` in a folder of 16 hexadecimal digits, by descriptors of folders that are this user's; where it
finds anything else, it leaves all of that folder alone.
"""

from __future__ import annotations

import errno
import logging
import os
import secrets
import threading

from loader_service import failpoints
from loader_service.daemon.room import free_bytes
from loader_service.errors import ConfigError
from loader_service.flocks import Lock, lock, locked
from loader_service.private_folders import Folder, NotOurs
from loader_service.protocol.segment_files import (
    ENVIRONMENT_VARIABLE,
    is_instance,
    is_slot,
    shared_memory,
    slot_name,
    user_folder,
)
from loader_service.remedies import SMALLER_BATCH, more_shared_memory
from loader_service.sharing_group import FILE_MODE, share, sharing_group

_LOG = logging.getLogger(__name__)

#: How long to wait for another service that sweeps, which takes milliseconds, in seconds. A folder that was just made
#: and is not locked yet must not be swept meanwhile.
_SWEEP_S = 10.0


class NoSpace(ConfigError):
    """The file system of the segments has no room for them."""


class SegmentStore:
    """The segments of one service; a context manager that leaves none behind.

    Slots are made by one thread, and removed by the same or another one.

    Attributes
    ----------
    instance
        16 hexadecimal digits, drawn at random: names the folder.

    Raises
    ------
    ConfigError
        When the folder cannot be made.
    """

    def __init__(self) -> None:
        self.instance = secrets.token_hex(8)
        self._sizes: dict[int, int] = {}
        self._lock = threading.Lock()  # of the sizes
        self._last_slot = 0
        self._group = sharing_group()
        if not shared_memory().is_dir():
            raise ConfigError(f"{shared_memory()} is no folder; {ENVIRONMENT_VARIABLE} is to name a tmpfs")
        try:
            self._user = user_folder()
        except OSError as error:
            raise _cannot_make(error) from error
        try:
            with locked(self._user, _SWEEP_S):
                for dead in _sweep(self._user):
                    _LOG.info("removed the batches that service %s had left in shared memory", dead)
                self._folder = self._new_folder()
                found = lock(self._folder.fileno(), self._user, self.instance)
                if found is not Lock.HAD:
                    raise NotOurs(f"{str(self._folder.path)!r}: {found.value}")
        except OSError as error:
            self._user.close()
            raise _cannot_make(error) from error

    def __enter__(self) -> SegmentStore:
        return self

    def __exit__(self, *_: object) -> None:
        self.remove(tuple(self._sizes))
        if not self._user.remove_folder(self.instance, self._folder):
            _LOG.warning("left %r, since it is not empty or was moved", str(self._folder.path))
        self._folder.close()
        self._user.close()

    @property
    def total_bytes(self) -> int:
        """Bytes of all segments."""
        with self._lock:
            return sum(self._sizes.values())

    def create(self, count: int, size_bytes: int) -> tuple[int, ...]:
        """Create segments, with their memory, and return their slots' numbers; all or none.

        Raises
        ------
        NoSpace
            When the shared memory does not suffice: names needed and free bytes.
        ConfigError
            When they cannot be created for another reason.
        """
        slots: list[int] = []
        try:
            slots.extend(self._create(size_bytes) for _ in range(count))
        except OSError as error:
            needed, free = count * size_bytes, free_bytes() + len(slots) * size_bytes
            self.remove(tuple(slots))
            where = shared_memory()
            if error.errno not in (errno.ENOSPC, errno.ENOMEM):
                gone = "; its folder was removed: `loader-service restart` makes another"
                raise ConfigError(
                    f"cannot create a batch of {size_bytes} bytes in {where}: {error}"
                    f"{gone if error.errno == errno.ENOENT else ''}"
                ) from error
            raise NoSpace(
                f"{count} batches of {size_bytes} bytes need {needed} bytes of {where}, {free} are free; "
                f"{SMALLER_BATCH}, or {more_shared_memory()}"
            ) from error
        return tuple(slots)

    def remove(self, slots: tuple[int, ...]) -> None:
        """Unlink segments; their memory lives on where it is still mapped."""
        for slot in slots:
            with self._lock:
                self._sizes.pop(slot, None)
            self._folder.unlink(slot_name(slot))

    def _new_folder(self) -> Folder:
        if self._group is None:
            return self._user.folder(self.instance, make=True)
        return self._user.shared(self.instance, self._group)

    def _create(self, size_bytes: int) -> int:
        self._last_slot += 1
        descriptor = self._folder.open_file(slot_name(self._last_slot), os.O_CREAT | os.O_EXCL | os.O_RDWR)
        with self._lock:
            self._sizes[self._last_slot] = size_bytes
        try:
            if self._group is not None:
                share(descriptor, FILE_MODE, self._group)
            failpoints.passing("daemon.slot_made")
            # Not ftruncate: that succeeds beyond what the file system has, and the first write there is a SIGBUS.
            os.posix_fallocate(descriptor, 0, size_bytes)
        except OSError:
            self.remove((self._last_slot,))
            raise
        finally:
            os.close(descriptor)
        return self._last_slot


def remove_abandoned() -> list[str]:
    """Remove the segments of services that died, as the next start would; return their instances.

    Raises
    ------
    OSError
        When that cannot be done.
    """
    with user_folder() as user, locked(user, _SWEEP_S):
        return _sweep(user)


def _cannot_make(error: OSError) -> ConfigError:
    return ConfigError(
        f"cannot make a folder for batches in {shared_memory()}: {error.strerror}; remove what is in the way, or name "
        f"another tmpfs in {ENVIRONMENT_VARIABLE}, for the service and its trainers"
    )


def _sweep(user: Folder) -> list[str]:
    """Remove the segments of services that died without doing so themselves, nothing else; return their instances."""
    swept, foreign = [], []
    for name in user.names():
        try:
            if not is_instance(name):
                foreign.append(name)
            elif _sweep_one(user, name):
                swept.append(name)
        except FileNotFoundError:
            continue  # a service that ends removes its own folder
        except NotOurs:
            foreign.append(name)
    if foreign:
        shown = ", ".join(repr(name) for name in foreign[:3]) + (", …" if len(foreign) > 3 else "")
        _LOG.warning("left alone in %r what no service of yours has made: %s", str(user.path), shown)
    return swept


def _sweep_one(user: Folder, name: str) -> bool:
    """Remove the folder of a dead service and return True; False when its service lives, or was faster.

    Raises
    ------
    NotOurs
        When it holds anything but segments, or is not a folder of this user; then all of it stays.
    """
    with user.folder(name) as folder:
        if folder.status().st_dev != user.status().st_dev:
            raise NotOurs(f"{str(folder.path)!r} is another file system")
        if lock(folder.fileno(), user, name) is not Lock.HAD:
            return False
        for entry in folder.own_files(is_slot):
            folder.unlink(entry)
        return user.remove_folder(name, folder)
