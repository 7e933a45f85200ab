"""How many workers this host bears, and how many a service may have; what is asked for is checked against it."""

from __future__ import annotations

import os

from loader_service.control_groups import usable_cores
from loader_service.errors import ConfigError

#: Worker processes that a service may have; each takes some 20 MB, descriptors, and a share of the daemon's attention.
MOST_WORKERS = 1024

#: Remote workers that a service may have: their rows all come to one process.
MOST_REMOTE_WORKERS = 512

#: With more, processes that start keep the daemon itself from running: 500 a core made it deaf for minutes.
MOST_WORKERS_PER_CORE = 64


def workers_for_all_cores() -> int:
    """Return how many workers ``"auto"`` stands for: one for each core that this process may use."""
    return min(usable_cores(), MOST_WORKERS)


def most_workers() -> int:
    """Return how many workers this host bears: more would only halt it."""
    return min((os.cpu_count() or 1) * MOST_WORKERS_PER_CORE, MOST_WORKERS)


def check_workers(workers: int, most: int) -> None:
    """Make sure that a host bears so many workers.

    Parameters
    ----------
    workers
        How many are asked for.
    most
        What `most_workers` says of the host.

    Raises
    ------
    ConfigError
        When there are more, or none.
    """
    if not 1 <= workers <= most:
        raise ConfigError(
            f"workers={workers!r}; give 1 to {most}, which is all that this host bears ({MOST_WORKERS_PER_CORE} for "
            f"each CPU core, {MOST_WORKERS} in all), and seldom more than there are cores"
        )


def check_remote_workers(workers: int, most: int) -> None:
    """Make sure that a service can have so many remote workers.

    Raises
    ------
    ConfigError
        When there are more than `most`, which is 0 for a service without a cluster, or fewer than none.
    """
    if not most:
        raise ConfigError("this service has no cluster for remote workers; start it with --ray ADDRESS")
    if not 0 <= workers <= most:
        raise ConfigError(f"ray_workers={workers!r}; give 0 to {most}, or pack smaller frames, or use more hosts")


def parse_workers(text: str) -> int:
    """Return a number of workers; 0 for ``"auto"``.

    Raises
    ------
    ConfigError
        When it is neither.
    """
    if text == "auto":
        return 0
    if not text.isdecimal() or int(text) < 1:
        raise ConfigError(f"workers={text!r}; give 1 or more, or 'auto' for one per core")
    return int(text)
