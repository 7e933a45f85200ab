"""Makes real control groups, of whichever version the host has, where the rights are there."""

from __future__ import annotations

import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.support.waiting import eventually

_TOP = Path("/sys/fs/cgroup")

#: Limits by version: the controller's folder below the top, and its files; of a quota, of 100 ms.
_MEMORY = ((_TOP / "memory", "memory.limit_in_bytes"), (_TOP, "memory.max"))
_CPU = ((_TOP / "cpu", "cpu.cfs_quota_us"), (_TOP, "cpu.max"))


class NoGroup(Exception):
    """No control group can be made here; the message says why."""


@contextmanager
def control_group(memory_bytes: int = 0, quota_us: int = 0) -> Iterator[tuple[str, ...]]:
    """Make a group with one of two limits; yield what runs a command in it, to be followed by that command.

    Raises
    ------
    NoGroup
        When that is not possible.
    """
    made: Path | None = None
    why = "no control group of that kind is mounted"
    for folder, limit in _MEMORY if memory_bytes else _CPU:
        try:
            made = _make(folder, limit, memory_bytes or quota_us)
            break
        except OSError as error:
            why = str(error)
    if made is None:
        raise NoGroup(why)
    try:
        yield ("sh", "-c", f'echo $$ > {made}/cgroup.procs && exec "$@"', "sh")
    finally:
        eventually(lambda: _is_removed(made), "the group is empty")


def _make(folder: Path, limit: str, value: int) -> Path:
    if folder == _TOP:  # version 2: groups below have no controllers unless that is said here
        (folder / "cgroup.subtree_control").write_text(f"+{limit.partition('.')[0]}")
    made = folder / f"ls-{os.getpid()}-{secrets.token_hex(4)}"
    made.mkdir()
    try:
        (made / limit).write_text(f"{value} 100000" if limit == "cpu.max" else str(value))
    except OSError:
        made.rmdir()
        raise
    return made


def _is_removed(group: Path) -> bool:
    try:
        group.rmdir()
    except OSError:
        return False
    return True
