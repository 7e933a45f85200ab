"""Looks at processes through ``/proc``: children, descriptors, mapped files; changes nothing but orphans' zombies."""

from __future__ import annotations

import ctypes
import os
from contextlib import closing, suppress
from pathlib import Path

from loader_service.daemon.memory import OwnMemory

_PR_SET_CHILD_SUBREAPER = 36


def adopt_orphans() -> None:
    """Have the kernel make this process the parent of all orphans below it, so that `children` cannot miss one."""
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) != 0:
        raise OSError(ctypes.get_errno(), "prctl(PR_SET_CHILD_SUBREAPER) failed")


def children(pid: int | None = None) -> dict[int, str]:
    """Return the living children of a process, by default of this one: command line by pid."""
    return {child: _command(child) for child, state in _children(pid or os.getpid()) if state not in "ZX"}


def bury_orphans() -> None:
    """Reap the zombies among this process's children; for when nobody else waits for a child any more."""
    for child, state in _children(os.getpid()):
        if state == "Z":
            try:
                os.waitpid(child, os.WNOHANG)
            except ChildProcessError:
                continue  # another thread was faster


def is_alive(pid: int) -> bool:
    """Return whether a process runs; a zombie does not."""
    return _state_and_parent(pid)[0] not in "ZX"


def parent(pid: int) -> int:
    """Return the parent of a process, 0 for one that does not exist."""
    return _state_and_parent(pid)[1]


def descriptors(pid: int | None = None) -> dict[int, str]:
    """Return what the descriptors of a process, by default of this one, refer to."""
    found = {}
    folder = Path(f"/proc/{pid or os.getpid()}/fd")
    for entry in os.listdir(folder):
        try:
            found[int(entry)] = os.readlink(folder / entry)
        except FileNotFoundError:
            continue  # the descriptor with which the folder was listed
    return found


def own_bytes(pid: int) -> int:
    """Return the memory that a process shares with no file and no other process."""
    with closing(OwnMemory(pid)) as memory:
        return memory.bytes_now()


def mapped_files(pid: int) -> set[str]:
    """Return the paths of all files that a process has mapped."""
    lines = Path(f"/proc/{pid}/maps").read_text().splitlines()
    return {line.split(maxsplit=5)[5] for line in lines if len(line.split(maxsplit=5)) == 6}


def _children(parent: int) -> list[tuple[int, str]]:
    candidates = set[int]()
    if parent == os.getpid():
        if not _has_children():
            return []  # as before and after most tests
        candidates = _listed_children() | _listed_children()
    found = []
    for pid in candidates or {int(entry) for entry in os.listdir("/proc") if entry.isdigit()}:
        state, its_parent = _state_and_parent(pid)
        if its_parent == parent:
            found.append((pid, state))
    return found


def _listed_children() -> set[int]:
    """Return the children of this process as its kernel lists them, if it does: to look at all processes takes 9 ms.

    One look may pass over a child when another one ends meanwhile.
    """
    found = set[int]()
    for task in Path("/proc/self/task").iterdir():
        with suppress(FileNotFoundError, ProcessLookupError):  # of a thread that has ended
            found.update(map(int, (task / "children").read_text().split()))
    return found


def _has_children() -> bool:
    """Return whether this process has children, zombies included; reaps none."""
    try:
        os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)
    except ChildProcessError:
        return False
    return True


def _state_and_parent(pid: int) -> tuple[str, int]:
    """Return state letter and parent; ``("X", 0)`` for a process that does not exist."""
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            text = file.read()
    except (FileNotFoundError, ProcessLookupError):
        return "X", 0
    state, parent = text.rpartition(b")")[2].split(maxsplit=2)[:2]  # the name before it may hold anything
    return state.decode(), int(parent)


def _command(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode("utf-8", "replace").strip()
    except (FileNotFoundError, ProcessLookupError):
        return ""
