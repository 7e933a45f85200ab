"""The daemon's look at its own memory: growth counts from the least, and freed memory goes back to the kernel."""

from __future__ import annotations

import os
import resource
import subprocess
import sys
from contextlib import closing

import numpy as np
import pytest

from loader_service.daemon.memory import MemoryGuard, OwnMemory
from tests.support.processes import own_bytes

_MIB = 2**20


class Said:
    """The memory of a process, as the test says."""

    def __init__(self) -> None:
        self.mib = 20

    def bytes_now(self) -> int:
        return self.mib * _MIB


def test_growth_above_the_limit_is_told():
    said = Said()
    guard = MemoryGuard(said, 256 * _MIB)
    said.mib = 276
    assert guard.grown_bytes() == 0
    said.mib = 277
    assert guard.grown_bytes() == 257 * _MIB


def test_one_flood_does_not_raise_the_bar_for_the_next():
    said = Said()
    guard = MemoryGuard(said, 256 * _MIB)
    said.mib = 900
    assert guard.grown_bytes()
    guard.rest()  # what was dropped is not freed yet
    assert guard.grown_bytes() == 0
    said.mib = 30
    assert guard.grown_bytes() == 0
    said.mib = 300
    assert guard.grown_bytes() == 270 * _MIB


def test_memory_that_the_c_library_kept_goes_back_at_the_next_look():
    with closing(OwnMemory(os.getpid())) as memory:
        before = memory.bytes_now()
        guard = MemoryGuard(memory, 16 * _MIB)
        pieces = [np.ones(50_000, np.uint8) for _ in range(4_000)]
        last = pieces[-1]
        del pieces
        guard.grown_bytes()
        assert memory.bytes_now() < before + 16 * _MIB
    assert last.all()


def test_what_a_process_has_can_be_read_when_no_descriptor_is_left():
    before = own_bytes(os.getpid())
    with closing(OwnMemory(os.getpid())) as memory:
        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        pages = np.ones(64 * _MIB, np.uint8)
        resource.setrlimit(resource.RLIMIT_NOFILE, (0, hard))
        try:
            with pytest.raises(OSError, match="Too many open files"):
                OwnMemory(os.getpid())
            found = memory.bytes_now()
        finally:
            resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    assert before + 48 * _MIB < found < before + 80 * _MIB
    assert pages.all()


@pytest.mark.parametrize("is_reaped", [False, True])
def test_a_process_that_has_ended_has_nothing(is_reaped):
    with (
        subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as process,
        closing(OwnMemory(process.pid)) as memory,
    ):
        assert memory.bytes_now() > 0
        process.kill()
        os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
        if is_reaped:
            process.wait()
        assert memory.bytes_now() == 0
