"""Reads which limits the control groups of this process set, from the texts of the kernel's files; decides nothing.

Versions 1 and 2 may be mounted side by side, each with some controllers. The limit of any group applies, from the
process's own up to the topmost that can be seen. In a container that is the container's, whether the paths that the
kernel shows are relative to it (a namespace of its own) or to the host's (a part of the tree is mounted).

References
----------
cgroups(7), cgroup_namespaces(7), proc(5) ``/proc/[pid]/mountinfo``; the kernel's ``admin-guide/cgroup-v1/memory.rst``,
``cgroup-v2.rst``, ``scheduler/sched-bwc.rst``.
"""

from __future__ import annotations

import contextlib
import os
import re
from collections.abc import Iterator
from pathlib import Path, PurePosixPath

from loader_service.record_class import record

#: Where the kernel's files are; tests have trees of their own.
ROOT = Path("/")

#: At this many bytes a limit is none: version 1 has the largest number of pages for it.
_UNLIMITED_BYTES = 2**60


@record(frozen=True)
class MemoryLimit:
    """How much memory a control group may have, and has.

    Parameters
    ----------
    limit_bytes
        Of everything that its processes use: their own memory, what they write to a tmpfs, the page cache.
    used_bytes
        Of that what the kernel cannot take back: without the page cache of files, of which it keeps half of the part
        that is in use.
    name
        The kernel's file that sets the limit.
    """

    limit_bytes: int
    used_bytes: int
    name: str

    @property
    def left_bytes(self) -> int:
        """What may be used beside what is; below 0 when the limit was lowered."""
        return self.limit_bytes - self.used_bytes


def memory_limits(root: Path = ROOT) -> tuple[MemoryLimit, ...]:
    """Return the limits of memory that apply to this process, that of its own group first.

    The limit at which version 2 slows processes down (``memory.high``) counts like the one at which it ends them.
    """
    return tuple(
        limit
        for group in _groups("memory", root)
        for limit in (_limit_of_version_2(group, root), _limit_of_version_1(group, root))
        if limit is not None
    )


@record(frozen=True)
class CpuLimit:
    """How many cores' worth of time a control group may use, and what it has used since it was made, in seconds."""

    cores: float
    used_s: float
    name: str


def cpu_limits(root: Path = ROOT) -> tuple[CpuLimit, ...]:
    """Return the limits of processor time that apply to this process, that of its own group first."""
    return tuple(
        CpuLimit(quota, _cpu_used_s(group), _shown(group, root))
        for group in _groups("cpu", root)
        for quota in _quotas(group)
    )


def cpu_quota(root: Path = ROOT) -> float | None:
    """Return how many cores' worth of time this process may use; None without a limit."""
    return min((limit.cores for limit in cpu_limits(root)), default=None)


def usable_cores(root: Path = ROOT) -> int:
    """Return how many cores this process may keep busy: by its affinity, and whole ones by its quota; at least 1."""
    cores, quota = len(os.sched_getaffinity(0)), cpu_quota(root)
    return cores if quota is None else max(1, min(cores, int(quota)))


def oom_kills(root: Path = ROOT) -> int | None:
    """Return how many processes of this process's group the kernel has ended so far for want of memory.

    None where there is no such count, as in the topmost group of a host.
    """
    for group in _groups("memory", root):
        for name in ("memory.events", "memory.oom_control"):
            if (count := _entries(group / name).get("oom_kill")) is not None:
                return count
    return None


# ---- limits of one group


def _limit_of_version_2(group: Path, root: Path) -> MemoryLimit | None:
    bounds = [(bound, name) for name in ("memory.max", "memory.high") if (bound := _bound(group / name)) is not None]
    used = _number(group / "memory.current")
    if not bounds or used is None:
        return None
    limit, name = min(bounds)
    stat = _entries(group / "memory.stat")
    reclaimable = _reclaimable(stat.get("inactive_file", 0), stat.get("active_file", 0))
    return MemoryLimit(limit, max(0, used - reclaimable), _shown(group / name, root))


def _limit_of_version_1(group: Path, root: Path) -> MemoryLimit | None:
    stat = _entries(group / "memory.stat")
    bounds = [_bound(group / "memory.limit_in_bytes"), stat.get("hierarchical_memory_limit")]
    limit = min((each for each in bounds if each is not None), default=_UNLIMITED_BYTES)
    used = _number(group / "memory.usage_in_bytes")
    if limit >= _UNLIMITED_BYTES or used is None:
        return None
    reclaimable = _reclaimable(stat.get("total_inactive_file", 0), stat.get("total_active_file", 0))
    return MemoryLimit(limit, max(0, used - reclaimable), _shown(group / "memory.limit_in_bytes", root))


def _reclaimable(inactive_bytes: int, active_bytes: int) -> int:
    return inactive_bytes + active_bytes // 2


def _quotas(group: Path) -> Iterator[float]:
    """Yield the quotas of a group, in cores: version 2 has both numbers in one file, and "max" for none."""
    pairs = [(_text(group / "cpu.max") or "").split()]
    pairs.append([_text(group / f"cpu.cfs_{name}_us") or "" for name in ("quota", "period")])
    for pair in pairs:
        with contextlib.suppress(ValueError, ZeroDivisionError):
            quota, period = map(int, pair)
            if quota > 0:
                yield quota / period


def _cpu_used_s(group: Path) -> float:
    """Return the processor time of a group: version 2 counts microseconds, version 1 nanoseconds elsewhere."""
    used_ns = _number(group / "cpuacct.usage")
    return _entries(group / "cpu.stat").get("usage_usec", 0) / 1e6 if used_ns is None else used_ns / 1e9


# ---- where the groups are


def _groups(controller: str, root: Path) -> Iterator[Path]:
    """Yield the folders of the groups whose limits apply, this process's own first."""
    paths = _paths(controller, _text(root / "proc/self/cgroup") or "")
    for mount in _mounts(controller, _text(root / "proc/self/mountinfo") or ""):
        if mount.version not in paths:
            continue
        top = root / mount.point.lstrip("/")
        group = top / _below(paths[mount.version], mount.root)
        while True:
            if group.is_dir():
                yield group
            if group == top:
                break
            group = group.parent


@record(frozen=True)
class _Mount:
    version: int
    root: str  # the part of the tree of groups that is mounted
    point: str


def _mounts(controller: str, mountinfo: str) -> Iterator[_Mount]:
    for line in mountinfo.splitlines():
        before, _, after = line.partition(" - ")
        places, kind = before.split()[3:5], after.split()
        if len(places) < 2 or len(kind) < 3:
            continue
        part, point = map(unescaped, places)
        if kind[0] == "cgroup2":
            yield _Mount(2, part, point)
        elif kind[0] == "cgroup" and controller in kind[-1].split(","):
            yield _Mount(1, part, point)


def _paths(controller: str, text: str) -> dict[int, str]:
    """Return the path of this process's group, by version."""
    paths = {}
    for line in text.splitlines():
        hierarchy, _, rest = line.partition(":")
        controllers, _, path = rest.partition(":")
        if hierarchy == "0" and not controllers:
            paths[2] = path
        elif controller in controllers.split(","):
            paths[1] = path
    return paths


def _below(path: str, mounted: str) -> str:
    """Return where a group lies below the part of the tree that is mounted; "" when that is all that can be said."""
    group, part = PurePosixPath(path), PurePosixPath(mounted)
    if ".." in group.parts or not group.is_relative_to(part):
        return ""
    return str(group.relative_to(part))


def unescaped(text: str) -> str:
    """Return a path as it is that stands in a line of the kernel's about mounts."""
    return re.sub(r"\\([0-7]{3})", lambda found: chr(int(found[1], 8)), text)


def _shown(path: Path, root: Path) -> str:
    return f"/{path.relative_to(root)}"


# ---- texts


def _bound(path: Path) -> int | None:
    """Return a limit; None when there is none, or it says "max"."""
    number = _number(path)
    return None if number is None or number >= _UNLIMITED_BYTES else number


def _entries(path: Path) -> dict[str, int]:
    """Return the numbers of a file of lines ``name number``."""
    lines = (line.split() for line in (_text(path) or "").splitlines())
    return {line[0]: int(line[1]) for line in lines if len(line) == 2 and line[1].isdecimal()}


def _number(path: Path) -> int | None:
    text = (_text(path) or "").strip()
    return int(text) if text.isdecimal() else None


def _text(path: Path) -> str | None:
    """Return what a file of the kernel says, None when it is not there, or not to be read by this user."""
    try:
        return path.read_text(errors="replace")
    except OSError:
        return None
