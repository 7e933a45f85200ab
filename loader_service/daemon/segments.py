"""Creates and unlinks the segments of one service, and sweeps those that dead services left; maps none of them.

All segments of a service lie in one folder, which the living service keeps locked. A folder whose lock can be had
belongs to nobody any more: that is the whole sweep, and it can never touch a living service.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import logging
import os
import secrets
import shutil
from collections.abc import Iterator
from pathlib import Path

from loader_service.daemon.room import free_bytes
from loader_service.endpoint import make_private
from loader_service.errors import ConfigError
from loader_service.protocol.segments import (
    ENVIRONMENT_VARIABLE,
    instance_directory,
    segment_path,
    shared_memory,
    user_directory,
)
from loader_service.remedies import SMALLER_BATCH, more_shared_memory

_LOG = logging.getLogger(__name__)


class NoSpace(ConfigError):
    """The file system of the segments has no room for them."""


class SegmentStore:
    """The segments of one service; a context manager that leaves none behind.

    Used by the daemon's one thread.

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
        self._last_slot = 0
        if not shared_memory().is_dir():
            raise ConfigError(f"{shared_memory()} is no folder; {ENVIRONMENT_VARIABLE} is to name a tmpfs")
        try:
            make_private(user_directory())
            with _nobody_else_sweeps():
                for dead in _sweep():
                    _LOG.info("removed the batches that service %s had left in shared memory", dead)
                self._directory = instance_directory(self.instance)
                self._directory.mkdir(mode=0o700)
                self._lock = _lock(self._directory)
        except OSError as error:
            raise ConfigError(f"cannot make a folder for batches in {shared_memory()}: {error.strerror}") from error

    def __enter__(self) -> SegmentStore:
        return self

    def __exit__(self, *_: object) -> None:
        shutil.rmtree(self._directory)
        if self._lock is not None:
            os.close(self._lock)

    @property
    def total_bytes(self) -> int:
        """Bytes of all segments."""
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
                raise ConfigError(f"cannot create a batch of {size_bytes} bytes in {where}: {error}") from error
            raise NoSpace(
                f"{count} batches of {size_bytes} bytes need {needed} bytes of {where}, {free} are free; "
                f"{SMALLER_BATCH}, or {more_shared_memory()}"
            ) from error
        return tuple(slots)

    def remove(self, slots: tuple[int, ...]) -> None:
        """Unlink segments; their memory lives on where it is still mapped."""
        for slot in slots:
            self._sizes.pop(slot, None)
            segment_path(self.instance, slot).unlink(missing_ok=True)

    def _create(self, size_bytes: int) -> int:
        self._last_slot += 1
        path = segment_path(self.instance, self._last_slot)
        descriptor = os.open(path, os.O_CREAT | os.O_EXCL | os.O_RDWR | os.O_CLOEXEC, 0o600)
        self._sizes[self._last_slot] = size_bytes
        try:
            # Not ftruncate: that succeeds beyond what the file system has, and the first write there is a SIGBUS.
            os.posix_fallocate(descriptor, 0, size_bytes)
        except OSError:
            self.remove((self._last_slot,))
            raise
        finally:
            os.close(descriptor)
        return self._last_slot


def _sweep() -> list[str]:
    """Remove the segments of services that died without doing so themselves; return their instances."""
    swept = []
    for directory in user_directory().iterdir():
        lock = _lock(directory) if directory.is_dir() else None
        if lock is not None:
            swept.append(directory.name)
            try:
                shutil.rmtree(directory)
            finally:
                os.close(lock)
    return swept


@contextlib.contextmanager
def _nobody_else_sweeps() -> Iterator[None]:
    """Keep a folder that was just made and is not locked yet from being swept by a service that starts now."""
    descriptor = os.open(user_directory(), os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)  # held for milliseconds, by living processes only
        yield
    finally:
        os.close(descriptor)


def _lock(directory: Path) -> int | None:
    """Lock a service's folder and return the descriptor that holds the lock; None when a living process has it.

    A service that ends removes its own folder, so that may be gone already, or go before it is locked here: None again.
    """
    try:
        descriptor = os.open(directory, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    except FileNotFoundError:
        return None
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        free = os.fstat(descriptor).st_nlink > 0
    except BlockingIOError:
        free = False
    if free:
        return descriptor
    os.close(descriptor)
    return None
