"""One service for all tests of a module that do it no harm, and peers to talk to it."""

from __future__ import annotations

import select
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from tests.daemon.peer import Peer
from tests.support.services import Service, surviving_service


@pytest.fixture(scope="module")
def service(small_videos: Path) -> Iterator[Service]:
    with surviving_service(small_videos / "*.h5") as service:
        yield service


@pytest.fixture
def peers(service: Service) -> Iterator[tuple[Peer, Peer]]:
    """Two peers that have introduced themselves."""
    with ExitStack() as stack:
        one, other = (stack.enter_context(Peer(service.endpoint)) for _ in range(2))
        one.hello("one")
        other.hello("other")
        yield one, other


@pytest.fixture
def sleeper() -> Iterator[subprocess.Popen[bytes]]:
    """A process that does nothing until it is killed."""
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as process:
        yield process
        process.kill()


@pytest.fixture
def watched() -> Iterator[select.epoll]:
    """What the daemon's loop waits for."""
    with select.epoll() as watched:
        yield watched
