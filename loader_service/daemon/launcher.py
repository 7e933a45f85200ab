"""Starts a private service as a process of its own, and ends it; runs in the trainer, so it imports nothing heavy."""

from __future__ import annotations

import dataclasses
import os
import secrets
import select
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence

from loader_service import endpoint as endpoints
from loader_service.config import ServiceConfig
from loader_service.errors import ServiceUnavailable, from_name
from loader_service.oom import OomWatch

#: Beginnings of the two lines that a service started for another program writes to its standard output.
READY, FAILED = "ready: ", "failed: "

#: How long an ending service may take to drain before it is killed, in seconds.
_STOP_S = 15.0


class PrivateService:
    """A service for this process alone: it watches this process and ends with it, however that ends.

    Parameters
    ----------
    files
        File names or patterns.
    options
        More options of ``loader-service start``, by name without dashes: ``{"workers": "4"}``. A list gives its option
        several times; a flag is given by ``"True"``.
    timeout_s
        How long it may take to be ready; scanning many files takes minutes the first time.

    Raises
    ------
    LoaderError
        What the service said was wrong, under the class it had there.
    ServiceUnavailable
        When it was not ready in time, or ended without a word.
    """

    def __init__(self, files: Sequence[str], options: Mapping[str, str | Sequence[str]], timeout_s: float) -> None:
        name = f"private-{os.getpid()}-{secrets.token_hex(4)}.sock"
        self.endpoint = str(endpoints.Endpoint(endpoints.runtime_directory() / name))
        flags = [
            flag
            for key, one_or_more in options.items()
            for value in ([one_or_more] if isinstance(one_or_more, str) else one_or_more)
            for flag in _flag(key, value)
        ]
        command = [sys.executable, "-m", "loader_service", "start", "--embedded", f"--lifeline-pid={os.getpid()}"]
        self._oom = OomWatch()
        self._process = subprocess.Popen(
            [*command, f"--endpoint={self.endpoint}", *flags, "--", *files],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            start_new_session=True,  # Ctrl-C at the terminal is the trainer's, which then ends the service
        )
        try:
            self._await_ready(timeout_s)
        except BaseException:
            self.stop()
            raise

    @property
    def pid(self) -> int:
        """The service's pid."""
        return self._process.pid

    def stop(self) -> None:
        """End the service; harmless when it has ended."""
        if self._process.poll() is None:
            self._process.terminate()
        try:
            self._process.wait(_STOP_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        if self._process.stdout is not None:
            self._process.stdout.close()

    def _await_ready(self, timeout_s: float) -> None:
        line = self._first_line(timeout_s)
        if line.startswith(FAILED):
            name, _, message = line.removeprefix(FAILED).partition(": ")
            self._process.wait(_STOP_S)  # it is about to end by itself; a signal now would only be noise
            raise from_name(name, message)
        if not line.startswith(READY):
            code = self._process.wait(_STOP_S)
            raise ServiceUnavailable(
                f"the private service ended with code {code}{self._oom.explain(code)}, saying {line!r}"
            )

    def _first_line(self, timeout_s: float) -> str:
        assert self._process.stdout is not None  # noqa: S101 - it is a pipe
        descriptor = self._process.stdout.fileno()
        deadline = time.monotonic() + timeout_s
        text = b""
        while b"\n" not in text:
            if not select.select([descriptor], [], [], max(0.0, deadline - time.monotonic()))[0]:
                raise ServiceUnavailable(
                    f"the private service was not ready within {timeout_s:g} s; raise start_timeout_s, "
                    "or run `loader-service inspect` on the files once, which fills the cache"
                )
            piece = os.read(descriptor, 65_536)
            if not piece:
                break
            text += piece
        return text.decode("utf-8", "replace").partition("\n")[0]


def _flag(key: str, value: str) -> list[str]:
    """Return an option as the command line has it."""
    name = f"--{key.replace('_', '-')}"
    is_switch = any(
        field.name == key and isinstance(field.default, bool) for field in dataclasses.fields(ServiceConfig)
    )
    if is_switch and value in {"True", "False"}:
        return [name] if value == "True" else []
    return [f"{name}={value}"]
