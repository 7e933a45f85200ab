"""Finds the services that this user runs on this host, wherever they listen; asks the kernel, and sends no message.

A service has its lock file open, and its pid stands there: so what a dead one left, or another program locked, is none.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from loader_service.daemon.occupant import find_occupant
from loader_service.endpoint import Endpoint

_LOCK = ".lock"


def own_services(processes: Path = Path("/proc")) -> list[tuple[Endpoint, int]]:
    """Return endpoint and pid of each service of this user that can be seen here, by endpoint."""
    found = {}
    for pid in own_processes(processes):
        for path in _open_files(processes / str(pid)):
            if path.endswith(_LOCK):
                place = Endpoint(Path(path.removesuffix(_LOCK)))
                occupant = find_occupant(place)
                if occupant is not None:
                    with occupant:
                        if occupant.pid == pid:
                            found[place] = pid
    return sorted(found.items(), key=lambda each: str(each[0]))


def own_processes(processes: Path) -> Iterator[int]:
    """Yield the pid of each process of this user."""
    user = os.geteuid()
    for each in processes.iterdir():
        if each.name.isdecimal():
            try:
                if each.stat().st_uid == user:
                    yield int(each.name)
            except OSError:
                continue  # it has ended


def _open_files(process: Path) -> Iterator[str]:
    try:
        descriptors = list((process / "fd").iterdir())
    except OSError:
        return  # it has ended, or may not be looked into
    for each in descriptors:
        try:
            yield os.readlink(each)
        except OSError:
            continue
