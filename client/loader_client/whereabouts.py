"""Says what lies at an endpoint at which nobody answers, and who may not go there; speaks to nobody."""

from __future__ import annotations

import os
import pwd
import socket
import stat
from pathlib import Path

from loader_service.daemon.occupant import find_occupant
from loader_service.endpoint import parse
from loader_service.errors import ServiceUnavailable
from loader_service.sharing_group import ENVIRONMENT_VARIABLE as GROUP_VARIABLE

#: Whether permissions are asked for as the kernel looks at them when something is opened.
_EFFECTIVE = os.access in os.supports_effective_ids

#: What is said of a socket that takes connections.
_LISTENS = "takes connections: a service there is busy, starts or is halted, or it is another program's"


def check_reachable(endpoint: str) -> None:
    """Raise ServiceUnavailable when this user may not go to an endpoint: says whose it is."""
    refusal = refusal_at(endpoint)
    if refusal is not None:
        raise ServiceUnavailable(
            f"cannot reach {endpoint}: {refusal}; a trainer and its service share memory, so run as that user, name a "
            f"group of both in {GROUP_VARIABLE}, or start a service of your own with `loader-service start FILES…`"
        )


def no_answer(endpoint: str, waited_s: float) -> ServiceUnavailable:
    """Return the error of who has waited in vain, or need not wait."""
    waited = f" (waited {waited_s:g} s)" if waited_s else ""
    seen = seen_at(endpoint)
    if seen.endswith(_LISTENS):
        return ServiceUnavailable(
            f"no service has answered at {endpoint}{waited}; {seen}; see which with `loader-service ps` and the log of "
            "the service, and try again, or wait longer: connect(…, timeout_s=…)"
        )
    return ServiceUnavailable(
        f"no service answers at {endpoint}{waited}; start one with `loader-service start FILES…`, or "
        f"give the endpoint that its `ready:` line shows; {seen}"
    )


def refusal_at(endpoint: str) -> str | None:
    """Return why this user may not reach what is at an endpoint, and whose it is; None when nothing is in the way."""
    path = _path(endpoint)
    for folder in reversed(path.parents):
        if folder.is_dir() and not os.access(folder, os.X_OK, effective_ids=_EFFECTIVE):
            return f"{_user(os.geteuid())} may not enter the folder {str(folder)!r}, which {_owner(folder.stat())}"
    try:
        status = path.stat()
    except OSError:
        return None
    if stat.S_ISSOCK(status.st_mode) and not os.access(path, os.W_OK, effective_ids=_EFFECTIVE):
        return f"{_user(os.geteuid())} may not connect to its socket, which {_owner(status)}"
    return None


def seen_at(endpoint: str) -> str:
    """Return what is to be seen at an endpoint, for people: that its folder is missing, or who has its socket."""
    path = _path(endpoint)
    try:
        status = path.stat()
    except OSError:
        return refusal_at(endpoint) or _missing_part_of(path)
    if not stat.S_ISSOCK(status.st_mode):
        return f"{str(path)!r} is no socket"
    return f"the socket {str(path)!r} of {_user(status.st_uid)} {_answer_of(path)}"


def blocked_at(endpoint: str) -> bool:
    """Return whether something lies at an endpoint that is no socket: no service begins there as long as it does."""
    try:
        return not stat.S_ISSOCK(_path(endpoint).stat().st_mode)
    except OSError:
        return False


def pid_seen_at(endpoint: str) -> int:
    """Return this process's pid if the service at an endpoint knows it by that; 0 where it may be another process's.

    A container has a PID namespace of its own, and its pid 20 is another process in that of the service, which would
    take the end of that one for the end of this. Where the pid in the service's lock file is a process that has this
    file open, both count alike.
    """
    found = find_occupant(parse(endpoint))
    if found is None:
        return 0
    with found:
        return os.getpid()


def _path(endpoint: str) -> Path:
    return Path(endpoint.removeprefix("ipc://"))


def _missing_part_of(path: Path) -> str:
    missing = next((each for each in reversed(path.parents) if not each.is_dir()), None)
    if missing is not None:
        return f"there is no folder {str(missing)!r}"
    return f"no socket in {str(path.parent)!r} has the name {path.name!r}"


def _owner(status: os.stat_result) -> str:
    return f"belongs to {_user(status.st_uid)} and has mode {stat.S_IMODE(status.st_mode):04o}"


def _user(number: int) -> str:
    try:
        return f"user {number} ({pwd.getpwuid(number).pw_name})"
    except KeyError:  # as in a container that was given a number alone
        return f"user {number}"


def _answer_of(path: Path) -> str:
    """Return what comes of connecting to a socket."""
    with socket.socket(socket.AF_UNIX) as probe:
        probe.setblocking(False)
        try:
            probe.connect(str(path))
        except ConnectionRefusedError:
            return (
                f"has nobody behind it, as when its service was killed; `loader-service stop ipc://{path}` removes it"
            )
        except OSError as error:
            return f"cannot be connected to: {error.strerror}"
    return _LISTENS
