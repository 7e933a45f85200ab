"""Scans files in other processes, which a damaged file may crash or hang; knows no HDF5, no cache and no catalog.

The processes are started with ``subprocess``, as workers are, and not forked or through ``multiprocessing``: that would
import the main module of whoever calls this, and take its pickles for granted.
"""

from __future__ import annotations

import contextlib
import json
import math
import os
import select
import subprocess
import tempfile
import time
from collections import deque
from dataclasses import asdict
from typing import TYPE_CHECKING

from loader_service.catalog.findings import UNPACK_ERRORS, FileScan, ScanOptions, unpack
from loader_service.catalog.scan_process import HEADER, READY, SCAN
from loader_service.children import ONE_THREAD, command, environment, signal_name
from loader_service.errors import CatalogError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

Outcome = FileScan | CatalogError

#: How long one process scans alone before more are started, and how much work must be left for them, in seconds: one
#: takes about 0.3 s to import h5py and NumPy, and a file of 40 videos 20 ms to scan.
_ALONE_S = 0.5

#: How long a process may take to start, in seconds.
_START_S = 60.0

#: Poll counts milliseconds in a C int, and a deadline may be weeks away.
_LONGEST_WAIT_S = 3600.0

_PIECE_BYTES = 2**20


class ScanPool:
    """Processes that scan files; a context manager that leaves none alive.

    Used by one thread, which must live as long as the pool: the kernel ties the processes to it.

    Parameters
    ----------
    options
        How files are scanned, and how long that may take.
    most
        How many processes there may be at once; the second is started only when scanning takes long.
    """

    def __init__(self, options: ScanOptions, most: int) -> None:
        self._options = options
        self._most = most
        self._processes: list[_Process] = []

    def __enter__(self) -> ScanPool:
        return self

    def __exit__(self, *_: object) -> None:
        for process in self._processes:
            process.end()

    def scan(self, paths: Sequence[str]) -> Iterator[Outcome]:
        """Yield what each file holds, or why it cannot be used, in the order of the paths.

        Raises
        ------
        CatalogError
            When no process can be started.
        """
        waiting = deque(paths)
        outcomes: dict[str, Outcome] = {}
        self._processes.append(_Process(self._options))
        for done, path in enumerate(paths):
            while path not in outcomes:
                outcomes.update(self._turn(waiting))
            spent_s = time.monotonic() - self._processes[0].ready_since
            if spent_s > _ALONE_S and spent_s / (done + 1) * len(waiting) > _ALONE_S:
                more = min(self._most - len(self._processes), len(waiting))
                self._processes += [_Process(self._options) for _ in range(more)]
            yield outcomes.pop(path)

    def _turn(self, waiting: deque[str]) -> dict[str, Outcome]:
        """Wait until something happens to a process; return the outcomes that this brought."""
        answering = self._await()
        outcomes: dict[str, Outcome] = {}
        for number, process in enumerate(self._processes):
            path = process.path
            try:
                outcome = process.attend(has_sent=process.answers in answering)
            except _ProcessLost as lost:
                outcome = _blame(path, lost)
                process.end()
                self._processes[number] = _Process(self._options)
            if path is not None and outcome is not None:
                outcomes[path] = outcome
        for process in self._processes:
            if process.idle and waiting:
                process.ask(waiting.popleft())
        return outcomes

    def _await(self) -> set[int]:
        """Return the descriptors of the processes that have sent something, or ended, before the next deadline."""
        poller = select.poll()
        for process in self._processes:
            poller.register(process.answers, select.POLLIN)
        patience_s = min(process.deadline for process in self._processes) - time.monotonic()
        patience_ms = int(min(max(0.0, patience_s), _LONGEST_WAIT_S) * 1000) + 1
        return {descriptor for descriptor, _ in poller.poll(patience_ms)}


def _blame(path: str | None, lost: _ProcessLost) -> CatalogError:
    """Return what is wrong with the file that a process was lost at; raise it when the process was at none."""
    if path is None:
        raise CatalogError(f"a process that scans files {lost}; check the installation, and free memory") from lost
    return CatalogError(
        f"{path!r}: the process that scanned it {lost}; the file is damaged in a way that the HDF5 library does not "
        "survive: check it with `h5dump -H`, copy it anew, or leave it out"
    )


class _ProcessLost(Exception):
    """A process ended, or takes too long; says which, as the rest of a sentence."""


class _Process:
    """One process, and the file that it is at."""

    def __init__(self, options: ScanOptions) -> None:
        self._timeout_s = options.timeout_s
        self._words = tempfile.TemporaryFile()  # noqa: SIM115 - closed by `end`
        self._popen = _start(options, self._words.fileno())
        assert self._popen.stdin is not None  # noqa: S101 - both are pipes
        assert self._popen.stdout is not None  # noqa: S101
        self._requests = self._popen.stdin.fileno()
        self.answers = self._popen.stdout.fileno()
        self._received = bytearray()
        self._is_ready = False
        self.ready_since = time.monotonic()  # or when it was started
        self.path: str | None = None  # of the file that it is at
        self.deadline = time.monotonic() + _START_S

    @property
    def idle(self) -> bool:
        """Whether it can be given a file."""
        return self._is_ready and self.path is None

    def ask(self, path: str) -> None:
        """Give it a file; not before it is idle."""
        self.path = path
        self.deadline = time.monotonic() + self._timeout_s
        with contextlib.suppress(BrokenPipeError):  # it has ended, and `listen` will say so
            os.write(self._requests, json.dumps(path).encode("ascii") + b"\n")

    def attend(self, *, has_sent: bool) -> Outcome | None:
        """Take in what it has sent; return its answer when that is complete.

        Raises
        ------
        _ProcessLost
            When it has ended, or has had its time.
        """
        if has_sent:
            return self._listen()
        if time.monotonic() > self.deadline:
            limit_s = self._timeout_s if self._is_ready else _START_S
            raise _ProcessLost(f"was not done within {limit_s:g} s, and was killed")
        return None

    def _listen(self) -> Outcome | None:
        piece = os.read(self.answers, _PIECE_BYTES)
        if not piece:
            raise _ProcessLost(self._cause())
        self._received += piece
        if len(self._received) < HEADER.size:
            return None
        kind, length = HEADER.unpack_from(self._received)
        if len(self._received) < HEADER.size + length:
            return None
        body = bytes(self._received[HEADER.size :])
        self._received.clear()
        self.path, self.deadline = None, math.inf
        if kind != READY:
            return _outcome(kind, body)
        self._is_ready, self.ready_since = True, time.monotonic()
        return None

    def end(self) -> None:
        """Kill and reap it; harmless when it has ended."""
        self._popen.kill()
        self._popen.wait()
        for pipe in (self._popen.stdin, self._popen.stdout):
            if pipe is not None:
                pipe.close()
        self._words.close()

    def _cause(self) -> str:
        code = self._popen.wait()
        if code < 0:
            return f"was killed by {signal_name(-code)}"
        self._words.seek(0)
        lines = self._words.read().decode("utf-8", "replace").strip().splitlines()
        return f"exited with code {code}" + (f": {lines[-1][:500]}" if lines else "")


def _start(options: ScanOptions, words: int) -> subprocess.Popen[bytes]:
    arguments = ["--parent-pid", str(os.getpid()), "--options", json.dumps(asdict(options))]
    try:
        return subprocess.Popen(
            command("loader_service.catalog.scan_process", *arguments),
            bufsize=0,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=words,
            env=environment(**ONE_THREAD),
            start_new_session=True,  # Ctrl-C at the terminal is for the process that waits for this one
        )
    except OSError as error:
        raise CatalogError(
            f"cannot start a process to scan files: {error}; end other processes, or raise limits"
        ) from error


def _outcome(kind: bytes, body: bytes) -> Outcome:
    if kind != SCAN:
        return CatalogError(json.loads(body))
    try:
        return unpack(body)
    except UNPACK_ERRORS as error:
        raise _ProcessLost(f"gave an answer that cannot be read ({error})") from error
