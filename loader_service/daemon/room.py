"""How much shared memory there is for one more stream, which wall says so, and who holds the rest; makes nothing.

A slot is memory that counts several times: for the budget of the service, for the tmpfs that it lies in, for the limit
of each control group that the service is in, and for the host. The wall that leaves least decides.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path

from loader_service.control_groups import ROOT, memory_limits
from loader_service.protocol.segment_files import instance_directory, is_instance, shared_memory, user_directory
from loader_service.record_class import record
from loader_service.remedies import higher_limit, more_shared_memory
from loader_service.sizes import counted, size_text

#: What stays free of a control group's limit, and of the host's memory: what the daemon and each worker may still grow
#: by, h5py and OpenCV among it, which are imported where a stream needs them. With two workers, three epochs of batches
#: of 39 MB took 16 MiB beyond their slots, the trainer included; this is 48.
DAEMON_HEADROOM_BYTES, WORKER_HEADROOM_BYTES = 16 * 2**20, 16 * 2**20

#: Up to here a tmpfs may be filled by default, where half of it would be less: too little for anybody is no use.
_SMALL_BYTES = 256 * 2**20

#: More than any memory: what a tmpfs without a limit has left.
_ENDLESS_BYTES = 2**62


@record(frozen=True)
class Room:
    """What one wall leaves.

    Parameters
    ----------
    left_bytes
        For one more stream; may be below 0.
    words
        What it is left of.
    remedy
        What makes it more.
    is_budget
        Whether it is only what the service may take of the rest.
    """

    left_bytes: int
    words: str
    remedy: str
    is_budget: bool = False


@record(frozen=True)
class Budget:
    """The most shared memory for all slots of a service.

    Parameters
    ----------
    total_bytes
        How much.
    is_default
        Whether nobody has said so.
    """

    total_bytes: int
    is_default: bool

    def room(self, used_bytes: int) -> Room:
        """Return what is left of it."""
        how = ", chosen at the start from what was free" if self.is_default else ""
        return Room(
            self.total_bytes - used_bytes,
            f"of the budget of {size_text(self.total_bytes)}{how}",
            "start the service with more --memory (a private one: service={'memory': '8G'})",
            is_budget=True,
        )


def make_budget(memory_bytes: int, root: Path = ROOT, *, reserved_bytes: int = 0) -> Budget:
    """Return the budget of a service that starts now.

    Parameters
    ----------
    memory_bytes
        What the user said; 0 for half of what every wall leaves, or more of a small tmpfs.
    root
        Where the kernel's files are.
    reserved_bytes
        Memory that is free now, and will be taken by others.
    """
    if memory_bytes:
        return Budget(memory_bytes, is_default=False)
    free = max(0, free_bytes() - reserved_bytes)
    others = [(room.left_bytes - reserved_bytes) // 2 for room in memory_rooms(0, root)]
    return Budget(max(0, min(max(free // 2, min(free, _SMALL_BYTES)), *others)), is_default=True)


def beyond(budget: Budget, root: Path = ROOT) -> str:
    """Return why a budget that somebody has named is more than can be had now, and what helps; "" where it is not."""
    wall = rooms(budget, 0, 0, root)[0]
    if budget.is_default or wall.left_bytes >= budget.total_bytes:
        return ""
    return (
        f"--memory allows {size_text(budget.total_bytes)}, and only {size_text(max(0, wall.left_bytes))} are left "
        f"{wall.words}; streams that need more are refused: give less, or {wall.remedy}"
    )


def rooms(budget: Budget, used_bytes: int, workers: int, root: Path = ROOT) -> list[Room]:
    """Return what each wall leaves for one more stream, the least first.

    Parameters
    ----------
    budget, used_bytes
        Of this service, and what its slots have of it.
    workers
        That may still grow.
    root
        Where the kernel's files are.
    """
    headroom_bytes = DAEMON_HEADROOM_BYTES + workers * WORKER_HEADROOM_BYTES
    found = [budget.room(used_bytes), _room_of_tmpfs(root), *memory_rooms(headroom_bytes, root)]
    return sorted(found, key=lambda room: room.left_bytes)


def free_bytes() -> int:
    """Return how much is free in the tmpfs of the slots; a very large number where it has no limit."""
    found = os.statvfs(shared_memory())
    return found.f_bavail * found.f_frsize if found.f_blocks else _ENDLESS_BYTES


def others_in_shared_memory(instance: str, own_bytes: int) -> str:
    """Return what else lies in the tmpfs of the slots: other services of this user, and all other files."""
    found = os.statvfs(shared_memory())
    used = (found.f_blocks - found.f_bfree) * found.f_frsize
    services = [size for name, size in _sizes_of_services() if name != instance and size]
    parts = []
    if services:
        others = counted(len(services), "other service")
        parts.append(f"{others} of this user: {size_text(sum(services))} (a private one ends with its dataset)")
    rest = used - own_bytes - sum(services)
    if rest >= 2**20:
        parts.append(f"other files in {shared_memory()}: {size_text(rest)}")
    return "; ".join(parts)


def _room_of_tmpfs(root: Path) -> Room:
    found = os.statvfs(shared_memory())
    return Room(
        free_bytes(),
        f"in {shared_memory()}, which has {size_text(found.f_blocks * found.f_frsize)}",
        more_shared_memory(root),
    )


def memory_rooms(headroom_bytes: int, root: Path) -> Iterator[Room]:
    """Yield what is left of the limits of the control groups, and of the host's memory."""
    kept = f", with {size_text(headroom_bytes)} kept for the service's processes" if headroom_bytes else ""
    for limit in memory_limits(root):
        words = (
            f"below the control group's limit of {size_text(limit.limit_bytes)} ({limit.name}), of which "
            f"{size_text(limit.used_bytes)} are in use{kept}"
        )
        yield Room(limit.left_bytes - headroom_bytes, words, f"use fewer --workers, or {higher_limit(root)}")
    available = host_available_bytes(root)
    if available is not None:
        words = f"of this host's memory, of which {size_text(available)} are available{kept}"
        yield Room(available - headroom_bytes, words, "free memory on this host, or use fewer --workers")


def host_available_bytes(root: Path) -> int | None:
    """Return what the host can give without taking it from anybody; None when it does not say."""
    try:
        text = (root / "proc/meminfo").read_text()
    except OSError:
        return None
    found = re.search(r"^MemAvailable:\s*(\d+) kB", text, re.MULTILINE)
    return int(found[1]) * 1024 if found else None


def _sizes_of_services() -> Iterator[tuple[str, int]]:
    """Yield the services of this user that have slots here, and how much."""
    try:
        names = [each for each in os.listdir(user_directory()) if is_instance(each)]
    except OSError:
        return
    for name in names:
        try:
            with os.scandir(instance_directory(name)) as entries:
                yield name, sum(entry.stat(follow_symlinks=False).st_blocks * 512 for entry in entries)
        except OSError:
            continue  # it has ended meanwhile
