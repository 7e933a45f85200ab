"""The processes that this package starts: what they are given, what they say, and how they end."""

from __future__ import annotations

import logging
import math
import os
import select
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterable, Mapping, Sequence
from typing import IO

from loader_service import boot
from loader_service.oom import OomWatch

_LOG = logging.getLogger(__name__)

#: One core each: no library in such a process shall start threads of its own, or reserve memory for them.
ONE_THREAD = dict.fromkeys(("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"), "1")

#: What a user's own code may depend on without knowing: a set of names has the same order in every process.
SAME_EVERYWHERE = {"PYTHONHASHSEED": "0"}

#: Held while a process is started, which takes milliseconds. `Popen` waits until nobody has a pipe of its own open any
#: more: a child that is forked meanwhile would have it until it ends. So forks are to wait for this lock.
STARTING = threading.RLock()

#: Read of one pipe at a time: more than the kernel keeps in it, so nothing is left of a process that has ended.
_PIECE_BYTES, _MOST_BYTES = 2**16, 2**18

#: How much of what a process wrote last is kept, in bytes, and how much of the last line is told, in characters.
_KEPT_BYTES, _TOLD = 8_192, 500

#: Words of a process that was killed tell of its end when they are not older than this, in seconds.
_LAST_MOMENT_S = 5.0

#: How long a killed process may take to end, in seconds: longer only in a system call that never returns.
_REAP_S = 10.0


def command(module: str, *arguments: str) -> list[str]:
    """Return the command that runs a module of this package in a process that never imports from the current folder."""
    safe_path = ["-P"] if sys.version_info >= (3, 11) else []  # before that, `boot` does the same
    return [sys.executable, *safe_path, boot.__file__, module, *arguments]


def environment(**more: str) -> dict[str, str]:
    """Return the environment of such a process: this one's, and more.

    An empty entry in PYTHONPATH, as ``PYTHONPATH=$PYTHONPATH:/mine`` makes it, names the current folder to Python, and
    to nobody who wrote it. All other entries stay.
    """
    inherited = dict(os.environ)
    entries = [entry for entry in inherited.pop("PYTHONPATH", "").split(os.pathsep) if entry]
    if entries:
        inherited["PYTHONPATH"] = os.pathsep.join(entries)
    return {**inherited, **more}


def signal_name(number: int) -> str:
    """Return a signal's name; real-time signals have numbers only."""
    return signal.Signals(number).name if number in set(signal.Signals) else f"signal {number}"


def readable(descriptors: Iterable[int], timeout_s: float | None) -> set[int]:
    """Return those of some descriptors that are readable, as a pidfd is when its process has ended; waits for one.

    Parameters
    ----------
    descriptors
        Any; unlike for ``select``, numbers above 1023 too.
    timeout_s
        How long to wait for the first; None: for as long as it takes.
    """
    poll = select.poll()
    for descriptor in descriptors:
        poll.register(descriptor, select.POLLIN)
    return {each for each, _ in poll.poll(None if timeout_s is None else max(0, math.ceil(timeout_s * 1000)))}


class Output:
    """What a child writes to one of its pipes; the end of it is kept. Used by one thread.

    Attributes
    ----------
    descriptor
        Becomes readable when there is something to read; -1 without a pipe.
    is_open
        Whether anything can still come.
    heard_at
        When something came last, by the monotonic clock.
    """

    def __init__(self, pipe: IO[bytes] | None) -> None:
        self.is_open = pipe is not None
        self.descriptor = -1 if pipe is None else pipe.fileno()
        self.heard_at = -math.inf
        self._end = b""
        if pipe is not None:
            os.set_blocking(self.descriptor, False)

    def read(self) -> bytes:
        """Return what has come, up to a bound; nothing when nothing has."""
        pieces: list[bytes] = []
        while self.is_open and sum(map(len, pieces)) < _MOST_BYTES:
            try:
                piece = os.read(self.descriptor, _PIECE_BYTES)
            except BlockingIOError:
                break
            self.is_open = bool(piece)
            pieces.append(piece)
        text = b"".join(pieces)
        if text:
            self.heard_at = time.monotonic()
            self._end = (self._end + text[-_KEPT_BYTES:])[-_KEPT_BYTES:]
        return text

    @property
    def last_line(self) -> str:
        """The last line that is not empty, cut to what is worth telling; "" when there is none."""
        lines = self._end.decode("utf-8", "replace").replace("\r", "\n").splitlines()
        return next((line.strip()[:_TOLD] for line in reversed(lines) if line.strip()), "")


class Child:
    """A process that this one has started; a context manager that leaves nothing of it behind.

    It has a session of its own: Ctrl-C at the terminal is for this process, which then ends it.

    Parameters
    ----------
    words
        The command.
    variables
        Its environment.
    stdin
        As `subprocess.Popen` takes it.
    output
        Likewise, for its standard output and its standard error.
    pass_fds
        Descriptors that it inherits.
    oom
        Of those whose children the kernel may have killed before; by default one of its own.

    Attributes
    ----------
    out, errors
        What it writes to its standard output and to its standard error.
    pid
        Its pid.
    pidfd
        Readable when it has ended.

    Raises
    ------
    OSError
        When the system has no process, memory or descriptor left for it.
    """

    def __init__(
        self,
        words: Sequence[str],
        variables: Mapping[str, str],
        *,
        stdin: int | None = subprocess.DEVNULL,
        output: int | None = subprocess.PIPE,
        pass_fds: Sequence[int] = (),
        oom: OomWatch | None = None,
    ) -> None:
        self._owner_pid = os.getpid()
        self._oom = OomWatch() if oom is None else oom
        self._why: str | None = None  # it was killed for want of memory; asked once
        with STARTING:
            self._popen = subprocess.Popen(
                words,
                bufsize=0,
                stdin=stdin,
                stdout=output,
                stderr=output,
                env=variables,
                start_new_session=True,
                pass_fds=pass_fds,
            )
        self.pid = self._popen.pid
        self.out, self.errors = Output(self._popen.stdout), Output(self._popen.stderr)
        self.stdin = -1 if self._popen.stdin is None else self._popen.stdin.fileno()
        self.pidfd = -1
        try:
            self.pidfd = os.pidfd_open(self.pid)
        except OSError:  # no descriptor is left: there must be no process whose end nobody would see
            self.close()
            raise

    def __enter__(self) -> Child:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def code(self) -> int | None:
        """How it ended, negative for a signal; None while it runs."""
        return self._popen.poll()

    @property
    def outputs(self) -> list[int]:
        """The descriptors on which it can still say something."""
        return [each.descriptor for each in (self.out, self.errors) if each.is_open]

    def listen(self, timeout_s: float | None, *others: int) -> set[int]:
        """Wait until it has said something or ended, or another descriptor is readable; return what is readable."""
        return readable((self.pidfd, *self.outputs, *others), timeout_s)

    def wait(self, timeout_s: float) -> bool:
        """Return whether it has ended within a time."""
        if self.code is None:
            readable([self.pidfd], timeout_s)
        return self.code is not None

    def send(self, number: int) -> None:
        """Send it a signal; harmless when it has ended, and in a forked child of this process, whose it is not."""
        if os.getpid() == self._owner_pid:
            self._popen.send_signal(number)

    def end_input(self) -> None:
        """Close its standard input: a program that reads it ends by that; harmless when that was done."""
        if self._popen.stdin is not None:
            self._popen.stdin.close()

    def kill(self) -> None:
        """Kill it; harmless when it has ended."""
        self.send(signal.SIGKILL)

    def cause(self, said: str | None = None) -> str:
        """Return how it ended, in words that follow its name: the one place that words it.

        Parameters
        ----------
        said
            What it said of its end; None: the last line of its standard error.
        """
        self.errors.read()
        code, said = self.code, self.errors.last_line if said is None else said
        if code is None:
            return "says nothing more, and has not ended"
        if code >= 0:
            return f"exited with code {code}: {said}" if said else f"exited with code {code}"
        if self._why is None:
            self._why = self._oom.explain(code)
        if not said or time.monotonic() - self.errors.heard_at > _LAST_MOMENT_S:
            return f"was killed by {signal_name(-code)}{self._why}"
        return f"was killed by {signal_name(-code)}{self._why}; its last words: {said}"

    def close(self) -> None:
        """Kill it if it lives, reap it, and close what leads to it; harmless when that was done, as `send` is."""
        try:
            self.kill()
            if os.getpid() == self._owner_pid:
                if self.pidfd >= 0:
                    self.wait(_REAP_S)  # `Popen.wait` sleeps between looks, longer each time
                self._popen.wait(_REAP_S if self.pidfd < 0 else 0)
        except subprocess.TimeoutExpired:
            _LOG.warning("process %d was killed, and has not ended within %g s: look at its disk", self.pid, _REAP_S)
        for pipe in (self._popen.stdin, self._popen.stdout, self._popen.stderr):
            if pipe is not None:
                pipe.close()
        self.out.is_open = self.errors.is_open = False
        if self.pidfd >= 0:
            os.close(self.pidfd)
            self.pidfd = -1
