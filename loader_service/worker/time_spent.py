"""Adds up what one worker's time goes into, for `TimeSpent`; knows no frame and no stream, and reads no clock.

What one read adds must cost next to nothing: a row of a table takes microseconds. So a read adds to plain sums, and
these go to a file's account when a read of another file begins.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

from loader_service.protocol.totals import FileSystemReads, SlowReads, TimeSpent

#: File systems that are told apart; what is read from more than these is put together.
_MOST_FILE_SYSTEMS = 16

#: What those are called.
OTHERS = "others"

#: Files whose slow reads one report names; the others are in the next.
_MOST_FILES = 256


class TimeSpentSums:
    """The sums of one worker; used by one thread.

    Parameters
    ----------
    file_system_of
        Names the file system of a file, by the file's number; asked once for each file.

    Attributes
    ----------
    work_s, read_s
        Seconds in tasks, and of them those in which reads were waited for.
    read_bytes, slow_reads
        What was read, and how many reads took long.
    """

    def __init__(self, file_system_of: Callable[[int], str]) -> None:
        self.work_s = self.read_s = 0.0
        self.read_bytes = self.slow_reads = 0
        self._file_system_of = file_system_of
        self._names: dict[int, str] = {}
        self._of: dict[str, list[float]] = {}  # seconds, bytes, slow reads
        self._slow: Counter[int] = Counter()
        self._file = -1
        self._seconds_before, self._bytes_before, self._slow_before = 0.0, 0, 0

    def turn_to(self, file: int) -> None:
        """Have what is read from now on count for a file."""
        if file != self._file:
            self._settle()
            self._file = file

    def message(self, worker: int, transform_s: float) -> TimeSpent:
        """Return what a worker tells of itself."""
        self._settle()
        slow = [SlowReads(file, self._slow.pop(file)) for file in list(self._slow)[:_MOST_FILES]]
        reads = [
            FileSystemReads(name, seconds, int(size_bytes), int(count))
            for name, (seconds, size_bytes, count) in self._of.items()
        ]
        return TimeSpent(worker, self.work_s, self.read_s, transform_s, tuple(reads), tuple(slow))

    def _settle(self) -> None:
        """Put what was added since to the account of the file that it was read from."""
        if self._file >= 0 and self.read_s != self._seconds_before:
            account = self._account(self._file)
            account[0] += self.read_s - self._seconds_before
            account[1] += self.read_bytes - self._bytes_before
            slow = self.slow_reads - self._slow_before
            if slow:
                account[2] += slow
                self._slow[self._file] += slow
        self._seconds_before, self._bytes_before, self._slow_before = self.read_s, self.read_bytes, self.slow_reads

    def _account(self, file: int) -> list[float]:
        name = self._names.get(file)
        if name is None:
            name = self._file_system_of(file)
            if name not in self._of and len(self._of) >= _MOST_FILE_SYSTEMS:
                name = OTHERS
            self._names[file] = name
        return self._of.setdefault(name, [0.0, 0.0, 0.0])
