"""The reads of one worker's tasks: plain ones while they are quick, begun ahead where they are not. Knows no frame."""

from __future__ import annotations

import resource
import time
from typing import TYPE_CHECKING, Any, TypeVar

from loader_service.worker.read_ahead import ReadAhead
from loader_service.worker.read_pace import BYTE_S, SLOW_S, ReadPace
from loader_service.worker.time_spent import TimeSpentSums

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from loader_service.worker.read_ahead import ByteRange, Opened

_Result = TypeVar("_Result")

#: How many fewer tasks must be wanted for it to be said, as a factor; one too few has the worker wait for reads.
_SHOWS = 1.5


class TaskReads:
    """Reads bytes for tasks; used by one thread.

    Parameters
    ----------
    open_file, is_in_memory
        As `ReadAhead` takes them.
    always
        Whether reads are known to be slow.
    spent
        Is told what they take.
    """

    def __init__(
        self,
        open_file: Callable[[int], Opened | None],
        is_in_memory: Callable[[int, int, int], bool] = lambda *_: False,
        *,
        always: bool = False,
        spent: TimeSpentSums | None = None,
    ) -> None:
        self.spent = spent or TimeSpentSums(str)
        self._ahead = ReadAhead(open_file, is_in_memory)
        self._pace = ReadPace(time.monotonic(), always=always)
        self._task = -1
        self._foresee: Callable[[], Iterable[ByteRange]] = tuple
        self._began = self._waited_before_s = 0.0
        self._wanted = 0
        self._switches = 0
        self._slow_s = 0.0  # that slow reads took which nobody had begun ahead

    @property
    def are_slow(self) -> bool:
        """Whether reads are begun ahead now."""
        return self._pace.is_slow

    @property
    def are_ahead(self) -> bool:
        """Whether some of the present task's reads are begun ahead."""
        return self._pace.is_slow and self._ahead.has_some

    def expect(self, task: int, foresee: Callable[[], Iterable[ByteRange]]) -> None:
        """Begin the reads of a task that waits, if reads are slow.

        Parameters
        ----------
        task
            Its number.
        foresee
            Gives what it will read, in order.
        """
        if self._pace.is_slow and not self._ahead.expects(task):
            self._ahead.expect(task, foresee())

    def begin(self, task: int, foresee: Callable[[], Iterable[ByteRange]]) -> None:
        """Come to a task; parameters as of `expect`."""
        self._task, self._foresee = task, foresee
        self.expect(task, foresee)
        self._ahead.begin(task)
        self._has_waited()
        self._began, self._waited_before_s = time.monotonic(), self._ahead.waited_s + self._slow_s

    def end(self) -> float:
        """Leave the task; return how long its reads have kept it waiting, in seconds; 0 while they are quick."""
        was_needed = self._ahead.end(self._task)
        now = time.monotonic()
        waited_s = self._ahead.waited_s + self._slow_s - self._waited_before_s
        self.spent.work_s += now - self._began
        self._pace.task_ended(max(0.0, now - self._began - waited_s), now, was_needed=was_needed)
        self._task, self._foresee = -1, tuple
        return waited_s

    def tasks_wanted(self) -> int | None:
        """Return how many tasks shall be at hand, when that is another number than was said before."""
        wanted = self._pace.tasks_wanted(self._ahead.latency_s) if self._pace.is_slow else 0
        if wanted > self._wanted or wanted * _SHOWS < self._wanted:
            self._wanted = wanted
            return wanted
        return None

    def read(self, file: int, offset: int, length: int, plain: Callable[[int, int], bytes]) -> bytes:
        """Return bytes of a file, from what was read ahead, or else as `plain(offset, length)` does."""
        self.spent.turn_to(file)
        if self._pace.is_slow:
            waited_before_s = self._ahead.waited_s
            data = self._ahead.read(file, offset, length)
            self._waited(waited_before_s)
            if data is not None:
                self.spent.read_bytes += length
                return data
        return self.timed(length, plain, offset, length)

    def taken_ahead(self, file: int, offset: int, length: int) -> bytes | None:
        """Return bytes that were read ahead for HDF5, whose own reads nobody times; None where they were not."""
        return self._ahead.read(file, offset, length)

    def fill(self, file: int, offset: int, out: Any, plain: Callable[[Any, int], None]) -> None:
        """Fill memory, ``(bytes,) uint8``, from what was read ahead, or else as `plain(out, offset)` does."""
        self.spent.turn_to(file)
        if self._pace.is_slow:
            waited_before_s = self._ahead.waited_s
            is_filled = self._ahead.fill(file, offset, out)
            self._waited(waited_before_s)
            if is_filled:
                self.spent.read_bytes += len(out)
                return
        self.timed(len(out), plain, out, offset)

    def timed(self, length: int, plain: Callable[..., _Result], *arguments: Any) -> _Result:
        """Return what a plain read of so many bytes gives; one too many that is slow has the rest read ahead.

        It counts for the file that `spent` was turned to.
        """
        began = time.monotonic()
        result = plain(*arguments)
        self._took(began, length)
        return result

    def timed_rows(self, plain: Callable[..., int], *arguments: Any) -> int:
        """Return how many bytes a plain read of many rows gives, which is otherwise as `timed`."""
        began = time.monotonic()
        length = plain(*arguments)
        self._took(began, length)
        return length

    def _took(self, began: float, length: int) -> None:
        now = time.monotonic()
        spent = self.spent
        spent.read_s += now - began
        spent.read_bytes += length
        if now - began <= SLOW_S or not self._has_waited():
            return
        spent.slow_reads += now - began > SLOW_S + length * BYTE_S
        self._waits(now - began, length, now)

    def _has_waited(self) -> bool:
        """Tell whether this thread has given up its core since the last look, as it does to wait for a disk.

        A read that only took long since others had the core is not slow: to read ahead would take that core too.
        """
        before, self._switches = self._switches, resource.getrusage(resource.RUSAGE_THREAD).ru_nvcsw
        return self._switches != before

    def counted(self, file: int, length: int, read: Callable[..., _Result], *arguments: Any) -> _Result:
        """Return what a read gives that is never begun ahead, such as one through HDF5; its time counts."""
        self.spent.turn_to(file)
        began = time.monotonic()
        try:
            return read(*arguments)
        finally:
            seconds = time.monotonic() - began
            self.spent.read_s += seconds
            self.spent.read_bytes += length

    def through_hdf5(self, file: int, length: int, read: Callable[..., _Result], *arguments: Any) -> _Result:
        """Return what a read by HDF5 gives, which decompresses too: what it did not compute meanwhile, it waited."""
        began, computed, ahead_s = time.monotonic(), time.thread_time(), self._ahead.waited_s
        result = self.counted(file, length, read, *arguments)
        now = time.monotonic()
        waited_s = now - began - (time.thread_time() - computed) - (self._ahead.waited_s - ahead_s)
        if waited_s > SLOW_S and self._has_waited():
            self.spent.slow_reads += 1
            self._waits(waited_s, 0, now)
        return result

    def _waits(self, seconds: float, length: int, now: float) -> None:
        """Take note of a read that waited and that nobody had begun ahead; one too many has the rest begun."""
        self._slow_s += seconds
        if self._pace.read(seconds, length, now):
            self._ahead.expect(self._task, self._foresee())
            self._ahead.begin(self._task)

    def _waited(self, before_s: float) -> None:
        """Count what was waited for bytes that were read ahead."""
        seconds = self._ahead.waited_s - before_s
        self.spent.read_s += seconds
        self.spent.slow_reads += seconds > SLOW_S

    def drop_file(self, file: int) -> None:
        """Forget what was read of a file ahead."""
        self._ahead.drop_file(file)

    def close(self) -> None:
        """Drop everything."""
        self._ahead.close()
