"""Has pieces done by worker processes, several side by side; knows nothing of what a piece is.

A process that ends, or is silent, over a piece ends the run, unless it is to survive that. Then the piece is done again
by a process that says which part of it it begins; when that one ends too, the part is left out, and the piece done
again. So what crashes by chance, as for want of memory, costs nothing, and pieces that go well are not slowed down.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from contextlib import ExitStack, closing
from pathlib import Path
from typing import Any

from loader_service import errors
from loader_service.children import command, readable
from loader_service.conversion.pieces import Piece, PieceOutcome
from loader_service.errors import WorkerDied
from loader_service.lifeline import arguments_for
from loader_service.line_worker import LineWorker

#: How long nothing may happen without a look at the time, in seconds.
_LONGEST_WAIT_S = 0.5

#: Gives the folder in which a piece is written, made anew; None where nothing is.
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
    survives
        Whether the part of a piece over which processes end is left out.
    silence_s
        How long one of them may say nothing: they say at each sample how far they are.
    """

    def __init__(
        self, module: str, options: Any, processes: int, *, survives: bool = False, silence_s: float = 600.0
    ) -> None:
        self._words = command(module, *arguments_for(options))
        self._processes = processes
        self._survives = survives
        self._silence_s = silence_s

    def run(self, pieces: Sequence[Piece], folder_of: FolderOf, on_done: OnDone, on_bytes: OnBytes) -> None:
        """Have all pieces done, in order as far as they are begun; the first error ends all processes.

        Raises
        ------
        LoaderError
            What a worker raised; what `folder_of` and `on_done` raise.
        WorkerDied
            When a process ends, or says nothing for too long, and that is not survived.
        """
        waiting = deque(pieces)
        done_bytes = 0
        with ExitStack() as stack:
            count = min(self._processes, len(pieces))
            workers = [_Converter(stack.enter_context(closing(self._process()))) for _ in range(count)]
            while waiting or any(each.piece for each in workers):
                for worker in workers:
                    if worker.piece is None and waiting:
                        piece = waiting.popleft()
                        worker.ask(piece, folder_of(piece.number))
                readable([each for worker in workers for each in worker.line.outputs], _LONGEST_WAIT_S)
                for worker in workers:
                    asked, outcome = worker.piece, worker.outcome()
                    if asked is not None and outcome is not None:
                        done_bytes += asked.size_bytes
                        on_done(asked, outcome)
                    elif worker.line.is_over(is_busy=asked is not None):
                        self._replace(worker, folder_of)
                on_bytes(done_bytes + sum(each.read_bytes for each in workers))

    def _process(self) -> LineWorker:
        return LineWorker(self._words, self._silence_s)

    def _replace(self, worker: _Converter, folder_of: FolderOf) -> None:
        """Blame the part at which a process ended, if that is known, and have its piece done again by another."""
        cause, piece = worker.line.end(), worker.piece
        if piece is None or not self._survives or not worker.can_blame(cause):
            where = "nothing yet" if piece is None else repr((*piece.targets, "nothing")[0])
            raise WorkerDied(f"a process that converts {where} {cause}; {_AGAIN}")
        worker.line.begin_anew()
        worker.ask_again(piece, folder_of(piece.number))


class _Converter:
    """One worker process and the piece that it is at."""

    def __init__(self, line: LineWorker) -> None:
        self.line = line
        self.piece: Piece | None = None
        self.read_bytes = 0
        self._tells_parts = False
        self._at: int | None = None
        self._crashed: dict[int, str] = {}

    def ask(self, piece: Piece, folder: Path | None) -> None:
        """Give it a piece."""
        self.piece, self._tells_parts, self._crashed = piece, False, {}
        self._tell(piece, folder)

    def ask_again(self, piece: Piece, folder: Path | None) -> None:
        """Give its piece to the process that has come after it."""
        self._tells_parts = True
        self._tell(piece, folder)

    def can_blame(self, cause: str) -> bool:
        """Return whether its piece can be done by another: for the first time, or without the part it was at."""
        if not self._tells_parts:
            return True
        if self._at is None or self._at in self._crashed:
            return False
        self._crashed[self._at] = f"the process that converted it {cause}"
        return True

    def outcome(self) -> PieceOutcome | None:
        """Return what came of its piece, if it is done; raises what it raised."""
        for said in self.line.replies():
            if "error" in said:
                raise errors.from_name(said["error"], said["message"])
            if "entries" in said:
                self.piece, self.read_bytes = None, 0
                return PieceOutcome.of_json(said)
            if "part" in said:
                self._at = int(said["part"])
            else:
                self.read_bytes = int(said["bytes"])
        return None

    def _tell(self, piece: Piece, folder: Path | None) -> None:
        self.read_bytes, self._at = 0, None
        self.line.tell(
            {
                "task": piece.task,
                "folder": None if folder is None else str(folder),
                "tells_parts": self._tells_parts,
                "crashed": self._crashed,
            }
        )


_AGAIN = (
    "look at memory and disks, and run the same command again: what is finished stays; --on-error skip leaves out "
    "what ends processes"
)
