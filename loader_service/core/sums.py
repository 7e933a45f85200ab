"""What the rooms of the core count in common: waiting for slots, troubles of files, what the gone have left. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import fields
from typing import TypeVar

from loader_service.core.file_troubles import FileTroubles
from loader_service.protocol.totals import FileSystemTotals, StreamTotals, TimeSpent, WorkerTotals
from loader_service.stopwatch import Stopwatch

_Totals = TypeVar("_Totals", WorkerTotals, StreamTotals)


def add(totals: Iterable[_Totals], to: _Totals) -> _Totals:
    """Return the sum of totals, field by field."""
    every = [to, *totals]
    return type(to)(**{each.name: sum(getattr(one, each.name) for one in every) for each in fields(to)})


class Sums:
    """Sums that are nobody's own.

    Attributes
    ----------
    now
        When that happened which is being acted on; set by the part that is told first.
    files
        Their troubles.
    workers, streams
        What those did that are gone.
    """

    def __init__(self) -> None:
        self.now = 0.0
        self.files = FileTroubles()
        self.workers = WorkerTotals()
        self.streams = StreamTotals()
        self._reads: dict[str, FileSystemTotals] = {}  # of workers that are gone
        self._short = Stopwatch()
        self._short_streams = 0

    @property
    def short_s(self) -> float:
        """Seconds in which wants of any stream had no slot."""
        return self._short.seconds(self.now)

    def shortage(self, *, begins: bool) -> None:
        """Take note that the wants of one more stream have no slot, or of one less."""
        self._short_streams += 1 if begins else -1
        self._short.set(self._short_streams > 0, self.now)

    def worker_left(self, totals: WorkerTotals, spent: TimeSpent | None) -> None:
        """Keep what a worker did that is gone."""
        self.workers = add([totals], self.workers)
        if spent is not None:
            self._reads = _reads([spent], self._reads)

    def stream_left(self, totals: StreamTotals) -> None:
        """Keep what a stream did that is closed."""
        self.streams = add([totals], self.streams)

    def file_systems(self, spent: Iterable[TimeSpent]) -> tuple[FileSystemTotals, ...]:
        """Return what was read from each file system by those that are gone, and by those that tell this."""
        found = _reads(spent, self._reads).values()
        return tuple(sorted(found, key=lambda each: (-each.reading_seconds_total, each.file_system)))


def _reads(spent: Iterable[TimeSpent], before: dict[str, FileSystemTotals]) -> dict[str, FileSystemTotals]:
    found = dict(before)
    for worker in spent:
        for each in worker.file_systems:
            known = found.get(each.file_system, FileSystemTotals(each.file_system, 0.0, 0, 0))
            found[each.file_system] = FileSystemTotals(
                each.file_system,
                known.reading_seconds_total + each.seconds,
                known.read_bytes_total + each.size_bytes,
                known.slow_reads_total + each.slow,
            )
    return found
