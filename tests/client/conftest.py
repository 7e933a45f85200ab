"""What the client's tests share: a service for those that change nothing, plain contents, TensorFlow on demand."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.client.reference import Reference
from tests.support.services import Service, running_service


@pytest.fixture(scope="module")
def service(small_videos: Path) -> Iterator[Service]:
    """Run one service of `small_videos` with two workers, for all tests of a file that leave it as it is."""
    with running_service(small_videos / "*.h5", workers=2) as running:
        yield running


@pytest.fixture(scope="session")
def reference(small_videos: Path) -> Reference:
    """Return what `small_videos` holds, read without any of the tested code."""
    return Reference(small_videos)
