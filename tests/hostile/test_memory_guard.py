"""The daemon's look at its own memory: growth counts from the least, and freed memory goes back to the kernel."""

from __future__ import annotations

import os

import numpy as np
import pytest

from loader_service.daemon import memory
from loader_service.daemon.memory import MemoryGuard, own_bytes

_MIB = 2**20


@pytest.fixture
def at(monkeypatch):
    """Set what this process seems to have, in MiB."""
    return lambda mib: monkeypatch.setattr(memory, "own_bytes", lambda _pid: mib * _MIB)


def test_growth_above_the_limit_is_told(at):
    at(20)
    guard = MemoryGuard(256 * _MIB)
    at(276)
    assert guard.grown_bytes() == 0
    at(277)
    assert guard.grown_bytes() == 257 * _MIB


def test_one_flood_does_not_raise_the_bar_for_the_next(at):
    at(20)
    guard = MemoryGuard(256 * _MIB)
    at(900)
    assert guard.grown_bytes()
    guard.rest()  # what was dropped is not freed yet
    assert guard.grown_bytes() == 0
    at(30)
    assert guard.grown_bytes() == 0
    at(300)
    assert guard.grown_bytes() == 270 * _MIB


def test_memory_that_the_c_library_kept_goes_back_at_the_next_look():
    before = own_bytes(os.getpid())
    guard = MemoryGuard(16 * _MIB)
    pieces = [np.ones(50_000, np.uint8) for _ in range(4_000)]
    last = pieces[-1]
    del pieces
    guard.grown_bytes()
    assert own_bytes(os.getpid()) < before + 16 * _MIB
    assert last.all()
