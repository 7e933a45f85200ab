"""A worker process, asked and answering in lines of JSON; knows nothing of what the lines mean."""

from __future__ import annotations

import json
import os
import select
import subprocess
import time
from collections.abc import Sequence
from typing import Any

from loader_service.children import ONE_THREAD, SAME_EVERYWHERE, Child, environment

#: Bytes of a request that are written at once: what a pipe takes.
_PIPE_BYTES = 2**16

#: How long a full pipe is waited for without a look at whether the process lives, in seconds.
_LONGEST_WAIT_S = 1.0

#: How long a process that can say no more may take to end, in seconds.
_END_S = 5.0


class LineWorker:
    """A process that can be started again; used by one thread, which must live as long: the process ends with it.

    Parameters
    ----------
    words
        The command.
    silence_s
        How long it may say nothing while it has work, in seconds.

    Raises
    ------
    OSError
        When the system has no process, memory or descriptor left for it; likewise from `begin_anew`.
    """

    def __init__(self, words: Sequence[str], silence_s: float) -> None:
        self._words, self._silence_s = words, silence_s
        self.begin_anew()

    def begin_anew(self) -> None:
        """Start the process; one before it has ended, by `end` or `close`."""
        self._child = Child(self._words, {**SAME_EVERYWHERE, **environment(**ONE_THREAD)}, stdin=subprocess.PIPE)
        os.set_blocking(self._child.stdin, False)
        self._received = b""
        self._heard = time.monotonic()

    @property
    def pid(self) -> int:
        """Its pid."""
        return self._child.pid

    @property
    def outputs(self) -> list[int]:
        """The descriptors that become readable when it says something."""
        return self._child.outputs

    def tell(self, request: Any) -> None:
        """Send one line, and hear meanwhile what the process says: neither waits for the other for ever."""
        self._heard = time.monotonic()
        child, data = self._child, memoryview(json.dumps(request).encode("ascii") + b"\n")
        while data and not self.is_over(is_busy=True):
            try:
                data = data[os.write(child.stdin, data[:_PIPE_BYTES]) :]
            except BlockingIOError:
                self._hear()
                poll = select.poll()
                poll.register(child.stdin, select.POLLOUT)
                for each in child.outputs:
                    poll.register(each, select.POLLIN)
                poll.poll(_LONGEST_WAIT_S * 1000)
            except BrokenPipeError:  # it has ended, which is seen at the next turn
                return

    def replies(self) -> list[Any]:
        """Return what it has said since the last call; does not wait."""
        self._hear()
        *lines, self._received = self._received.split(b"\n")
        return [json.loads(line) for line in lines]

    def is_over(self, *, is_busy: bool) -> bool:
        """Return whether it can say no more, or has said nothing for too long while it had work."""
        return not self._child.out.is_open or (is_busy and time.monotonic() - self._heard > self._silence_s)

    def end(self, late: str = "") -> str:
        """End what `is_over`, and return why it is, in words that follow its name; `late` says that it was silent."""
        try:
            if self._child.out.is_open:
                return late or f"said nothing for {self._silence_s:g} s"
            self._child.wait(_END_S)
            return self._child.cause()
        finally:
            self._child.close()

    def close(self) -> None:
        """End it; harmless when that was done."""
        self._child.close()

    def _hear(self) -> None:
        self._child.errors.read()  # else it could not go on
        said = self._child.out.read()
        if said:
            self._heard = time.monotonic()
            self._received += said
