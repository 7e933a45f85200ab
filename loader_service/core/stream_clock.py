"""What one stream delivered, and how long who waited for it, as sums. Pure."""

from __future__ import annotations

from dataclasses import dataclass, field

from loader_service.protocol.totals import StreamTotals, TrainerTimes
from loader_service.stopwatch import Stopwatch


@dataclass(slots=True)
class StreamClock:
    """The sums of one stream."""

    opened_at: float = 0.0
    asked_at: float = 0.0  # when its client asked for it
    full: Stopwatch = field(default_factory=Stopwatch)  # all that was wanted lay ready
    short: Stopwatch = field(default_factory=Stopwatch)  # a want had no slot
    waiting_s: float = 0.0  # what its trainer told last, as the next one
    observed_s: float = 0.0
    first_batch_s: float = 0.0
    rows: int = 0
    frames: int = 0
    size_bytes: int = 0
    steps: int = 0
    failed_steps: int = 0

    def told(self, times: TrainerTimes, now: float) -> None:
        """Take note of what its trainer says; a number that would shrink, or that cannot be, changes nothing."""
        observed_s = min(times.observed_s, now - self.opened_at)
        if observed_s >= self.observed_s and times.waiting_s >= self.waiting_s:
            self.observed_s = observed_s
            self.waiting_s = min(times.waiting_s, observed_s)

    def delivered(self, rows: int, frames: int, size_bytes: int, now: float) -> None:
        """Take note of a step that was announced to its client."""
        if not self.steps:
            self.first_batch_s = now - self.asked_at
        self.steps += 1
        self.rows += rows
        self.frames += frames
        self.size_bytes += size_bytes

    def totals(self, now: float) -> StreamTotals:
        """Return the sums, with what is under way."""
        return StreamTotals(
            open_seconds_total=now - self.opened_at,
            trainer_waiting_seconds_total=self.waiting_s,
            trainer_observed_seconds_total=self.observed_s,
            slots_full_seconds_total=self.full.seconds(now),
            waiting_slot_seconds_total=self.short.seconds(now),
            steps_total=self.steps,
            rows_total=self.rows,
            frames_total=self.frames,
            bytes_total=self.size_bytes,
            failed_steps_total=self.failed_steps,
        )
