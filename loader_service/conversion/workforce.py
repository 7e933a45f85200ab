"""Has pieces done by worker processes, several side by side; knows nothing of what a piece is."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import time
from collections import deque
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from loader_service import errors
from loader_service.children import ONE_THREAD, Child, command, environment, readable
from loader_service.conversion.pieces import Piece, PieceOutcome
from loader_service.errors import WorkerDied
from loader_service.lifeline import arguments_for

#: How long nothing may happen without a look at the time, in seconds.
_LONGEST_WAIT_S = 0.5

#: How long a process that can say no more may take to end, in seconds.
_END_S = 5.0

#: Gives the folder in which a piece is written; None where nothing is.
FolderOf = Callable[[int], Path | None]

#: Called with a piece that is done.
OnDone = Callable[[Piece, PieceOutcome], object]

#: Called with the number of bytes that all pieces have read up to now.
OnBytes = Callable[[int], object]


class Workforce:
    """Worker processes of one conversion; used by one thread, which must live as long: they end with it.

    Parameters
    ----------
    module
        What they run: its `main` calls `piece_server.serve_pieces`.
    options
        A dataclass that they are told at their start, of what JSON can say.
    processes
        How many at most.
    timeout_s
        How long one of them may say nothing: they say at each sample how far they are.
    """

    def __init__(self, module: str, options: Any, processes: int, timeout_s: float = 600.0) -> None:
        self._words = command(module, *arguments_for(options))
        self._processes = processes
        self._timeout_s = timeout_s

    def run(self, pieces: Sequence[Piece], folder_of: FolderOf, on_done: OnDone, on_bytes: OnBytes) -> None:
        """Have all pieces done, in order as far as they are begun; the first error ends all processes.

        Raises
        ------
        LoaderError
            What a worker raised; what `folder_of` and `on_done` raise.
        WorkerDied
            When a process ends, or says nothing for too long.
        """
        waiting = deque(pieces)
        done_bytes = 0
        with ExitStack() as stack:
            count = min(self._processes, len(pieces))
            workers = [stack.enter_context(_Converter(self._words)) for _ in range(count)]
            while waiting or any(each.piece for each in workers):
                for worker in workers:
                    if worker.piece is None and waiting:
                        piece = waiting.popleft()
                        worker.ask(piece, folder_of(piece.number))
                readable([each for worker in workers for each in worker.child.outputs], _LONGEST_WAIT_S)
                for worker in workers:
                    asked, outcome = worker.piece, worker.listen(self._timeout_s)
                    if asked is not None and outcome is not None:
                        done_bytes += asked.size_bytes
                        on_done(asked, outcome)
                on_bytes(done_bytes + sum(each.read_bytes for each in workers))


class _Converter:
    """One worker process and the piece that it is at; a context manager."""

    def __init__(self, words: Sequence[str]) -> None:
        self.child = Child(words, environment(**ONE_THREAD), stdin=subprocess.PIPE)
        self.piece: Piece | None = None
        self.read_bytes = 0
        self._received = b""
        self._heard = time.monotonic()

    def __enter__(self) -> _Converter:
        return self

    def __exit__(self, *_: object) -> None:
        self.child.close()

    def ask(self, piece: Piece, folder: Path | None) -> None:
        """Give it a piece."""
        self.piece, self.read_bytes, self._heard = piece, 0, time.monotonic()
        line = (
            json.dumps({"task": piece.task, "folder": None if folder is None else str(folder)}).encode("ascii") + b"\n"
        )
        with contextlib.suppress(BrokenPipeError):  # it has ended, which is seen at the next turn
            view = memoryview(line)
            while view:
                view = view[os.write(self.child.stdin, view) :]

    def listen(self, timeout_s: float) -> PieceOutcome | None:
        """Return what came of its piece, if it is done; raises what it raised, and WorkerDied."""
        self.child.errors.read()  # else it could not go on
        *lines, self._received = (self._received + self.child.out.read()).split(b"\n")
        for line in lines:
            self._heard = time.monotonic()
            said = json.loads(line)
            if "error" in said:
                raise errors.from_name(said["error"], said["message"])
            if "entries" in said:
                self.piece, self.read_bytes = None, 0
                return PieceOutcome.of_json(said)
            self.read_bytes = int(said["bytes"])
        if not self.child.out.is_open:
            self.child.wait(_END_S)
            raise WorkerDied(f"a process that converts {self._at()} {self.child.cause()}; {_AGAIN}")
        if self.piece is not None and time.monotonic() - self._heard > timeout_s:
            raise WorkerDied(f"a process that converts {self._at()} said nothing for {timeout_s:g} s; {_AGAIN}")
        return None

    def _at(self) -> str:
        return "nothing yet" if self.piece is None else repr((*self.piece.targets, "nothing")[0])


_AGAIN = "look at memory and disks, and run the same command again: what is finished stays"
