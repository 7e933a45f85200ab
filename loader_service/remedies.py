"""Says what a user can do about too little memory, as it works in this place; changes nothing."""

from __future__ import annotations

import os
from pathlib import Path

from loader_service.control_groups import ROOT
from loader_service.protocol.segment_files import DEFAULT_SHARED_MEMORY, ENVIRONMENT_VARIABLE, shared_memory

#: What makes a batch take less memory, wherever that is short.
SMALLER_BATCH = "use a smaller batch_size, fewer frames or smaller images"

#: Files that container engines put into their containers.
_MARKS = (".dockerenv", "run/.containerenv")

#: Variables that engines and Kubernetes set in theirs.
_VARIABLES = ("container", "KUBERNETES_SERVICE_HOST")


def in_container(root: Path = ROOT) -> bool:
    """Return whether this process runs in a container with a shared memory of its own."""
    return any((root / mark).exists() for mark in _MARKS) or any(map(os.environ.get, _VARIABLES))


def more_shared_memory(root: Path = ROOT) -> str:
    """Return how to have more shared memory."""
    another = f"name a larger tmpfs in {ENVIRONMENT_VARIABLE}, for the service and its trainers"
    if shared_memory() == DEFAULT_SHARED_MEMORY and in_container(root):
        return (
            f"give the container more (docker run --shm-size={_twice_as_much()}g; in Kubernetes an emptyDir of medium "
            f"Memory at {DEFAULT_SHARED_MEMORY}), or {another}"
        )
    return another


def _twice_as_much() -> int:
    """Return twice the size of the shared memory in GiB, at least 2."""
    found = os.statvfs(shared_memory())
    return max(2, -(-2 * found.f_blocks * found.f_frsize // 2**30))


def higher_limit(root: Path = ROOT) -> str:
    """Return how to have a higher limit of the control group."""
    if in_container(root):
        return "give the container more memory (docker run --memory; in Kubernetes resources.limits.memory)"
    return "raise that limit (MemoryMax= of a systemd unit, --mem of a Slurm job)"
