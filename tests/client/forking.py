"""A trainer that forks at random moments, while a stream opens and while batches come; run as a program of its own.

Arguments: an endpoint, who forks, and how often. Each child does one thing with what its parent has open, and is to end
within seconds: in the error that names the fork, or, where it only closes, without a word. The last line says what the
parent got meanwhile.
"""

from __future__ import annotations

import gc
import itertools
import os
import random
import signal
import sys
import threading
import time
import traceback
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import loader_client
from loader_client import Clip, Connection, LoaderError, Spec

#: How long a child may take, in seconds; on a busy machine a process takes a second to end.
_CHILD_S = 60

#: The longest time from the beginning of an opening to the fork, in seconds.
_LATEST_S = 0.03

#: Steps that are fetched from each stream.
_STEPS = 3

SPEC = Spec(4, Clip(frames=4), prefetch=4)
OPTIONS: dict[str, Any] = {"clip": SPEC.clip, "prefetch": SPEC.prefetch, "epochs": None}


class Trainer:
    """What a child finds open: a connection, a stream, an iterator that has given a batch, and that batch.

    Parameters
    ----------
    endpoint
        Of a running service.
    """

    def __init__(self, endpoint: str) -> None:
        self.connection = loader_client.connect(endpoint)
        self.stream = self.connection.open(SPEC)
        self.batches = self.connection.batches(4, **OPTIONS)
        self.batch = next(self.batches)

    def named(self) -> dict[str, Callable[[], object]]:
        """Return what a child may try that ends in the error."""
        connection, stream = self.connection, self.stream
        return {
            "next": lambda: next(self.batches),
            "batches": lambda: next(connection.batches(4, **OPTIONS)),
            "open": lambda: connection.open(SPEC),
            "fetch": lambda: stream.fetch(0, 1),
            "status": connection.status,
            "catalog": lambda: connection.catalog,
            "scale": lambda: connection.scale(1),
            "stop": connection.stop,
        }

    def silent(self) -> dict[str, Callable[[], object]]:
        """Return what a child may do that is done without a word."""
        return {
            "close the stream": self.stream.close,
            "drop the stream": lambda: self.connection.drop(self.stream),
            "close the iterator": self.batches.close,
            "close the connection": self.connection.close,
            "leave the connection": self.connection.__exit__,
            "release the batch": self.batch.clear,
            "forget everything": self._forget_everything,
            "exit": sys.exit,
        }

    def _forget_everything(self) -> None:
        del self.connection, self.stream, self.batches, self.batch
        gc.collect()


def child(trainer: Trainer, what: str) -> int:
    """Do one thing in a forked child, and return its exit code; 1 is a failure."""
    silent = trainer.silent()
    if what in silent:
        silent[what]()
        return 0
    try:
        trainer.named()[what]()
    except LoaderError as error:
        expected = f"belongs to process {os.getppid()}, and this is its forked child {os.getpid()}"
        if expected in str(error):
            return 0
        print(f"{what}: {error}", file=sys.stderr, flush=True)
    return 1


def fork(trainer: Trainer, what: str) -> int:
    """Fork, and return the child's pid; the child never returns."""
    pid = os.fork()
    if pid:
        return pid
    code = 1
    try:
        signal.signal(signal.SIGALRM, signal.SIG_DFL)
        signal.alarm(_CHILD_S)
        code = child(trainer, what)
    except SystemExit:
        if threading.current_thread() is threading.main_thread():
            raise  # with all that an interpreter does at its end
        code = 0
    except BaseException:  # noqa: BLE001 - a child must not go on with what its parent does
        traceback.print_exc()
    os._exit(code)


class Opener:
    """Opens streams, and fetches from each, again and again, in a thread or in the main one."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self.began = threading.Event()
        self.over = False
        self.got: list[bytes] = []

    def run(self) -> None:
        """Open until told that it is over."""
        while not self.over:
            self.open_once()

    def open_once(self) -> None:
        """Open a stream, and fetch a few steps."""
        self.began.set()
        batches = self._connection.batches(4, **OPTIONS)
        self.got += [batch["frames"].tobytes() for batch in itertools.islice(batches, _STEPS)]


def forks_of_main_thread(trainer: Trainer, draws: Iterator[tuple[str, float]]) -> tuple[Opener, dict[int, str]]:
    """Fork in the main thread, while another one opens streams and waits for batches."""
    opener, failed = Opener(trainer.connection), {}
    thread = threading.Thread(target=opener.run)
    thread.start()
    for what, delay_s in draws:
        opener.began.clear()
        opener.began.wait()
        time.sleep(delay_s)
        failed.update(ended(fork(trainer, what), what))
    opener.over = True
    thread.join()
    return opener, failed


def forks_of_another_thread(trainer: Trainer, draws: Iterator[tuple[str, float]]) -> tuple[Opener, dict[int, str]]:
    """Fork in a thread, while the main one opens streams and waits for batches."""
    opener, failed = Opener(trainer.connection), {}

    def run() -> None:
        for what, delay_s in draws:
            opener.began.clear()
            opener.began.wait()
            time.sleep(delay_s)
            failed.update(ended(fork(trainer, what), what))
        opener.over = True

    thread = threading.Thread(target=run)
    thread.start()
    opener.run()
    thread.join()
    return opener, failed


def forks_of_signal_handler(trainer: Trainer, draws: Iterator[tuple[str, float]]) -> tuple[Opener, dict[int, str]]:
    """Fork in the main thread in the middle of an opening, in a signal handler; the child goes on with the opening."""
    opener, failed, children = Opener(trainer.connection), {}, []
    parent = os.getpid()

    def handler(*_: object) -> None:
        pid = os.fork()
        if pid:
            children.append(pid)
        else:
            signal.signal(signal.SIGALRM, signal.SIG_DFL)
            signal.alarm(_CHILD_S)

    signal.signal(signal.SIGALRM, handler)
    for _, delay_s in draws:
        signal.setitimer(signal.ITIMER_REAL, max(delay_s, 1e-4))
        try:
            while not children:
                opener.open_once()
        except LoaderError as error:
            os._exit(0 if "its forked child" in str(error) else 1)
        if os.getpid() != parent:
            os._exit(3)
        failed.update(ended(children.pop(), "go on"))
    return opener, failed


def ended(pid: int, what: str) -> dict[int, str]:
    """Wait for a child; return what it did if it did not end well."""
    code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    return {pid: f"{what}: ended with {code}"} if code else {}


_FORKERS = {"main": forks_of_main_thread, "thread": forks_of_another_thread, "handler": forks_of_signal_handler}


def main() -> None:
    """Fork as told, and say what came of it."""
    warnings.simplefilter("ignore", DeprecationWarning)  # newer Pythons warn of forks in processes with threads
    endpoint, who, count = sys.argv[1], sys.argv[2], int(sys.argv[3])
    rng = random.Random(who)
    trainer = Trainer(endpoint)
    kinds = [*trainer.named(), *trainer.silent()]
    draws = ((kinds[number % len(kinds)], rng.uniform(0, _LATEST_S)) for number in range(count))
    opener, failed = _FORKERS[who](trainer, draws)
    assert not failed, sorted(failed.values())
    undisturbed = Opener(trainer.connection)
    undisturbed.open_once()
    assert opener.got == undisturbed.got * (len(opener.got) // _STEPS)
    trainer.connection.close()
    print(f"the parent got {len(opener.got) // _STEPS} times what it should")


if __name__ == "__main__":
    main()
