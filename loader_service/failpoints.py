"""Places at which a test can make a process fail; nothing happens unless the environment names them.

``LOADER_SERVICE_FAILPOINTS`` holds failpoints, separated by ``;``, each of the form ``NAME=ACTION[@COUNT][:FILE]``: the
`COUNT`-th time that a process passes the place called `NAME`, it does `ACTION`. With a `FILE`, only the process that
creates that file does, so one of many workers fails, once. A place may have several failpoints, and one that is passed
with a subject is also called ``NAME[SUBJECT]``. Actions: ``kill``, ``stop``, ``segv``, ``bus``, ``exit``, ``grow``,
which keeps 128 MiB, and ``delay``, which holds for 0.1 s at *every* pass from the `COUNT`-th on.
"""

from __future__ import annotations

import os
import signal
import time
from dataclasses import dataclass
from functools import cache

from loader_service.errors import ConfigError

ENVIRONMENT_VARIABLE = "LOADER_SERVICE_FAILPOINTS"

_SIGNALS = {"kill": signal.SIGKILL, "stop": signal.SIGSTOP, "segv": signal.SIGSEGV, "bus": signal.SIGBUS}
_DELAY_S = 0.1
_GROWTH_BYTES = 2**27

#: What ``grow`` holds on to, as a leak does.
_grown: list[bytes] = []


@dataclass
class _Failpoint:
    action: str
    countdown: int
    once_file: str

    def passed(self) -> None:
        """Count that the process came here, and fail when it is this time's turn."""
        self.countdown -= 1
        if self.countdown > 0 or (self.countdown < 0 and self.action != "delay") or not self._is_ours():
            return
        if self.action == "delay":
            time.sleep(_DELAY_S)
        elif self.action == "grow":
            _grown.append(b"\1" * _GROWTH_BYTES)
        elif self.action == "exit":
            os._exit(1)
        else:
            os.kill(os.getpid(), _SIGNALS[self.action])

    def _is_ours(self) -> bool:
        if not self.once_file:
            return True
        try:
            descriptor = os.open(self.once_file, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600)
        except FileExistsError:
            return False
        os.close(descriptor)
        return True


def passing(name: str, subject: object = None) -> None:
    """Note that this process passes the place called `name`; fail there if the environment says so.

    Parameters
    ----------
    name
        The place.
    subject
        What this process is at there, such as the number of a video.
    """
    points = _points()
    if not points:
        return
    for point in (*points.get(name, ()), *points.get(f"{name}[{subject}]", ())):
        point.passed()


def are_named() -> bool:
    """Return whether the environment names any place, for those who pass one a hundred times in a millisecond."""
    return bool(_points())


@cache
def _points() -> dict[str, list[_Failpoint]]:
    points: dict[str, list[_Failpoint]] = {}
    for text in os.environ.get(ENVIRONMENT_VARIABLE, "").split(";"):
        if text:
            name, point = _parse(text)
            points.setdefault(name, []).append(point)
    return points


def _parse(text: str) -> tuple[str, _Failpoint]:
    name, _, rest = text.partition("=")
    rest, _, once_file = rest.partition(":")
    action, _, count = rest.partition("@")
    actions = (*_SIGNALS, "exit", "delay", "grow")
    if action not in actions or not (count or "1").isdecimal():
        raise ConfigError(
            f"{ENVIRONMENT_VARIABLE}={os.environ[ENVIRONMENT_VARIABLE]!r}: {text!r} is not of the form "
            f"NAME=ACTION[@COUNT][:FILE], with an action of {', '.join(actions)}; correct it, or unset the variable"
        )
    return name, _Failpoint(action, int(count or 1), once_file)
