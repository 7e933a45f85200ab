"""Begins the reads of tasks that wait, so that a slow disk's latency passes while others are decoded. Knows no frame.

Where bytes lie that a task needs is known when it comes. What touches, or nearly does, is one read; threads read, since
that works on every disk, network file system and store, and many reads may be under way. Nothing waits for memory: a
piece that is needed and not begun yet is begun then.

What is read ahead is only given out when the file was looked at after that, by the reader that asks for it.
"""

from __future__ import annotations

import time
from bisect import bisect_right
from collections import deque
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

from loader_service.worker.read_threads import ReadThreads, ThreadRead

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

#: Bytes between two ranges that are read along, rather than with a read of their own; and the longest piece of several.
_GAP_BYTES, _PIECE_BYTES = 64 * 2**10, 2 * 2**20

#: What is shorter is no part of its own: with what comes next it is copied once more, which takes less than two parts.
_PART_BYTES = 8 * 2**10

#: Bytes that are held, or under way, at a time; and reads under way: at 100 ms a read, 2,560 single frames a second.
MOST_BYTES, MOST_READS = 64 * 2**20, 256

#: What a piece may keep its reader waiting, in seconds; then it is read in the plain way, which tries again.
_PATIENCE_S = 10.0

#: How much of the average the latest read is.
_WEIGHT = 0.1


class ByteRange(NamedTuple):
    """Bytes of a file of the catalog that will be read."""

    file: int
    offset: int
    length: int


#: Given where neighbouring parts of one file begin and end, returns what reads them in any thread; and what is to be
#: called when that has ended.
Opened = tuple[
    "Callable[[Sequence[int], Sequence[int]], Callable[[], Sequence[Any]]]",
    "Callable[[], object]",
]


@dataclass(eq=False)
class _ReadPiece:
    """One read: bytes of one file that some ranges lie in, in parts that are given out."""

    file: int
    starts: list[int]  # of its parts, in order; no two overlap
    ends: list[int]
    place: int  # of the first range in it, in the order in which they are needed
    wanted: int  # bytes of its ranges that nobody has taken yet
    read: ThreadRead | None = None
    parts: Sequence[Any] | None = None  # once they are there
    is_dropped: bool = False

    @property
    def size(self) -> int:
        """How many bytes are read."""
        return self.ends[-1] - self.starts[0]

    def part(self, parts: Sequence[Any], offset: int) -> tuple[Any, int]:
        """Return the part that a byte lies in, or comes after, and where it lies in that."""
        number = bisect_right(self.starts, offset) - 1
        return parts[number], offset - self.starts[number]


@dataclass
class _TaskPieces:
    """The pieces of one task."""

    pieces: list[_ReadPiece]
    starts: dict[int, list[int]] = field(default_factory=dict)  # by file, with `by_file` in the same order
    by_file: dict[int, list[_ReadPiece]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for piece in self.pieces:
            self.by_file.setdefault(piece.file, []).append(piece)
        self.starts = {file: [piece.starts[0] for piece in pieces] for file, pieces in self.by_file.items()}

    def find(self, file: int, offset: int) -> _ReadPiece | None:
        """Return the piece that holds a byte."""
        number = bisect_right(self.starts.get(file, ()), offset) - 1
        piece = self.by_file[file][number] if number >= 0 else None
        return piece if piece is not None and offset < piece.ends[-1] and not piece.is_dropped else None


class ReadAhead:
    """Reads of the tasks of one worker; used by one thread.

    Parameters
    ----------
    open_file
        Given the number of a file, returns what reads it; None when the file cannot be opened now.
    is_in_memory
        Told file, offset and length: whether these bytes can be read without waiting. Then no thread reads them.
    most_bytes
        That are held, or being read, at a time. A longer range is not read ahead.

    Attributes
    ----------
    latency_s
        How long a read took of late, from its beginning to its end.
    waited_s
        How long `read` and `fill` have waited in all.
    """

    def __init__(
        self,
        open_file: Callable[[int], Opened | None],
        is_in_memory: Callable[[int, int, int], bool] = lambda *_: False,
        most_bytes: int = MOST_BYTES,
    ) -> None:
        self._open_file = open_file
        self._is_in_memory = is_in_memory
        self._most_bytes = most_bytes
        self._threads: ReadThreads | None = None
        self._plans: dict[int, _TaskPieces] = {}
        self._current: _TaskPieces | None = None
        self._waiting: deque[_ReadPiece] = deque()
        self._held = 0
        self.latency_s = 0.0
        self.waited_s = 0.0

    def expect(self, task: int, ranges: Iterable[ByteRange]) -> None:
        """Begin the reads of a task that will come; of one that is expected already, nothing happens.

        Parameters
        ----------
        task
            Its number; tasks come in the order in which they are expected.
        ranges
            What it reads, in the order in which it does.
        """
        if task not in self._plans:
            # A look for each read, not for each range: in a clip of 16 frames they took a twentieth of its decoding.
            merged = _merged(ranges, self._most_bytes)
            pieces = [each for each in merged if not self._is_in_memory(each.file, each.starts[0], each.size)]
            plan = self._plans[task] = _TaskPieces(pieces)
            self._waiting.extend(sorted(plan.pieces, key=lambda piece: piece.place))
            self._begin_more()

    def expects(self, task: int) -> bool:
        """Tell whether a task is expected."""
        return task in self._plans

    @property
    def has_some(self) -> bool:
        """Whether there is anything to read ahead for the present task."""
        return self._current is not None and bool(self._current.pieces)

    def begin(self, task: int) -> None:
        """Come to a task, whether it is expected or not."""
        self._current = self._plans.get(task)

    def end(self, task: int) -> bool:
        """Leave a task: what nobody took is dropped; return whether there was anything to read ahead."""
        self._current = None
        plan = self._plans.pop(task, None)
        if plan is None or not plan.pieces:
            return False
        for piece in plan.pieces:
            self._drop(piece)
        self._begin_more()
        return True

    def drop_file(self, file: int) -> None:
        """Forget what was read of a file, since it may be another one now."""
        for plan in self._plans.values():
            for piece in plan.by_file.get(file, ()):
                self._drop(piece)

    def read(self, file: int, offset: int, length: int) -> bytes | None:
        """Return bytes that were expected; None where they were not, or could not be read: the caller reads them."""
        piece = self._current.find(file, offset) if self._current else None
        parts = self._parts(piece) if piece is not None else None
        if piece is None or parts is None:
            return None
        part, begin = piece.part(parts, offset)
        if begin + length > len(part):
            return None
        is_whole = type(part) is bytes and len(part) == length
        found = part if is_whole else bytes(memoryview(part)[begin : begin + length])
        self._taken(piece, length)
        return found

    def fill(self, file: int, offset: int, out: Any) -> bool:
        """Fill memory, ``(bytes,) uint8``, with bytes that were expected, of one piece or several; False as above."""
        done, pieces = 0, []
        while done < len(out):
            piece = self._current.find(file, offset + done) if self._current else None
            parts = self._parts(piece) if piece is not None else None
            if piece is None or parts is None:
                return False
            part, begin = piece.part(parts, offset + done)
            some = memoryview(part)[begin : begin + len(out) - done]
            if not len(some):
                return False
            out[done : done + len(some)] = some
            pieces.append((piece, len(some)))
            done += len(some)
        for piece, part in pieces:
            self._taken(piece, part)
        return True

    def close(self) -> None:
        """Drop everything, and end the threads that have nothing to do."""
        for task in list(self._plans):
            self.end(task)
        if self._threads is not None:
            self._threads.close()
            self._threads = None

    # ---- inside

    def _begin_more(self) -> None:
        while self._waiting:
            piece = self._waiting[0]
            if not piece.is_dropped and piece.read is None:
                if self._held and self._held + piece.size > self._most_bytes:
                    return
                self._begin(piece)
            self._waiting.popleft()

    def _begin(self, piece: _ReadPiece) -> None:
        opened = self._open_file(piece.file)
        if opened is None:
            piece.is_dropped = True
            return
        if self._threads is None:
            self._threads = ReadThreads(MOST_READS)
        prepare, after = opened
        self._held += piece.size
        piece.read = ThreadRead(prepare(piece.starts, piece.ends), after)
        self._threads.begin(piece.read)

    def _parts(self, piece: _ReadPiece) -> Sequence[Any] | None:
        """Return a piece's parts; None when they could not be read."""
        if piece.parts is not None:
            return piece.parts
        if piece.read is None:
            self._begin(piece)
        if piece.read is None:
            return None
        began = time.monotonic()
        try:
            parts = piece.read.result(_PATIENCE_S)
        except OSError:
            self._drop(piece)  # the caller's own read tries again, and says what is wrong
            return None
        finally:
            self.waited_s += time.monotonic() - began
        seconds = piece.read.seconds
        self.latency_s += _WEIGHT * (seconds - self.latency_s) if self.latency_s else seconds
        piece.parts = parts
        return piece.parts

    def _taken(self, piece: _ReadPiece, length: int) -> None:
        piece.wanted -= length
        if piece.wanted <= 0:
            self._drop(piece)
            self._begin_more()

    def _drop(self, piece: _ReadPiece) -> None:
        """Let go of a piece; the thread that is at it ends on its own."""
        if not piece.is_dropped and piece.read is not None:
            piece.read.cancel()
            self._held -= piece.size
        piece.is_dropped, piece.read, piece.parts = True, None, None


def _merged(ranges: Iterable[ByteRange], most_bytes: int) -> list[_ReadPiece]:
    """Return the reads that bring some ranges, by file and place: those that lie near each other are one."""
    pieces: list[_ReadPiece] = []
    placed = sorted((each, place) for place, each in enumerate(ranges) if 0 < each.length <= most_bytes)
    for (file, offset, length), place in placed:
        end = offset + length
        last = pieces[-1] if pieces else None
        last_end = last.ends[-1] if last is not None else 0
        if (
            last is None
            or last.file != file
            or offset > last_end + _GAP_BYTES
            or (end > last_end and end - last.starts[0] > _PIECE_BYTES)
        ):
            pieces.append(_ReadPiece(file, [offset], [end], place, length))
            continue
        if offset < last_end or max(last_end - last.starts[-1], offset - last_end) < _PART_BYTES:
            last.ends[-1] = max(last_end, end)
        else:
            last.starts.append(offset)
            last.ends.append(end)
        last.place = min(last.place, place)
        last.wanted += length
    return pieces
