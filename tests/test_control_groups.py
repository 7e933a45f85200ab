"""Limits of memory and of processor time are found in whatever way control groups are mounted."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from loader_service.control_groups import MemoryLimit, cpu_quota, memory_limits, oom_kills, usable_cores

MIB = 2**20

_V2 = "30 23 0:26 {root} /sys/fs/cgroup rw,nosuid shared:9 - cgroup2 cgroup2 rw,nsdelegate\n"
_V1 = (
    "32 31 0:29 {root} /sys/fs/cgroup/cpu,cpuacct rw,relatime shared:1 - cgroup cgroup rw,cpu,cpuacct\n"
    "35 31 0:32 {root} /sys/fs/cgroup/memory rw,relatime - cgroup cgroup rw,memory\n"
    "41 31 0:38 / /sys/fs/cgroup/unified rw,relatime - cgroup2 cgroup2 rw\n"
)
_PATHS_V1 = "9:name=systemd:{path}\n4:memory:{path}\n2:cpu,cpuacct:{path}\n0::/elsewhere\n"

#: What version 1 says where there is no limit.
_NONE_V1 = "9223372036854771712"

Tree = Callable[[str, str, Mapping[str, Mapping[str, object]]], Path]


@pytest.fixture
def tree(tmp_path: Path) -> Tree:
    """Write a tree: what the kernel says of mounts and paths, and the files of folders below ``sys/fs/cgroup``."""

    def write(mountinfo: str, paths: str, folders: Mapping[str, Mapping[str, object]]) -> Path:
        (tmp_path / "proc/self").mkdir(parents=True)
        (tmp_path / "proc/self/mountinfo").write_text(f"23 1 252:0 / / rw - ext4 /dev/vda rw\n{mountinfo}")
        (tmp_path / "proc/self/cgroup").write_text(paths)
        for folder, files in folders.items():
            directory = tmp_path / "sys/fs/cgroup" / folder
            directory.mkdir(parents=True, exist_ok=True)
            for name, text in files.items():
                (directory / name).write_text(f"{text}\n")
        return tmp_path

    return write


def _group(limit: object = "max", used: int = 0, high: object = "max", **stat: int) -> dict[str, object]:
    lines = "\n".join(f"{name} {value}" for name, value in {"anon": 5, **stat}.items())
    return {"memory.max": limit, "memory.high": high, "memory.current": used, "memory.stat": lines}


def _old_group(
    limit: object = _NONE_V1, used: int = 0, hierarchical: object = _NONE_V1, **stat: int
) -> dict[str, object]:
    lines = "\n".join(f"{name} {value}" for name, value in {"hierarchical_memory_limit": hierarchical, **stat}.items())
    return {"memory.limit_in_bytes": limit, "memory.usage_in_bytes": used, "memory.stat": lines}


def test_all_groups_up_to_the_top_count_the_own_one_first(tree: Tree) -> None:
    root = tree(
        _V2.format(root="/"),
        "0::/user.slice/job/step\n",
        {
            "user.slice/job/step": _group(300 * MIB, 100 * MIB),
            "user.slice/job": _group(200 * MIB, 150 * MIB),
            "user.slice": _group(),
            "": {},
        },
    )
    limits = memory_limits(root)
    assert limits == (
        MemoryLimit(300 * MIB, 100 * MIB, "/sys/fs/cgroup/user.slice/job/step/memory.max"),
        MemoryLimit(200 * MIB, 150 * MIB, "/sys/fs/cgroup/user.slice/job/memory.max"),
    )
    assert [limit.left_bytes for limit in limits] == [200 * MIB, 50 * MIB]


def test_the_limit_that_slows_down_counts_too(tree: Tree) -> None:
    root = tree(_V2.format(root="/"), "0::/a\n", {"a": _group("max", 0, 64 * MIB)})
    assert memory_limits(root) == (MemoryLimit(64 * MIB, 0, "/sys/fs/cgroup/a/memory.high"),)
    (root / "sys/fs/cgroup/a/memory.max").write_text(str(32 * MIB))
    assert memory_limits(root) == (MemoryLimit(32 * MIB, 0, "/sys/fs/cgroup/a/memory.max"),)


def test_the_page_cache_is_no_use_of_memory_but_of_a_busy_one_half_is(tree: Tree) -> None:
    stat = {"inactive_file": 60 * MIB, "active_file": 20 * MIB, "shmem": 10 * MIB}
    root = tree(_V2.format(root="/"), "0::/\n", {"": _group(100 * MIB, 90 * MIB, **stat)})
    (limit,) = memory_limits(root)
    assert (limit.used_bytes, limit.left_bytes) == (20 * MIB, 80 * MIB)


@pytest.mark.parametrize(
    ("mounted", "path", "folder"),
    [
        ("/", "/", ""),  # a container with a namespace of its own: the top is its own group
        ("/docker/0a1b", "/docker/0a1b", ""),  # one without: the mount shows a part of the host's tree
        ("/docker/0a1b", "/docker/0a1b/inner", "inner"),
        ("/kubepods/pod1", "/kubepods/pod1/../pod2", ""),  # outside of the namespace
        ("/docker/0a1b", "/somewhere/else", ""),
        ("/", "/a/group/that/is/not/shown", ""),
        (r"/with\040space", "/with space/in", "in"),
    ],
)
@pytest.mark.parametrize("version", [1, 2])
def test_the_own_group_is_found_in_containers(tree: Tree, version: int, mounted: str, path: str, folder: str) -> None:
    if version == 2:
        root = tree(_V2.format(root=mounted), f"0::{path}\n", {folder: _group(300 * MIB, MIB)})
        name = "memory.max"
    else:
        memory = f"memory/{folder}"
        root = tree(_V1.format(root=mounted), _PATHS_V1.format(path=path), {memory: _old_group(300 * MIB, MIB)})
        name = "memory.limit_in_bytes"
    (limit,) = memory_limits(root)
    assert (limit.limit_bytes, limit.used_bytes) == (300 * MIB, MIB)
    assert limit.name.endswith(f"{folder}/{name}")


def test_version_1_knows_of_limits_above_what_is_mounted(tree: Tree) -> None:
    group = _old_group(_NONE_V1, 90 * MIB, 128 * MIB, inactive_file=1, total_inactive_file=40 * MIB)
    root = tree(_V1.format(root="/docker/0a1b"), _PATHS_V1.format(path="/docker/0a1b"), {"memory": group})
    (limit,) = memory_limits(root)
    assert (limit.limit_bytes, limit.used_bytes) == (128 * MIB, 50 * MIB)


@pytest.mark.parametrize(
    "files",
    [
        {},
        _group(),
        {"memory.max": "a", "memory.current": "5"},
        {"memory.max": "5"},
        {"memory.max": "", "memory.current": ""},
        _old_group(),
    ],
)
def test_what_says_nothing_is_no_limit(tree: Tree, files: dict[str, object]) -> None:
    root = tree(_V2.format(root="/"), "0::/a\n", {"a": files})
    assert memory_limits(root) == ()
    assert cpu_quota(root) is None
    assert oom_kills(root) is None


@pytest.mark.parametrize(
    ("mountinfo", "paths"), [("", ""), ("nonsense\n30 23 - \n", "x\n::\n"), (_V2.format(root="/"), "")]
)
def test_a_host_without_control_groups_has_no_limits(tree: Tree, mountinfo: str, paths: str) -> None:
    root = tree(mountinfo, paths, {})
    assert (memory_limits(root), cpu_quota(root), oom_kills(root)) == ((), None, None)


# ---- processor time


@pytest.mark.parametrize(
    ("own", "above", "quota"),
    [
        ("50000 100000", "max 100000", 0.5),
        ("max 100000", "150000 100000", 1.5),
        ("400000 100000", "20000 10000", 2.0),
        ("max 100000", "max 100000", None),
        ("0 100000", "50000 0", None),
    ],
)
def test_the_least_quota_of_all_groups_counts(tree: Tree, own: str, above: str, quota: float | None) -> None:
    root = tree(_V2.format(root="/"), "0::/a/b\n", {"a": {"cpu.max": above}, "a/b": {"cpu.max": own}})
    assert cpu_quota(root) == quota


@pytest.mark.parametrize(("quota_us", "quota"), [(50_000, 0.5), (-1, None), (250_000, 2.5)])
def test_the_quota_of_version_1_is_in_two_files(tree: Tree, quota_us: int, quota: float | None) -> None:
    group = {"cpu.cfs_quota_us": quota_us, "cpu.cfs_period_us": 100_000}
    root = tree(_V1.format(root="/"), _PATHS_V1.format(path="/job"), {"cpu,cpuacct/job": group})
    assert cpu_quota(root) == quota


@pytest.mark.parametrize(("quota", "cores"), [("50000", 1), ("150000", 1), ("250000", 2), ("1600000", 16), ("max", 16)])
def test_cores_that_can_be_kept_busy_follow_affinity_and_quota(
    tree: Tree, monkeypatch: pytest.MonkeyPatch, quota: str, cores: int
) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda _pid: set(range(16)))
    root = tree(_V2.format(root="/"), "0::/a\n", {"a": {"cpu.max": f"{quota} 100000"}})
    assert usable_cores(root) == cores


# ---- ended for want of memory


def test_processes_that_were_ended_for_want_of_memory_are_counted(tree: Tree) -> None:
    root = tree(_V2.format(root="/"), "0::/a\n", {"a": {"memory.events": "low 0\nmax 7\noom 1\noom_kill 3"}})
    assert oom_kills(root) == 3


def test_version_1_counts_them_elsewhere(tree: Tree) -> None:
    group = {"memory.oom_control": "oom_kill_disable 0\nunder_oom 0\noom_kill 2"}
    assert oom_kills(tree(_V1.format(root="/"), _PATHS_V1.format(path="/a"), {"memory/a": group})) == 2
