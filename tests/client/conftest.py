"""What the client's tests share: a service for those that change nothing, plain contents, TensorFlow on demand."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from pathlib import Path

import pytest

import loader_client
from loader_client import Connection
from tests.client.reference import Reference
from tests.support.services import Service, running_service
from tests.support.videos import make_videos, write_videos


@pytest.fixture(scope="module")
def service(small_videos: Path) -> Iterator[Service]:
    """Run one service of `small_videos` with two workers, for all tests of a file that leave it as it is."""
    with running_service(small_videos / "*.h5", workers=2) as running:
        yield running


@pytest.fixture
def connection(service: Service) -> Iterator[Connection]:
    """Connect to the service of a file's tests."""
    with loader_client.connect(service.endpoint) as opened:
        yield opened


@pytest.fixture(scope="module")
def four_videos(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Connection]:
    """Connect to a service of four videos, which leave room for many a start, for tests of checkpoints."""
    path = tmp_path_factory.mktemp("checkpoints") / "videos.h5"
    write_videos(path, "group_vlen", make_videos([9, 12, 20, 7], height=16, width=16))
    with running_service(path) as service, loader_client.connect(service.endpoint) as opened:
        yield opened
        gc.collect()


@pytest.fixture(scope="session")
def reference(small_videos: Path) -> Reference:
    """Return what `small_videos` holds, read without any of the tested code."""
    return Reference(small_videos)
