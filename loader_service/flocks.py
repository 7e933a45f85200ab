"""Locks of the kernel on open files and folders, which end with the process that has them; knows no use of them."""

from __future__ import annotations

import fcntl
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from enum import Enum

from loader_service.private_folders import Folder, NotOurs

#: Between two attempts at a lock, in seconds.
_PAUSE_S = 0.01


class Lock(Enum):
    """What came of an attempt to lock something."""

    HAD = "it is locked until its descriptor is closed"
    TAKEN = "another process has it locked"
    GONE = "its name leads elsewhere by now, since it was removed or moved"
    UNSUPPORTED = "its file system gives locks to nobody"


def lock(descriptor: int, parent: Folder, name: str, *, shared: bool = False) -> Lock:
    """Lock a file or folder that was opened under a name, without waiting.

    Parameters
    ----------
    descriptor
        What was opened.
    parent, name
        Where. A file is removed with its lock held, so a lock that is had later may be of a file that is gone.
    shared
        Whether others may have such a lock too.
    """
    found = _try(descriptor, fcntl.LOCK_SH if shared else fcntl.LOCK_EX)
    return Lock.GONE if found is Lock.HAD and not is_at(descriptor, parent, name) else found


def is_at(descriptor: int, parent: Folder, name: str) -> bool:
    """Return whether a name still leads to what was opened."""
    status = parent.status_of(name)
    return status is not None and os.path.samestat(status, os.fstat(descriptor))


@contextmanager
def locked(folder: Folder, timeout_s: float) -> Iterator[None]:
    """Keep a folder locked for a while; waits for another process that has it so.

    Raises
    ------
    NotOurs
        When that takes longer.
    """
    deadline = time.monotonic() + timeout_s
    while (found := _try(folder.fileno(), fcntl.LOCK_EX)) is not Lock.HAD:
        if found is Lock.UNSUPPORTED or time.monotonic() > deadline:
            raise NotOurs(f"{str(folder.path)!r} could not be locked within {timeout_s:g} s: {found.value}")
        time.sleep(_PAUSE_S)
    try:
        yield
    finally:
        fcntl.flock(folder.fileno(), fcntl.LOCK_UN)


def _try(descriptor: int, kind: int) -> Lock:
    try:
        fcntl.flock(descriptor, kind | fcntl.LOCK_NB)
    except BlockingIOError:
        return Lock.TAKEN
    except OSError:
        return Lock.UNSUPPORTED
    return Lock.HAD
