"""What a trainer has got of a stream, and how long it waited for that, as sums that only grow. Pure."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class StreamFigures:
    """Sums since a stream was opened.

    Parameters
    ----------
    steps, rows, frames
        That were fetched; frames without padding.
    waiting_s
        Seconds in which at least one thread waited for a step.
    observed_s
        Seconds since the stream was opened; when its service begins anew, both seconds begin at 0 again.
    """

    steps: int = 0
    rows: int = 0
    frames: int = 0
    waiting_s: float = 0.0
    observed_s: float = 0.0

    def __add__(self, other: StreamFigures) -> StreamFigures:
        """Return the sums of two streams together."""
        return StreamFigures(**{name: value + getattr(other, name) for name, value in vars(self).items()})

    def since(self, before: StreamFigures) -> StreamFigures:
        """Return what has come since earlier figures, of which those of an earlier run of the service do not count."""
        if self.observed_s < before.observed_s:
            before = StreamFigures(before.steps, before.rows, before.frames)
        return StreamFigures(**{name: max(0, value - getattr(before, name)) for name, value in vars(self).items()})

    @property
    def waiting_share(self) -> float:
        """Share of the time in which the trainer waited, 0 to 1; 0 when no time has passed."""
        return min(1.0, self.waiting_s / self.observed_s) if self.observed_s else 0.0

    @property
    def frames_per_s(self) -> float:
        """Frames a second; 0 when no time has passed."""
        return self.frames / self.observed_s if self.observed_s else 0.0

    @property
    def steps_per_s(self) -> float:
        """Steps a second; 0 when no time has passed."""
        return self.steps / self.observed_s if self.observed_s else 0.0
