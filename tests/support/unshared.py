"""Runs commands with a shared memory of their own, where the rights are there."""

from __future__ import annotations

import functools
import shutil
import subprocess

#: Runs a command with a shared memory of its own; the size comes first.
UNSHARED = ("unshare", "--mount", "sh", "-c", 'mount -t tmpfs -o size=$0 none "$LOADER_SERVICE_SHM" && exec "$@"')


@functools.cache
def can_have_a_shared_memory_of_its_own() -> bool:
    """Return whether this user may mount file systems."""
    if shutil.which("unshare") is None:
        return False
    return subprocess.run([*UNSHARED, "1m", "true"], capture_output=True, check=False).returncode == 0
