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
from loader_service.sharing_group import ENVIRONMENT_VARIABLE as GROUP_VARIABLE
from loader_service.sharing_group import sharing_group

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


def user_directory(owner: int | None = None) -> Path:
    """Return the folder that holds the segments of all services of a user, by default this one.

    Services that are shared with a group have a folder of their own, which that group can enter.
    """
    group, user = sharing_group(), os.getuid() if owner is None else owner
    return shared_memory() / (f"loader-service-{user}" + ("" if group is None else f"-group-{group}"))


def user_folder() -> Folder:
    """Open or make the folder that holds the segments of all services of this user.

    Raises
    ------
    OSError
        When it cannot be made, is a link, or is somebody else's.
    """
    group = sharing_group()
    with open_folder(shared_memory()) as memory:
        name = user_directory().name
        return memory.private(name) if group is None else memory.shared(name, group)


def is_instance(name: str) -> bool:
    """Return whether a name can be that of a service's folder of segments."""
    return _INSTANCE.match(name) is not None


def is_slot(name: str) -> bool:
    """Return whether a name can be that of a segment."""
    return _SLOT.match(name) is not None


def slot_name(slot: int) -> str:
    """Return the name of a slot's segment in the folder of its service."""
    return f"slot-{slot:d}"


def instance_directory(instance: str, owner: int | None = None) -> Path:
    """Return the folder that holds the segments of one service, of this user or another.

    Raises
    ------
    ProtocolError
        When `instance` is not 16 hexadecimal digits.
    """
    if not is_instance(instance):
        raise ProtocolError(f"expected an instance of 16 hexadecimal digits, got {instance!r:.80}")
    return user_directory(owner) / instance


def segment_path(instance: str, slot: int, owner: int | None = None) -> Path:
    """Return the path of a slot's segment."""
    return instance_directory(instance, owner) / slot_name(slot)


def map_segment(
    instance: str, slot: int, size_bytes: int, *, whole: bool = False, owner: int | None = None
) -> mmap.mmap:
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
    owner
        The service's user, if it is another one, which shares a group with this.

    Raises
    ------
    ServiceUnavailable
        When the segment is not there, is not this user's, or has another size than the stream's layout says.
    """
    path = segment_path(instance, slot, owner)
    try:
        descriptor = _open_segment(path, owner)
    except OSError as error:
        raise ServiceUnavailable(
            f"cannot map slot {slot}: {path}: {error.strerror}; client and service must share {shared_memory()} "
            f"and the user or the group, and have the same {ENVIRONMENT_VARIABLE} and {GROUP_VARIABLE}, if any; where "
            "its files were removed, `loader-service restart` makes others"
        ) from error
    try:
        found = os.fstat(descriptor).st_size
        if found != size_bytes:
            raise ServiceUnavailable(f"slot {slot} at {path} has {found} bytes, its stream's layout {size_bytes}")
        flags = mmap.MAP_SHARED | (mmap.MAP_POPULATE if whole else 0)
        return mmap.mmap(descriptor, size_bytes, flags, mmap.PROT_READ | mmap.PROT_WRITE)
    finally:
        os.close(descriptor)


def _open_segment(path: Path, owner: int | None) -> int:
    """Open a segment from the tmpfs on, where each folder and the file are to be the service's user's, and no links."""
    instance = path.parent
    with (
        open_folder(instance.parent.parent) as memory,
        memory.folder(instance.parent.name, owner=owner) as user,
        user.folder(instance.name, owner=owner) as folder,
    ):
        return folder.open_file(path.name, os.O_RDWR, owner=owner)
