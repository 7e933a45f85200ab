"""What one worker did and waited for, as sums; the seconds of its work it tells itself. Pure."""

from __future__ import annotations

from dataclasses import dataclass

from loader_service.protocol.totals import TimeSpent, WorkerTotals


@dataclass(slots=True)
class WorkerTimes:
    """The sums of one worker."""

    tasks: int = 0
    rows: int = 0
    size_bytes: int = 0  # of what it wrote
    spent: TimeSpent | None = None  # what it told last
    slow_reads: int = 0
    sending_s: float = 0.0  # of a remote one: with tasks, and not at work, since rows were on their way
    idle_s: float = 0.0  # with nothing to do, altogether
    slot_s: float = 0.0  # of that, while what was wanted had no slot
    ready_at: float | None = None  # None while it starts
    idle_since: float | None = None  # None while it has something to do, or does not count
    _short_before: float = 0.0

    def rest(self, now: float, short_s: float) -> None:
        """Take note that it has nothing to do from now on; `short_s` is how long wants were without slots so far."""
        if self.idle_since is None:
            self.idle_since, self._short_before = now, short_s
            if self.ready_at is None:
                self.ready_at = now

    def work(self, now: float, short_s: float) -> None:
        """Take note that it has something to do from now on, or that it counts no more."""
        if self.idle_since is not None:
            self.idle_s += max(0.0, now - self.idle_since)
            self.slot_s += max(0.0, short_s - self._short_before)
            self.idle_since = None

    def done(self, rows: int, size_bytes: int) -> None:
        """Take note of a task that it has done."""
        self.tasks += 1
        self.rows += rows
        self.size_bytes += size_bytes

    def told(self, spent: TimeSpent, now: float, *, is_remote: bool = False) -> None:
        """Take note of what it says of itself; a remote one that had tasks and was not at work waited for its rows."""
        self.spent = spent
        if is_remote and self.ready_at is not None:
            busy_s = now - self.ready_at - self.idle_s - (0.0 if self.idle_since is None else now - self.idle_since)
            self.sending_s = max(self.sending_s, busy_s - spent.work_s)
        self.slow_reads += sum(each.count for each in spent.slow)

    def totals(self, now: float, short_s: float) -> WorkerTotals:
        """Return the sums, with what is under way."""
        idle_s, slot_s = self.idle_s, self.slot_s
        if self.idle_since is not None:
            idle_s += max(0.0, now - self.idle_since)
            slot_s += max(0.0, short_s - self._short_before)
        work_s, read_s, transform_s = (0.0, 0.0, 0.0)
        if self.spent is not None:
            work_s, read_s, transform_s = self.spent.work_s, self.spent.read_s, self.spent.transform_s
        return WorkerTotals(
            up_seconds_total=0.0 if self.ready_at is None else now - self.ready_at,
            reading_seconds_total=read_s,
            decoding_seconds_total=max(0.0, work_s - read_s - transform_s),
            transforming_seconds_total=transform_s,
            waiting_task_seconds_total=max(0.0, idle_s - slot_s),
            waiting_slot_seconds_total=slot_s,
            tasks_total=self.tasks,
            rows_total=self.rows,
            bytes_total=self.size_bytes,
            slow_reads_total=self.slow_reads,
            sending_seconds_total=self.sending_s,
        )
