"""Names the file system that a path lies on, as people know it: its kind, and where it is mounted."""

from __future__ import annotations

import os
from functools import cache
from pathlib import Path

from loader_service.control_groups import unescaped
from loader_service.stores.urls import is_url

_MOUNTS = Path("/proc/self/mountinfo")

#: Letters of a name.
_LONGEST = 120


def file_system_of(path: str) -> str:
    """Return such as ``"nfs4 at /data"``; of a URL scheme and host; ``"unknown"`` where the kernel does not say."""
    if is_url(path):
        return "/".join(path.split("/")[:3])[:_LONGEST]
    try:
        device = os.stat(path).st_dev
    except OSError:
        return "unknown"
    number = f"{os.major(device)}:{os.minor(device)}"
    real = os.path.realpath(path)
    mounts = _mounts()
    # Not all file systems give files the device of their mount (btrfs): then the mount nearest above is it.
    known = [each for each in mounts if each[0] == number] or mounts
    above = [(point, kind) for _, point, kind in known if real == point or real.startswith(point.rstrip("/") + "/")]
    if not above:
        return "unknown"
    point, kind = max(above, key=lambda each: len(each[0]))
    return f"{kind} at {point}"[:_LONGEST]


@cache
def _mounts() -> tuple[tuple[str, str, str], ...]:
    """Return device, mount point and kind of each mount, as this process sees them when it first asks."""
    try:
        lines = _MOUNTS.read_text("utf-8", "replace").splitlines()
    except OSError:
        return ()
    found = []
    for line in lines:
        left, _, right = line.partition(" - ")
        before, after = left.split(), right.split()
        if len(before) > 4 and after:
            found.append((before[2], unescaped(before[4]), after[0]))
    return tuple(found)
