"""Locks of the kernel: had, taken, gone or unsupported, and waited for up to a deadline; held by real processes."""

from __future__ import annotations

import errno
import fcntl
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from loader_service.flocks import Lock, lock, locked
from loader_service.private_folders import Folder, NotOurs, open_folder

HOLDER = """
import fcntl, os, sys
fcntl.flock(os.open(sys.argv[1], os.O_RDONLY), int(sys.argv[2]))
print(1, flush=True)
input()
"""


@pytest.fixture
def parent(tmp_path: Path) -> Iterator[Folder]:
    """A folder that has one called `inner`."""
    (tmp_path / "inner").mkdir()
    with open_folder(tmp_path) as opened:
        yield opened


@pytest.fixture
def inner(parent: Folder) -> Iterator[Folder]:
    """That folder, opened."""
    with parent.folder("inner") as opened:
        yield opened


def held_by_another(path: Path, kind: int) -> subprocess.Popen[str]:
    """Return a process that has a lock."""
    command = [sys.executable, "-c", HOLDER, str(path), str(kind)]
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    assert process.stdout.readline() == "1\n"
    return process


def test_a_lock_that_another_process_has_is_taken_until_that_is_killed(parent: Folder, inner: Folder) -> None:
    with held_by_another(inner.path, fcntl.LOCK_EX) as process:
        for shared in (False, True):
            assert lock(inner.fileno(), parent, "inner", shared=shared) is Lock.TAKEN
        process.kill()
        process.wait(60)
    assert lock(inner.fileno(), parent, "inner") is Lock.HAD


def test_shared_locks_go_together_and_keep_an_exclusive_one_out(parent: Folder, inner: Folder) -> None:
    with held_by_another(inner.path, fcntl.LOCK_SH) as process:
        assert lock(inner.fileno(), parent, "inner", shared=True) is Lock.HAD
        assert lock(inner.fileno(), parent, "inner") is Lock.TAKEN
        process.kill()


def test_the_lock_of_what_was_removed_or_replaced_is_none(parent: Folder, inner: Folder) -> None:
    inner.path.rmdir()
    assert lock(inner.fileno(), parent, "inner") is Lock.GONE
    inner.path.mkdir()
    assert lock(inner.fileno(), parent, "inner") is Lock.GONE


@pytest.mark.parametrize("code", [errno.ENOLCK, errno.ENOSYS, errno.EBADF])
def test_a_file_system_without_locks_says_so(
    parent: Folder, inner: Folder, monkeypatch: pytest.MonkeyPatch, code: int
) -> None:
    def refuse(*_: int) -> None:
        raise OSError(code, os.strerror(code))

    monkeypatch.setattr(fcntl, "flock", refuse)
    assert lock(inner.fileno(), parent, "inner") is Lock.UNSUPPORTED
    with pytest.raises(NotOurs, match="within 60 s: its file system gives locks to nobody"), locked(inner, 60.0):
        pass


def test_a_wait_ends_when_the_lock_is_free_and_the_lock_ends_with_the_block(parent: Folder, inner: Folder) -> None:
    with held_by_another(inner.path, fcntl.LOCK_EX) as process:
        killer = threading.Timer(0.2, process.kill)
        killer.start()
        with locked(inner, 60.0), parent.folder("inner") as other:
            assert lock(other.fileno(), parent, "inner") is Lock.TAKEN
        with parent.folder("inner") as other:
            assert lock(other.fileno(), parent, "inner") is Lock.HAD
        killer.join()


def test_a_wait_ends_at_its_deadline(inner: Folder) -> None:
    with held_by_another(inner.path, fcntl.LOCK_EX) as process:
        with pytest.raises(NotOurs, match=r"locked within 0\.1 s: another process has it locked"), locked(inner, 0.1):
            pass
        process.kill()
