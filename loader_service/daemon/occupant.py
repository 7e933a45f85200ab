"""Finds the process that has an endpoint, and waits for its end; asks the kernel, and sends no message.

The pid is in the endpoint's lock file, and counts only while that process has the file open: a number that was left by
a service that died, and is another process's by now, names nobody.
"""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path

from loader_service.children import readable
from loader_service.endpoint import Endpoint
from loader_service.start_command import read_option

#: Bytes of a lock file that are read.
_LONGEST_PID = 32


class Occupant:
    """A process that has an endpoint; a context manager that closes the descriptors by which it is watched.

    Attributes
    ----------
    pid
        Its pid.
    supervisor
        The pid of the process that starts it again when it dies; 0 without one.
    """

    def __init__(self, pid: int) -> None:
        self.pid = pid
        self._pidfd = os.pidfd_open(pid)
        self.supervisor = _supervisor_of(pid)
        try:
            self._supervisor_pidfd = os.pidfd_open(self.supervisor) if self.supervisor else -1
        except ProcessLookupError:
            self.supervisor, self._supervisor_pidfd = 0, -1

    def __enter__(self) -> Occupant:
        return self

    def __exit__(self, *_: object) -> None:
        for descriptor in (self._pidfd, self._supervisor_pidfd):
            if descriptor >= 0:
                os.close(descriptor)

    @property
    def has_ended(self) -> bool:
        """Whether the process is gone."""
        return bool(readable([self._pidfd], 0.0))

    def tell_to_end(self) -> None:
        """Send it what the end of a session sends; harmless when it has ended.

        Raises
        ------
        PermissionError
            When it belongs to somebody else.
        """
        try:
            signal.pidfd_send_signal(self._pidfd, signal.SIGTERM)
        except ProcessLookupError:
            return

    def await_end(self, deadline: float) -> bool:
        """Return whether the process, and its supervisor with it, have ended by a time."""
        descriptors = [each for each in (self._pidfd, self._supervisor_pidfd) if each >= 0]
        return all(readable([each], deadline - time.monotonic()) for each in descriptors)


def find_occupant(place: Endpoint) -> Occupant | None:
    """Return the process that has an endpoint; None when there is none, or none that this user can see."""
    try:
        # Somebody else may have put anything there: a link is not followed, and a pipe not waited for.
        descriptor = os.open(place.lock, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return None
    try:
        pid = int(os.read(descriptor, _LONGEST_PID))
        return Occupant(pid) if pid > 0 and _has_open(pid, os.fstat(descriptor)) else None
    except (OSError, ValueError, OverflowError):
        return None
    finally:
        os.close(descriptor)


def _has_open(pid: int, found: os.stat_result) -> bool:
    for each in Path(f"/proc/{pid}/fd").iterdir():
        try:
            if os.path.samestat(each.stat(), found):
                return True
        except OSError:
            continue  # closed meanwhile
    return False


def _supervisor_of(pid: int) -> int:
    try:
        arguments = Path(f"/proc/{pid}/cmdline").read_text(errors="surrogateescape").split("\0")
    except OSError:
        return 0
    served = read_option(arguments, "lifeline_pid") or ""
    return int(served) if served.isdecimal() and not read_option(arguments, "embedded") else 0
