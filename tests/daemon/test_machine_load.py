"""What the machine leaves to workers is read from the kernel: idle cores, quotas, memory."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from loader_service.daemon.machine_load import MachineLoad, idle_seconds

MIB = 2**20
TICKS = os.sysconf("SC_CLK_TCK")

#: Sets idle seconds of each of our cores, and microseconds that the group has used.
Turn = Callable[[float, float], None]


@pytest.fixture
def turn(tmp_path: Path) -> Turn:
    """Write the kernel's files below a root: a group with a quota of 1.5 cores and a limit of memory."""
    (tmp_path / "proc/self").mkdir(parents=True)
    (tmp_path / "proc/self/mountinfo").write_text("30 23 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n")
    (tmp_path / "proc/self/cgroup").write_text("0::/ours\n")
    (tmp_path / "proc/meminfo").write_text(f"MemTotal: 9 kB\nMemAvailable: {8 * 2**20} kB\n")
    group = tmp_path / "sys/fs/cgroup/ours"
    group.mkdir(parents=True)
    (group / "cpu.max").write_text("150000 100000\n")
    (group / "memory.max").write_text(f"{1024 * MIB}\n")
    (group / "memory.current").write_text(f"{256 * MIB}\n")
    (group / "memory.stat").write_text("anon 5\n")

    def write(idle_s: float, used_us: float) -> None:
        cores = "".join(f"cpu{core} 5 5 5 {int(idle_s * TICKS)} 0 1 1\n" for core in range(1024))
        (tmp_path / "proc/stat").write_text(f"cpu 9 9 9 9 9\n{cores}intr 5\n")
        (group / "cpu.stat").write_text(f"usage_usec {int(used_us)}\n")

    return write


def test_idle_cores_are_those_that_may_be_used(turn: Turn, tmp_path: Path) -> None:
    turn(3.0, 0)
    assert idle_seconds(tmp_path) == pytest.approx(3.0 * len(os.sched_getaffinity(0)))


def test_at_first_no_core_is_said_to_be_idle(turn: Turn, tmp_path: Path) -> None:
    turn(3.0, 0)
    assert MachineLoad(list, tmp_path).look(10.0).idle_cores == 0.0


def test_cores_are_idle_as_far_as_the_quota_goes(turn: Turn, tmp_path: Path) -> None:
    load = MachineLoad(list, tmp_path)
    turn(0.0, 0)
    load.look(10.0)
    turn(1000.0, 2.0e6)  # of 1.5 cores for 2 s, as much as 1 core was used
    assert load.look(12.0).idle_cores == pytest.approx(0.5)
    turn(1000.0, 5.0e6)
    assert load.look(14.0).idle_cores == 0.0


def test_as_many_workers_fit_as_the_control_group_has_memory_for(turn: Turn, tmp_path: Path) -> None:
    turn(0.0, 0)
    weights = [64 * MIB, 64 * MIB]
    assert MachineLoad(lambda: weights, tmp_path).look(0.0).workers_that_fit == 2 + (768 - 256) // 64
    weights = [600 * MIB]
    assert MachineLoad(lambda: weights, tmp_path).look(0.0).workers_that_fit == 1


def test_this_machine_can_be_looked_at() -> None:
    load = MachineLoad(lambda: [20 * MIB])
    load.look(0.0)
    seen = load.look(1000.0)
    assert 0.0 <= seen.idle_cores <= seen.cores <= len(os.sched_getaffinity(0))
    assert seen.workers_that_fit >= 1
