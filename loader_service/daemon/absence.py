"""Tells whether an endpoint is nobody's: no service listens there, has its lock, or is about to; asks the kernel."""

from __future__ import annotations

import os
import socket
import stat
from collections.abc import Sequence
from pathlib import Path

from loader_service import endpoint as endpoints
from loader_service.daemon.occupant import find_occupant
from loader_service.daemon.own_services import own_processes, own_services
from loader_service.endpoint import Endpoint
from loader_service.errors import ConfigError
from loader_service.start_command import read_option

#: How the command is called, as the last part of a word: by its name, by ``python -m``, by another program.
_COMMANDS = frozenset({"loader-service", "loader_service", "loader_service.cli", "loader_service.entry_point"})


def is_absent(place: Endpoint, processes: Path = Path("/proc")) -> bool:
    """Return whether there is no service at an endpoint, and none of this user's is starting that may come there.

    What cannot be known counts as a service: a lock file without its process may be that of one in a container, and
    who is just being started, or started again, has no lock yet.
    """
    if not is_left_socket(place) and (_exists(place.path) or _exists(place.lock)):
        return False
    occupant = find_occupant(place)
    if occupant is not None:
        with occupant:
            return False
    found = own_services(processes)
    if any(each == place for each, _ in found):
        return False
    known = {pid for _, pid in found}
    return not any(pid not in known and _may_begin(processes / str(pid), place) for pid in own_processes(processes))


def is_left_socket(place: Endpoint) -> bool:
    """Return whether a socket of this user lies there at which nobody listens, as when its service was killed."""
    try:
        status = place.path.lstat()
        if not stat.S_ISSOCK(status.st_mode) or status.st_uid != os.geteuid():
            return False
        with socket.socket(socket.AF_UNIX) as probe:
            probe.setblocking(False)
            probe.connect(str(place.path))
    except ConnectionRefusedError:
        return True
    except OSError:
        return False
    return False


def killed_services() -> list[Endpoint]:
    """Return the endpoints in the folders of this package at which a service of this user was killed."""
    found = []
    for folder in dict.fromkeys(endpoints.private_directories()):
        try:
            names = sorted(os.listdir(folder))
        except OSError:
            continue
        places = [Endpoint(folder / name) for name in names if f"{name}.lock" in names]
        found += [each for each in places if is_left_socket(each) and is_absent(each)]
    return found


def _exists(path: Path) -> bool:
    """Return whether anything is there, or that cannot be known."""
    try:
        path.lstat()
    except (FileNotFoundError, NotADirectoryError):
        return False
    except OSError:
        return True
    return True


def _may_begin(process: Path, place: Endpoint) -> bool:
    """Return whether a process starts a service that may listen at an endpoint."""
    words = _texts(process / "cmdline")
    at = next((at for at, each in enumerate(words[:-1]) if os.path.basename(each) in _COMMANDS), None)
    if at is None or words[at + 1] != "start":
        return False
    variable = f"{endpoints.ENVIRONMENT_VARIABLE}="
    by_variable = (each.removeprefix(variable) for each in _texts(process / "environ") if each.startswith(variable))
    named = read_option(words, "endpoint") or _endpoint_after(words) or next(by_variable, "")
    try:
        return endpoints.parse(named) == place if named else place.path.name == endpoints.DEFAULT_NAME
    except ConfigError:
        return False


def _texts(path: Path) -> list[str]:
    try:
        return path.read_text(errors="surrogateescape").split("\0")
    except OSError:
        return []  # it has ended


def _endpoint_after(words: Sequence[str]) -> str | None:
    return next((words[at + 1] for at, each in enumerate(words[:-1]) if each == "--endpoint"), None)
