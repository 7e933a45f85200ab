"""The check that every test leaves nothing behind finds what is left."""

from __future__ import annotations

from pathlib import Path

import pytest

from loader_service.protocol.segment_files import instance_directory
from tests.support.leaks import Belongings
from tests.support.services import running_service, started_service


@pytest.fixture
def belongings(private_directories: Path) -> Belongings:
    return Belongings(private_directories)


def test_a_killed_service_is_found_by_its_sockets_and_segments(small_videos: Path, belongings: Belongings) -> None:
    with started_service(small_videos / "*.h5") as service:
        service.await_ready()
        folder = instance_directory(service.instance)
        assert any(line.startswith(f"process {service.pid} ") for line in belongings.what_is_new())
        service.kill()
        left = belongings.what_is_new()
        assert f"segments in {folder}" in left
        assert any(line.startswith("file ") and ".sock" in line for line in left)
    with running_service(small_videos / "*.h5", endpoint=service.endpoint):
        assert not folder.exists()


def test_an_open_descriptor_is_found(belongings: Belongings, tmp_path: Path) -> None:
    with (tmp_path / "file").open("w"):
        assert [line.split(maxsplit=2)[2] for line in belongings.what_is_new()] == [f"({tmp_path / 'file'})"]
    assert belongings.what_is_new() == []
