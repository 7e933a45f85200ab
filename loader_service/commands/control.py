"""Ends a running service and sees it go, or has it begin anew and sees it come back; the service does both itself.

A restart is the end of a service followed by `exec` in the same process: same pid, folder, environment, terminal and
parent, and the arguments that the kernel gave it at its start. So nothing that comes over a socket says what is run, a
supervisor need not notice, and who may ask for it is who may stop the service.
"""

from __future__ import annotations

import contextlib
import math
import time
from collections.abc import Callable
from contextlib import ExitStack

from loader_client.connection import Connection
from loader_service import endpoint as endpoints
from loader_service.daemon.absence import is_absent, is_left_socket
from loader_service.daemon.occupant import Occupant, find_occupant
from loader_service.daemon.segments import remove_abandoned
from loader_service.daemon.sockets import EndpointLock
from loader_service.endpoint import Endpoint
from loader_service.errors import ConfigError, LoaderError, ServiceUnavailable
from loader_service.protocol.segment_files import instance_directory
from loader_service.reaching import reach

#: Pause between two looks for what nothing tells of, in seconds.
_PAUSE_S = 0.05

#: How long one try to reach a service that starts again may take, in seconds.
_TRY_S = 1.0


def stop_service(endpoint: str | None, say: Callable[[str], object], timeout_s: float) -> None:
    """End a service, and wait until its process is gone and nothing of it is left; remove what a killed one left.

    Parameters
    ----------
    endpoint
        Where it listens; None for the default.
    say
        Called with each line that tells what was done.
    timeout_s
        How long to wait.

    Raises
    ------
    ConfigError
        When that is no length of time.
    ServiceUnavailable
        When there is no service, or it has not ended in time.
    """
    _check(timeout_s)
    place = endpoints.parse(endpoint)
    begun = time.monotonic()
    if is_left_socket(place) and is_absent(place):
        _tidy(place, None)
        if not place.path.exists():
            say(f"the service at {place} had been killed; what it left is removed")
            return
    with ExitStack() as stack:
        service, occupant = _reach(stack, place)
        instance = _tell_to_end(place, service, occupant, say)
        gone = _await_gone(place, occupant, instance, begun + timeout_s)
        if not gone:
            raise ServiceUnavailable(_still_there(place, occupant, timeout_s))
        successor = _tidy(place, instance)
        what = f"; process {successor} has taken its place" if successor else "; nothing of it is left"
        say(f"{_name(occupant)} has ended after {time.monotonic() - begun:.1f} s{what}")


def restart_service(endpoint: str | None, say: Callable[[str], object], timeout_s: float) -> None:
    """Have a service begin anew as it was started, and wait until it is ready.

    Parameters
    ----------
    endpoint, say, timeout_s
        See `stop_service`.

    Raises
    ------
    ConfigError
        When it is run by who must restart it: says how; or that is no length of time.
    ServiceUnavailable
        When there is no service, it died instead, or it was not ready in time.
    """
    _check(timeout_s)
    place = endpoints.parse(endpoint)
    begun = time.monotonic()
    with ExitStack() as stack:
        service, occupant = _reach(stack, place)
        if service is None:
            raise ServiceUnavailable(
                f"{_name(occupant)} at {place} does not answer, and so cannot be told to start again; it may be "
                f"busy, or starting still; else end it with `loader-service stop {place}`, and start it"
            )
        before = service.instance
        say(service.restart())
        service.close()
        name = _name(occupant)
        while (left_s := begun + timeout_s - time.monotonic()) > 0:
            serves = _ready_with(place, before, min(left_s, _TRY_S))
            if serves:
                say(f"{name} is ready again after {time.monotonic() - begun:.1f} s: {serves}")
                return
            if occupant is not None and occupant.has_ended and not occupant.supervisor:
                raise ServiceUnavailable(
                    f"{name} at {place} has ended, and did not start again; why, it says where it was started"
                )
            time.sleep(_PAUSE_S)
        raise ServiceUnavailable(
            f"{name} at {place} was not ready again within {timeout_s:g} s; what it is at, it says where it was "
            "started; wait longer with --timeout"
        )


def _check(timeout_s: float) -> None:
    if not 0 <= timeout_s < math.inf:
        raise ConfigError(f"timeout={timeout_s!r}; give a number of seconds, 0 or more")


def _reach(stack: ExitStack, place: Endpoint) -> tuple[Connection | None, Occupant | None]:
    """Return a connection to a service, None when it does not answer, and its process, None when it cannot be seen.

    Raises
    ------
    ServiceUnavailable
        When there is neither.
    """
    service, error = None, None
    try:
        service = stack.enter_context(reach(str(place)))
    except ServiceUnavailable as unavailable:
        error = unavailable
    occupant = find_occupant(place)  # only now: one that a supervisor starts again has just come
    if occupant is not None:
        stack.enter_context(occupant)
    elif error is not None:
        raise error
    return service, occupant


def _tell_to_end(
    place: Endpoint, service: Connection | None, occupant: Occupant | None, say: Callable[[str], object]
) -> str | None:
    """Tell a service to end; return its instance if it said that: one that starts, or hangs, hears signals only."""
    if service is not None:
        instance = service.instance
        say(service.stop())
        service.close()
        return instance
    if occupant is not None and not occupant.has_ended:
        try:
            occupant.tell_to_end()
        except PermissionError as error:
            raise ServiceUnavailable(
                f"{_name(occupant)} at {place} does not answer, and is not yours to end"
            ) from error
        say(f"{_name(occupant)} does not answer; it was sent SIGTERM")
    return None


def _name(occupant: Occupant | None) -> str:
    return "the service" if occupant is None else f"service {occupant.pid}"


def _await_gone(place: Endpoint, occupant: Occupant | None, instance: str | None, deadline: float) -> bool:
    """Return whether a service is gone by a time; in another PID namespace, what it removes at its end tells."""
    if occupant is not None:
        return occupant.await_end(deadline)
    while instance is None or instance_directory(instance).exists() or place.path.exists():
        if time.monotonic() >= deadline:
            return False
        time.sleep(_PAUSE_S)
    return True


def _tidy(place: Endpoint, instance: str | None) -> int:
    """Remove what a service left that could not do so itself; return the pid of one that took its place, else 0."""
    found = find_occupant(place)
    if found is not None:
        with found:
            return found.pid
    left = [place.path, place.lock, *([instance_directory(instance)] if instance else [])]
    if any(each.exists() for each in left):
        with contextlib.suppress(OSError, ConfigError):  # another one starts just now, and does the same
            with EndpointLock(place):
                pass
            remove_abandoned()
    return 0


def _still_there(place: Endpoint, occupant: Occupant | None, timeout_s: float) -> str:
    if occupant is None:
        return (
            f"the service at {place} was told to end and is still there after {timeout_s:g} s; wait longer with "
            "--timeout, or end it where it runs: its process cannot be seen from here"
        )
    return (
        f"{_name(occupant)} at {place} was told to end and is still there after {timeout_s:g} s; wait longer with "
        f"--timeout, see with `ps -o stat,wchan {occupant.pid}` what holds it, or end it with `kill -9 {occupant.pid}`"
    )


def _ready_with(place: Endpoint, before: str, timeout_s: float) -> str:
    """Return what a service serves, once another one than before answers and all its workers take tasks; else ""."""
    try:
        with Connection(str(place), timeout_s=timeout_s) as service:
            if service.instance == before:
                return ""
            status = service.status()
    except LoaderError:
        return ""
    starting = any(worker.state == "starting" for worker in status.workers)
    return "" if starting or not status.workers else status.serves
