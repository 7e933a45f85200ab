"""A service with remote workers as processes of this host: its parts, and what a training gets of it."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

import loader_client
from loader_client import Clip, Image
from tests.support import processes
from tests.support.services import Service, running_service
from tests.support.waiting import eventually

SPEC: dict[str, Any] = {
    "batch_size": 4,
    "clip": Clip(frames=4),
    "image": Image(size=(32, 32), crop="random", flip=True),
}


def steps(connection: Any, epochs: int = 1, **options: Any) -> Iterator[str]:
    """Yield a digest of each batch."""
    for batch in connection.batches(**{**SPEC, "epochs": epochs, **options}):
        yield digest(batch)


def digest(batch: Any) -> str:
    """Return what stands for all bytes of a batch."""
    found = hashlib.blake2b(digest_size=8)
    for name in sorted(batch):
        found.update(np.ascontiguousarray(batch[name]).tobytes())
    return found.hexdigest()


def remote_workers(connection: Any) -> list[Any]:
    """Return the remote workers that work, as `status` shows them."""
    return [each for each in connection.status().workers if each.node and each.state == "working"]


def of_module(service: Service, name: str) -> list[int]:
    """Return the pids of the processes of a service that run a module of the remote room."""
    here = processes.children(service.pid)
    below = {pid: words for each in here for pid, words in processes.children(each).items()}
    return [pid for pid, words in {**here, **below}.items() if f"loader_service.remote.{name}" in words]


@contextmanager
def remote_service(*files: object, workers: int = 1, remote: int = 1, **options: Any) -> Iterator[tuple[Service, Any]]:
    """Start a service, and yield it with a connection when its remote workers are there."""
    given = {"workers": workers, "ray": "processes", "ray_workers": remote, **options}
    with running_service(*files, **given) as service, loader_client.connect(service.endpoint) as connection:
        eventually(lambda: len(remote_workers(connection)) == remote, "remote workers")
        yield service, connection
