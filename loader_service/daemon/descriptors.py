"""The descriptors of this process: as many as it may have, and when those who connect have taken too many of them.

ZeroMQ aborts the process where one is missing for a connection that it accepts on a local socket, so it must never come
to that.
"""

from __future__ import annotations

import os
import resource

from loader_service.errors import ConfigError

#: What a daemon with ten clients needs for itself (50 were counted, and up to 7 a field for its columns), what it needs
#: for each worker, and how many are asked of the kernel at most.
_OWN, _PER_WORKER, _MOST = 128, 5, 65_536

#: So many connections are no flood, however few descriptors there are.
_FEW = 64


def provide_descriptors(workers: int) -> None:
    """Let this process open as many files as it may.

    Raises
    ------
    ConfigError
        When that is too few for so many workers.
    """
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    may = _MOST if hard == resource.RLIM_INFINITY else min(hard, _MOST)
    need = _OWN + _PER_WORKER * workers
    if may < need:
        raise ConfigError(
            f"workers={workers} needs {need} open files, the hard limit is {may}; as root, say `ulimit -n {need}` in "
            f"the shell that starts this, or LimitNOFILE={need} in a systemd unit, or docker run --ulimit nofile={need}"
        )
    if soft != resource.RLIM_INFINITY and soft < may:
        resource.setrlimit(resource.RLIMIT_NOFILE, (may, hard))


class DescriptorGuard:
    """Tells when connections have taken too many of this process's descriptors; made when there are none yet.

    They may have a quarter of what is left. Between two looks of the daemon a flood opened up to 4,000 connections, so
    that a limit of 16,384 is enough; most systems allow far more.
    """

    def __init__(self) -> None:
        self._own = _lowest_free()

    def taken(self, workers: int) -> int:
        """Return how many are in use when that is too much in a service with so many workers, else 0."""
        needed = self._own + _PER_WORKER * workers
        limit, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
        taken = _lowest_free()
        return taken if taken > needed + max(_FEW, (limit - needed) // 4) else 0


def _lowest_free() -> int:
    """Return the lowest descriptor that is free: so many are in use at least, and none is free when it is the limit.

    Counting them all would take a descriptor too, and a millisecond where there are thousands.
    """
    try:
        probe = os.eventfd(0)
    except OSError:
        return resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    os.close(probe)
    return probe
