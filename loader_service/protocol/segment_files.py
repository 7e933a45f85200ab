"""Where a slot's memory lies and how it is mapped; the one rule for daemon, workers and clients.

Nothing that a peer sends is a path: a segment's path follows from the user, the service's instance (16 hexadecimal
digits) and the slot's number.
"""

from __future__ import annotations

import mmap
import os
import re
from pathlib import Path

from loader_service.errors import ProtocolError, ServiceUnavailable
from loader_service.private_folders import Folder, open_folder

#: Names another tmpfs, for the service and its trainers alike, such as one that is larger in a container.
ENVIRONMENT_VARIABLE = "LOADER_SERVICE_SHM"

#: The tmpfs that every Linux has.
DEFAULT_SHARED_MEMORY = Path("/dev/shm")  # noqa: S108 - what is made in it has mode 0700

_INSTANCE = re.compile(r"[0-9a-f]{16}\Z")
_SLOT = re.compile(r"slot-[1-9][0-9]{0,18}\Z")


def shared_memory() -> Path:
    """Return the tmpfs whose pages are the slots: ``$LOADER_SERVICE_SHM``, else the one that every Linux has."""
    given = os.environ.get(ENVIRONMENT_VARIABLE)
    return Path(given).expanduser() if given else DEFAULT_SHARED_MEMORY


def user_directory() -> Path:
    """Return the folder that holds the segments of all services of this user."""
    return shared_memory() / f"loader-service-{os.getuid()}"


def user_folder() -> Folder:
    """Open or make the folder that holds the segments of all services of this user.

    Raises
    ------
    OSError
        When it cannot be made, is a link, or is somebody else's.
    """
    with open_folder(shared_memory()) as memory:
        return memory.private(user_directory().name)


def is_instance(name: str) -> bool:
    """Return whether a name can be that of a service's folder of segments."""
    return _INSTANCE.match(name) is not None


def is_slot(name: str) -> bool:
    """Return whether a name can be that of a segment."""
    return _SLOT.match(name) is not None


def slot_name(slot: int) -> str:
    """Return the name of a slot's segment in the folder of its service."""
    return f"slot-{slot:d}"


def instance_directory(instance: str) -> Path:
    """Return the folder that holds the segments of one service.

    Raises
    ------
    ProtocolError
        When `instance` is not 16 hexadecimal digits.
    """
    if not is_instance(instance):
        raise ProtocolError(f"expected an instance of 16 hexadecimal digits, got {instance!r:.80}")
    return user_directory() / instance


def segment_path(instance: str, slot: int) -> Path:
    """Return the path of a slot's segment."""
    return instance_directory(instance) / slot_name(slot)


def map_segment(instance: str, slot: int, size_bytes: int, *, whole: bool = False) -> mmap.mmap:
    """Map a slot's memory, readable and writable, shared.

    Writable even for readers, since NumPy exports only writable arrays by DLPack; shared, since a private mapping would
    go stale. The mapping stays valid after the segment is unlinked, for as long as the returned object or an array over
    it lives.

    Parameters
    ----------
    instance, slot
        Which segment.
    size_bytes
        What its stream's layout says.
    whole
        Map all pages now, for who is going to touch them all: 0.25 µs each, against 1.6 µs by faults, one by one.

    Raises
    ------
    ServiceUnavailable
        When the segment is not there, is not this user's, or has another size than the stream's layout says.
    """
    path = segment_path(instance, slot)
    try:
        descriptor = _open_segment(path)
    except OSError as error:
        raise ServiceUnavailable(
            f"cannot map slot {slot}: {path}: {error.strerror}; client and service must share {shared_memory()} "
            f"and the user, and have the same {ENVIRONMENT_VARIABLE}, if any"
        ) from error
    try:
        found = os.fstat(descriptor).st_size
        if found != size_bytes:
            raise ServiceUnavailable(f"slot {slot} at {path} has {found} bytes, its stream's layout {size_bytes}")
        flags = mmap.MAP_SHARED | (mmap.MAP_POPULATE if whole else 0)
        return mmap.mmap(descriptor, size_bytes, flags, mmap.PROT_READ | mmap.PROT_WRITE)
    finally:
        os.close(descriptor)


def _open_segment(path: Path) -> int:
    """Open a segment from the tmpfs on, where each folder and the file are to be this user's, and no links."""
    instance = path.parent
    with (
        open_folder(instance.parent.parent) as memory,
        memory.folder(instance.parent.name) as user,
        user.folder(instance.name) as folder,
    ):
        return folder.open_file(path.name, os.O_RDWR)
