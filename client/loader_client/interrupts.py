"""Tells waiting threads of Ctrl-C while the main thread cannot hear of it; knows signals, and not who waits for what.

Python runs signal handlers in the main thread, between two bytecodes. A main thread that is in TensorFlow's C++ and
waits there for a batch comes to none: Ctrl-C would do nothing until the batch is there, which may take as long as a
service may be away. But Python also writes each signal's number to a file descriptor, if it was given one, at once and
whatever the main thread is at. A thread that waits for a batch looks there now and then, and gives up: its error ends
the call in C++, and the `KeyboardInterrupt` that was due is raised in the main thread. (TensorFlow is building its own
exception at that moment, and pybind11 then reports ``… REPLACED BY KeyboardInterrupt`` as a `RuntimeError`. So a batch
that is on its way gets a moment to come: with it the call ends well, and nothing comes between.)

An iterator that runs ahead asks again as soon as a call of its has ended, with an error too. A thread that ends
that iterator, such as the main thread after its `KeyboardInterrupt`, waits in C++ for the new call, which heard of no
Ctrl-C. So what is asked for in the first moments after one is given up as well.

Only SIGINT counts, and only while Python's own handler, which raises, is in place: a program that has another one, to
save a checkpoint and go on, has other plans. There is one such descriptor in a process, and who has set it keeps it.
Ours stays until the process ends or someone else sets one: only the main thread may unset it, and datasets end in any.
"""

from __future__ import annotations

import math
import os
import select
import signal
import socket
import threading
import time

from loader_client.main_thread import is_main_thread

#: How often a waiting thread should look, in seconds: soon enough to seem at once, and no load.
LOOK_EVERY_S = 0.2

#: How long calls that begin after Ctrl-C was heard are still given up, in seconds. An iterator that runs ahead makes
#: them within milliseconds, on a busy machine some time slices.
ECHO_S = 2.0

_UNSET = -1


class Interrupts:
    """Counts the SIGINTs of this process. Any thread may use it."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._pair: tuple[socket.socket, socket.socket] | None = None  # Python writes to the second one
        self._written = select.poll()
        self._count = 0
        self._heard = (0, -math.inf)  # the count that a wait heard of last, and when

    def watch(self) -> None:
        """Count from now on, if this is the main thread, which alone may ask for it, and nobody else has asked."""
        if not is_main_thread():
            return
        if self._pair is None:
            self._pair = _socket_pair()
            self._written.register(self._pair[0], select.POLLIN)
        ours = self._pair[1].fileno()
        before = signal.set_wakeup_fd(ours, warn_on_full_buffer=False)
        if before not in (_UNSET, ours):
            signal.set_wakeup_fd(before)

    @property
    def count(self) -> int:
        """SIGINTs so far that the main thread has to raise. In that thread itself 0: there they are raised anyway."""
        if self._pair is None or is_main_thread():
            return 0
        with self._lock:
            if not self._written.poll(0):
                return self._count  # a tenth of the time that `recv` takes to say so
            numbers = _drain(self._pair[0])
            if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
                self._count += numbers.count(signal.SIGINT)
            return self._count

    def begin_wait(self) -> int:
        """Return what a wait that begins now has to give to `heard_for_s`."""
        return 0 if is_main_thread() else self.count - self.echoes

    @property
    def echoes(self) -> bool:
        """Whether a wait that begins now is given up for the last Ctrl-C that was heard."""
        return time.monotonic() - self._heard[1] < ECHO_S

    def heard_for_s(self, begun: int) -> float | None:
        """Return for how long a wait has known of a Ctrl-C that concerns it; None while there is none."""
        count = self.count
        if count <= begun:
            return None
        now = time.monotonic()
        if count > self._heard[0]:
            self._heard = (count, now)
        return now - self._heard[1]

    def forgive(self) -> None:
        """Have new waits concerned with new SIGINTs only, for what they are part of began after the last one."""
        self._heard = (self._heard[0], -math.inf)

    def forget(self) -> None:
        """Begin anew in a forked child, whose signals are not its parent's."""
        self._lock = threading.Lock()
        self.forgive()
        if self._pair is None:
            return
        now = signal.set_wakeup_fd(_UNSET)
        if now not in (_UNSET, self._pair[1].fileno()):
            signal.set_wakeup_fd(now)
        self._written.unregister(self._pair[0])
        for each in self._pair:
            each.close()
        self._pair = None


#: There is one wakeup descriptor in a process, and so one counter.
INTERRUPTS = Interrupts()
os.register_at_fork(after_in_child=INTERRUPTS.forget)


def _socket_pair() -> tuple[socket.socket, socket.socket]:
    pair = socket.socketpair()
    for each in pair:
        each.setblocking(False)
    return pair


def _drain(source: socket.socket) -> bytes:
    try:
        return source.recv(4096)
    except BlockingIOError:
        return b""
