"""One life of a private service: its process, what it says, and its end; knows nothing of the next life."""

from __future__ import annotations

import contextlib
import functools
import os
import select
import subprocess
import threading
import time
from collections.abc import Sequence

from loader_service.children import cause_of_end, environment
from loader_service.errors import LoaderError, ServiceUnavailable, from_name
from loader_service.oom import OomWatch

#: Beginnings of the two lines that a service started for another program writes to its standard output.
READY, FAILED = "ready: ", "failed: "

#: How long an ending service may take to drain before it is killed, in seconds.
_STOP_S = 15.0

#: How much of what it wrote last is kept, in bytes, and how much of that is told, in letters.
_TAIL_BYTES, _TOLD = 8_192, 500

_STANDARD_ERROR = 2

#: How often who waits for a service to be ready looks whether it is a forked child by now, in seconds.
_LOOK_EVERY_S = 0.5

#: Held while a process is started, which takes milliseconds. `Popen` waits until nobody has a pipe of its own open any
#: more: a child that is forked meanwhile would have it until it ends. So forks are to wait for this lock.
STARTING = threading.RLock()


class EndedBeforeReady(Exception):
    """The process was killed, or ended without a word, before it was ready; the message says how."""


class Interrupted(Exception):
    """Its owner wants no service any more."""


class ServiceProcess:
    """A process that serves its owner. Used by one thread at a time.

    What it writes to its standard error is passed on to that of this process, and the end of it kept. A forked child
    shares the pipes, so it leaves them alone: what it took out, its parent would wait for.

    Parameters
    ----------
    command
        What to run.
    """

    def __init__(self, command: Sequence[str]) -> None:
        self._oom = OomWatch()
        self._owner_pid = os.getpid()
        with STARTING:
            self._popen = subprocess.Popen(
                list(command),
                env=environment(),
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                start_new_session=True,  # Ctrl-C at the terminal is the trainer's, which then ends the service
            )
        assert self._popen.stdout is not None  # noqa: S101 - both are pipes
        assert self._popen.stderr is not None  # noqa: S101
        self._out, self._errors = self._popen.stdout.fileno(), self._popen.stderr.fileno()
        self._said = b""  # on standard output, up to a bound
        self._tail = b""  # of standard error
        try:
            self._pidfd = os.pidfd_open(self._popen.pid)
        except OSError:  # no descriptor is left
            self._popen.kill()
            self._popen.communicate()
            raise
        self._poll = select.poll()  # not `select`, which knows no descriptor above 1023
        for descriptor in (self._out, self._errors):
            os.set_blocking(descriptor, False)
            self._poll.register(descriptor, select.POLLIN)
        self._poll.register(self._pidfd, select.POLLIN)

    @property
    def pid(self) -> int:
        """Its pid."""
        return self._popen.pid

    @property
    def code(self) -> int | None:
        """How it ended; None while it runs."""
        return self._popen.poll()

    @functools.cached_property
    def cause(self) -> str:
        """How it ended, in words that follow its name."""
        lines = self._tail.decode("utf-8", "replace").replace("\r", "\n").splitlines()
        words = next((line.strip() for line in reversed(lines) if line.strip()), "")
        failed = self._failed_line()
        code = self._popen.returncode or 0
        return cause_of_end(code, (failed or words)[-_TOLD:], self._oom.explain(code))

    def await_ready(self, timeout_s: float, wake: int) -> None:
        """Wait until it can be used.

        Parameters
        ----------
        timeout_s
            How long that may take.
        wake
            A descriptor that becomes readable when nobody waits for it any more.

        Raises
        ------
        LoaderError
            What it said was wrong, under the class it had there; or when this is a forked child.
        ServiceUnavailable
            When it was not ready in time.
        EndedBeforeReady, Interrupted
            When it ended without a reason, or `wake` is readable.
        """
        deadline = time.monotonic() + timeout_s
        while b"\n" not in self._said and not self._has_ended():
            left_s = deadline - time.monotonic()
            if left_s <= 0:
                raise ServiceUnavailable(
                    f"the private service was not ready within {timeout_s:g} s; raise start_timeout_s, "
                    "or run `loader-service inspect` on the files once, which fills the cache"
                )
            self._listen(wake, min(left_s, _LOOK_EVERY_S))
        self._check_process()
        if self._said.startswith(READY.encode()):
            return
        failed = self._failed_line()
        if failed:
            with contextlib.suppress(subprocess.TimeoutExpired):
                self._popen.wait(_STOP_S)  # it is about to end by itself; a signal now would only be noise
            raise _error_of(failed)
        self._popen.wait(_STOP_S)
        raise EndedBeforeReady(self.cause)

    def await_end(self, wake: int) -> None:
        """Wait until it has ended, and pass on what it says meanwhile.

        Raises
        ------
        Interrupted
            When `wake` is readable.
        """
        while not self._has_ended():
            self._listen(wake, None)

    def end(self) -> None:
        """End it, reap it, and close the pipes to it; harmless when it has ended."""
        if self._popen.poll() is None:
            self._popen.terminate()
        deadline = time.monotonic() + (_STOP_S if os.getpid() == self._owner_pid else 0.0)
        while not self._has_ended() and (left_s := deadline - time.monotonic()) > 0:
            self._listen(None, left_s)  # a service whose words nobody reads could not come to its end
        if self._popen.poll() is None:
            self._popen.kill()
            self._popen.wait()
        if self._pidfd >= 0:
            os.close(self._pidfd)
            self._pidfd = -1
            for pipe in (self._popen.stdout, self._popen.stderr):
                if pipe is not None:
                    pipe.close()

    def _has_ended(self) -> bool:
        if self._popen.poll() is None:
            return False
        if self._pidfd >= 0 and os.getpid() == self._owner_pid:
            self._read()  # what it said last
        return True

    def _listen(self, wake: int | None, timeout_s: float | None) -> None:
        """Wait for a word of it, for its end, or for its owner's."""
        if wake is not None:
            self._poll.register(wake, select.POLLIN)
        try:
            ready = dict(self._poll.poll(None if timeout_s is None else max(1, int(timeout_s * 1000))))
        finally:
            if wake is not None:
                self._poll.unregister(wake)
        self._check_process()
        if wake in ready:
            raise Interrupted
        self._read()

    def _check_process(self) -> None:
        """Raise LoaderError in a child that a signal handler has forked in the middle of a wait."""
        if os.getpid() != self._owner_pid:
            raise LoaderError(
                f"this private service belongs to process {self._owner_pid}, and this is its forked child "
                f"{os.getpid()}; connect again in the child"
            )

    def _read(self) -> None:
        self._said = (self._said + self._drain(self._out))[:_TAIL_BYTES]
        words = self._drain(self._errors)
        self._tail = (self._tail + words)[-_TAIL_BYTES:]
        while words:
            try:
                words = words[os.write(_STANDARD_ERROR, words) :]
            except OSError:
                return  # this process has no standard error that takes them

    def _drain(self, descriptor: int) -> bytes:
        """Return what a pipe holds."""
        pieces = []
        while True:
            try:
                piece = os.read(descriptor, 65_536)
            except BlockingIOError:
                break
            if not piece:  # closed at the other end: it would be readable for ever
                with contextlib.suppress(KeyError):
                    self._poll.unregister(descriptor)
                break
            pieces.append(piece)
        return b"".join(pieces)

    def _failed_line(self) -> str:
        """Return what it said was wrong, ``Kind: message``; empty when it said nothing of the kind."""
        lines = self._said.decode("utf-8", "replace").splitlines()
        return next((line.removeprefix(FAILED) for line in lines if line.startswith(FAILED)), "")


def _error_of(failed: str) -> LoaderError:
    name, _, message = failed.partition(": ")
    return from_name(name, message)
