"""One life of a private service: its process, what it says, and its end; knows nothing of the next life."""

from __future__ import annotations

import _thread
import os
import signal
import threading
import time
from collections.abc import Callable, Sequence

from loader_service.children import Child, environment
from loader_service.errors import LoaderError, ServiceUnavailable, from_name

#: Beginnings of the two lines that a service started for another program writes to its standard output.
READY, FAILED = "ready: ", "failed: "

#: Beginning of the lines before those: how many files have been scanned, and how many there are.
SCANNED = "scanned: "

#: How long an ending service may take to drain before it is killed, in seconds.
_STOP_S = 15.0

#: How much of what it says on its standard output is kept, in bytes.
_SAID_BYTES = 8_192

_STANDARD_ERROR = 2

#: How often who waits for a service to be ready looks whether it is a forked child by now, in seconds.
_LOOK_EVERY_S = 0.5


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
    owner_pid
        The process whose service it is.
    progress
        Called with the number of files that have been scanned, and of all, by the thread that waits.

    Raises
    ------
    LoaderError
        When this is a forked child of the owner.
    OSError
        When the system has no process, memory, thread or descriptor left for it.
    """

    def __init__(
        self, command: Sequence[str], owner_pid: int, progress: Callable[[int, int], object] | None = None
    ) -> None:
        self._progress = progress
        self._owner_pid = owner_pid
        self._child = self._start(command)
        self._said = b""  # on standard output, up to a bound

    @property
    def pid(self) -> int:
        """Its pid."""
        return self._child.pid

    @property
    def code(self) -> int | None:
        """How it ended; None while it runs."""
        return self._child.code

    @property
    def cause(self) -> str:
        """How it ended, in words that follow its name."""
        return self._child.cause(self._failed_line() or None)

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
        self.check_owner()
        if self._said.startswith(READY.encode()):
            return
        failed = self._failed_line()
        if failed:
            self._child.wait(_STOP_S)  # it is about to end by itself; a signal now would only be noise
            raise _error_of(failed)
        self._child.wait(_STOP_S)
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
        if os.getpid() == self._owner_pid:
            self._child.send(signal.SIGTERM)
            deadline = time.monotonic() + _STOP_S
            while not self._has_ended() and (left_s := deadline - time.monotonic()) > 0:
                self._listen(None, left_s)  # a service whose words nobody reads could not come to its end
        self._child.close()

    def _start(self, command: Sequence[str]) -> Child:
        """Return the process, which a thread has started.

        A signal handler runs in the main thread, in the middle of anything, and may fork: a child that it forks amid a
        start would start the service too, at the same endpoint. No handler runs in a thread, and no child has it. It is
        not one of `threading`, which waits for a thread to begin: in such a child, for ever.
        """
        outcome: list[Child | Exception] = []
        unfinished = threading.Lock()
        unfinished.acquire()

        def start() -> None:
            try:
                self.check_owner()
                outcome.append(Child(command, environment()))
            except Exception as error:  # noqa: BLE001 - raised by who waits for it
                outcome.append(error)
            finally:
                unfinished.release()

        _thread.start_new_thread(start, ())
        try:
            while not unfinished.acquire(timeout=_LOOK_EVERY_S):
                self.check_owner()
        except KeyboardInterrupt:
            while not outcome:  # the lock may have been had already
                unfinished.acquire(timeout=_LOOK_EVERY_S)
            for child in outcome:
                if isinstance(child, Child):
                    child.close()
            raise
        if isinstance(outcome[0], Exception):
            raise outcome[0]
        return outcome[0]

    def _has_ended(self) -> bool:
        if self._child.code is None:
            return False
        if os.getpid() == self._owner_pid:
            self._read()  # what it said last
        return True

    def _listen(self, wake: int | None, timeout_s: float | None) -> None:
        """Wait for a word of it, for its end, or for its owner's."""
        ready = self._child.listen(timeout_s, *(() if wake is None else (wake,)))
        self.check_owner()
        if wake in ready:
            raise Interrupted
        self._read()

    def check_owner(self) -> None:
        """Raise LoaderError in a forked child of the owner, such as a signal handler makes in the middle of a wait."""
        if os.getpid() != self._owner_pid:
            raise LoaderError(
                f"this private service belongs to process {self._owner_pid}, and this is its forked child "
                f"{os.getpid()}; connect again in the child"
            )

    def _read(self) -> None:
        self._said = self._without_progress(self._said + self._child.out.read())[:_SAID_BYTES]
        words = self._child.errors.read()
        while words:
            try:
                words = words[os.write(_STANDARD_ERROR, words) :]
            except OSError:
                return  # this process has no standard error that takes them

    def _without_progress(self, said: bytes) -> bytes:
        """Take the lines about the scan out of what it said, and pass on the last one."""
        while said.startswith(SCANNED.encode()) and b"\n" in said:
            line, _, said = said.partition(b"\n")
            done, total = line.removeprefix(SCANNED.encode()).split()
            if self._progress is not None:
                self._progress(int(done), int(total))
        return said

    def _failed_line(self) -> str:
        """Return what it said was wrong, ``Kind: message``; empty when it said nothing of the kind."""
        lines = self._said.decode("utf-8", "replace").splitlines()
        return next((line.removeprefix(FAILED) for line in lines if line.startswith(FAILED)), "")


def _error_of(failed: str) -> LoaderError:
    name, _, message = failed.partition(": ")
    return from_name(name, message)
