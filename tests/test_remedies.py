"""A remedy is named only where it works."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest

from loader_service.protocol.segment_files import ENVIRONMENT_VARIABLE
from loader_service.remedies import higher_limit, in_container, more_shared_memory


@pytest.fixture(autouse=True)
def outside_of_containers(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("container", "KUBERNETES_SERVICE_HOST", ENVIRONMENT_VARIABLE):
        monkeypatch.delenv(name, raising=False)


def test_shm_size_helps_in_a_container_only(tmp_path: Path) -> None:
    assert not in_container(tmp_path)
    assert more_shared_memory(tmp_path).startswith("name a larger tmpfs in LOADER_SERVICE_SHM")
    assert "MemoryMax=" in higher_limit(tmp_path)
    (tmp_path / ".dockerenv").touch()
    assert in_container(tmp_path)
    named = re.search(r"docker run --shm-size=(\d+)g", more_shared_memory(tmp_path))
    assert named is not None
    shared = os.statvfs("/dev/shm")
    assert int(named[1]) * 2**30 > shared.f_blocks * shared.f_frsize  # more than there is
    assert "docker run --memory" in higher_limit(tmp_path)


@pytest.mark.parametrize("name", ["container", "KUBERNETES_SERVICE_HOST"])
def test_a_variable_of_the_engine_tells_a_container(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    monkeypatch.setenv(name, "x")
    assert in_container(tmp_path)


def test_shm_size_does_not_help_where_the_slots_lie_elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / ".dockerenv").touch()
    monkeypatch.setenv(ENVIRONMENT_VARIABLE, str(tmp_path))
    assert "--shm-size" not in more_shared_memory(tmp_path)
