"""Has units of videos read by processes side by side, and hands them over in their order; reads none itself.

Its processes are a `LineWorker` each, as those of `unpack`, but `Workforce` cannot give them work: where a video is
written depends on the sizes of all before it, so each unit has two steps, the second ones in the order of the units.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import asdict
from typing import Any, NamedTuple

from loader_service.children import command, readable
from loader_service.conversion.write_remedies import OutputError
from loader_service.errors import WorkerDied
from loader_service.lifeline import arguments_for
from loader_service.line_worker import LineWorker
from loader_service.pack.pack_worker import PackWorkerOptions
from loader_service.pack.records import Item, PackedVideo
from loader_service.pack.source_files import known
from loader_service.pack.sources import KIND_NAMED

#: Units that a process is to read: one that it is at, and one that it need not wait for.
_TO_READ = 2

#: Units that a process has at most, those included that wait for their turn to be written: it keeps their bytes.
_TO_HAVE = 6

#: How long a process may give no sign of life while it reads or writes, in seconds.
_SILENCE_S = 300.0

#: How long nothing may happen without a look at the time, in seconds.
_LONGEST_WAIT_S = 1.0


class Failure(NamedTuple):
    """Why an item could not be read."""

    reason: str


class ReadUnit(NamedTuple):
    """A unit that was read: what each of its items became."""

    number: int
    items: Sequence[Item]
    found: list[PackedVideo | Failure]


class PackPool:
    """Processes that read; a context manager, used by one thread, which must live as long.

    Parameters
    ----------
    units
        In the order in which they are handed over.
    processes
        How many.
    options
        For each of them.
    """

    def __init__(self, units: Iterator[list[Item]], processes: int, options: PackWorkerOptions) -> None:
        self._units = enumerate(units)
        self._options = options
        self._hands: list[_Hand] = []
        self._processes = processes
        self._again: deque[tuple[int, list[Item]]] = deque()
        self._read: dict[int, tuple[_Hand, ReadUnit]] = {}
        self._bad: dict[int, dict[int, str]] = {}
        self._placed: dict[int, list[tuple[str, int] | None]] = {}
        self._next = 0
        self._is_over = False
        self._written: deque[int] = deque()

    def __enter__(self) -> PackPool:
        with ExitStack() as stack:
            for _ in range(self._processes):
                self._hands.append(_Hand(self._options))
                stack.callback(self._hands[-1].line.close)
            self._stack = stack.pop_all()
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def turns(self) -> Iterator[ReadUnit | int | None]:
        """Yield each unit when it is its turn, the number of each that is written, and None about once a second.

        The caller answers a unit by `write` before it goes on.

        Raises
        ------
        PackError
            When a unit cannot be written.
        """
        while True:
            self._give()
            if self._next in self._read:
                yield self._read[self._next][1]
                self._next += 1
                continue
            while self._written:
                yield self._written.popleft()
            if self._is_over and not self._read and not any(hand.asked for hand in self._hands):
                return
            ready = readable([each for hand in self._hands for each in hand.line.outputs], _LONGEST_WAIT_S)
            for hand in self._hands:
                self._hear(hand)
            if not ready:
                yield None

    def write(self, unit: int, places: list[tuple[str, int] | None]) -> None:
        """Have a unit's videos written, each to a place of a file; None for those that failed."""
        hand, _ = self._read.pop(unit)
        self._placed[unit] = places
        hand.line.tell({"unit": unit, "write": places})

    def _give(self) -> None:
        """Give units to processes, the next one always to that which has least to read: turns come in their order."""
        while True:
            free = [each for each in self._hands if len(each.unread) < _TO_READ and len(each.asked) < _TO_HAVE]
            if not free:
                return
            unit = self._again.popleft() if self._again else next(self._units, None)
            if unit is None:
                self._is_over = True
                return
            min(free, key=lambda hand: len(hand.unread)).ask(*unit, self._bad.get(unit[0], {}))

    def _hear(self, hand: _Hand) -> None:
        for reply in hand.line.replies():
            unit = reply["unit"]
            if "alive" in reply:
                continue
            if "at" in reply:
                hand.at = reply["at"]
                continue
            if "read" in reply:
                hand.unread.discard(unit)
                found = [_outcome(each) for each in reply["read"]]
                if unit in self._placed:  # the process that read it before ended before it was written
                    hand.line.tell({"unit": unit, "write": self._placed[unit]})
                else:
                    self._read[unit] = hand, ReadUnit(unit, hand.asked[unit], found)
            elif "failed" in reply:
                raise OutputError(reply["failed"])
            else:
                del hand.asked[unit], self._placed[unit]
                self._written.append(unit)
        if hand.line.is_over(is_busy=bool(hand.unread) or any(unit in self._placed for unit in hand.asked)):
            self._replace(hand)

    def _replace(self, hand: _Hand) -> None:
        """Blame the video at which a process ended, or was silent; all that it had is read again by another."""
        cause = hand.line.end()
        if not hand.unread:
            raise WorkerDied(f"a process that packs {cause}; look at memory and limits, and run the command again")
        guilty = min(hand.unread)
        self._bad.setdefault(guilty, {})[hand.at] = f"the process that read it {cause}; leave it out"
        for unit in hand.asked:
            self._read.pop(unit, None)
        self._again = deque(sorted([*self._again, *hand.asked.items()]))
        hand.begin_anew()


def _outcome(found: dict[str, Any]) -> PackedVideo | Failure:
    return Failure(found["failed"]) if "failed" in found else PackedVideo.of_json(found["record"])


class _Hand:
    """A process, and the units that it has."""

    def __init__(self, options: PackWorkerOptions) -> None:
        self.line = LineWorker(command("loader_service.pack.pack_worker", *arguments_for(options)), _SILENCE_S)
        self._forget()

    def begin_anew(self) -> None:
        self.line.begin_anew()
        self._forget()

    def _forget(self) -> None:
        self.asked: dict[int, list[Item]] = {}
        self.unread: set[int] = set()
        self.at = 0

    def ask(self, unit: int, items: list[Item], bad: dict[int, str]) -> None:
        self.asked[unit] = items
        self.unread.add(unit)
        versions = known(file for item in items if not item.fault for file in KIND_NAMED[item.kind].files(item))
        self.line.tell({"unit": unit, "read": [asdict(item) for item in items], "bad": bad, "versions": versions})
