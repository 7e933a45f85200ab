"""What the machine leaves to workers: cores that nobody uses, and memory; read from the kernel, decides nothing.

The trainer and all others of the host count too: a core is idle when nobody uses it. In a control group with a quota,
what the group has not used of that is idle, if it is less.

References
----------
proc(5) ``/proc/stat``, ``/proc/meminfo``; the kernel's ``admin-guide/cgroup-v2.rst`` (``cpu.stat``) and
``admin-guide/cgroup-v1/cpuacct.rst``.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

from loader_service.control_groups import ROOT, cpu_limits, memory_limits, usable_cores
from loader_service.core.events import MachineSeen
from loader_service.daemon.room import host_available_bytes
from loader_service.record_class import record

#: A worker has this much of its own at least: Python, NumPy and a JPEG decoder, and room for what it reads.
_LEAST_WORKER_BYTES = 48 * 2**20

#: What stays free, for the daemon and the trainer.
_HEADROOM_BYTES = 256 * 2**20


@record(frozen=True)
class _Used:
    """Counters of the kernel at one time, in seconds: of cores that were idle, and of each group with a quota."""

    now: float
    idle_s: float
    groups: dict[str, float]


class MachineLoad:
    """Looks at the machine, and remembers the look before. Used by the daemon's one thread.

    Parameters
    ----------
    weights
        Returns the bytes of their own that each worker has.
    root
        Where the kernel's files are.
    """

    def __init__(self, weights: Callable[[], list[int]], root: Path = ROOT) -> None:
        self._weights = weights
        self._root = root
        self._last: _Used | None = None

    def look(self, now: float) -> MachineSeen:
        """Return what the machine leaves, since the last look; at the first one, no core is said to be idle."""
        cores = usable_cores(self._root)
        last, self._last = self._last, self._used(now)
        idle = 0.0 if last is None or now <= last.now else self._idle_cores(last, self._last)
        return MachineSeen(cores, idle, self._workers_that_fit())

    def _idle_cores(self, last: _Used, used: _Used) -> float:
        seconds = used.now - last.now
        left = [(used.idle_s - last.idle_s) / seconds]
        left += [
            limit.cores - (limit.used_s - last.groups[limit.name]) / seconds
            for limit in cpu_limits(self._root)
            if limit.name in last.groups
        ]
        return max(0.0, min(left))

    def _used(self, now: float) -> _Used:
        groups = {limit.name: limit.used_s for limit in cpu_limits(self._root)}
        return _Used(now, idle_seconds(self._root), groups)

    def _workers_that_fit(self) -> int:
        weights = self._weights()
        each = max(_LEAST_WORKER_BYTES, sum(weights) // len(weights) if weights else 0)
        walls = [host_available_bytes(self._root), *(limit.left_bytes for limit in memory_limits(self._root))]
        left = min((wall for wall in walls if wall is not None), default=2**62)
        return len(weights) + max(0, (left - _HEADROOM_BYTES) // each)


def idle_seconds(root: Path = ROOT) -> float:
    """Return for how long the cores that this process may use have been idle, all together, since the host began."""
    ours, ticks = os.sched_getaffinity(0), os.sysconf("SC_CLK_TCK")
    idle = 0
    for line in (root / "proc/stat").read_text().splitlines():
        name, *numbers = line.split()
        if name.startswith("cpu") and name[3:].isdecimal() and int(name[3:]) in ours:
            idle += int(numbers[3]) + int(numbers[4])  # idle, and waiting for a disk
    return idle / ticks
