"""A conversion in pieces: what a worker is asked for, and what it answers, as data. Knows no file and no process."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any

#: Called with bytes that are done, and bytes in all.
OnProgress = Callable[[int, int], object]


@dataclass(frozen=True)
class Piece:
    """What one worker does in one go; it is done wholly, or not at all.

    Attributes
    ----------
    number
        From 0; its place among all.
    targets
        What it makes: paths of files or folders, relative to the place, which are there when it is done.
    task
        What the worker needs to know, as JSON can say it.
    size_bytes
        What it reads, as far as that is known: its part of the progress.
    """

    number: int
    targets: tuple[str, ...]
    task: Any
    size_bytes: int


@dataclass(frozen=True)
class OutputEntry:
    """A file or a folder that was written.

    Attributes
    ----------
    path
        Relative to the place, with ``/``.
    size_bytes
        Of the file, or of all files in the folder.
    crc32c
        Of the file; None of a folder.
    samples
        How many it holds.
    """

    path: str
    size_bytes: int
    crc32c: int | None = None
    samples: int = 1


@dataclass(frozen=True)
class LeftOut:
    """Something that was not converted, and why."""

    name: str
    reason: str

    def __str__(self) -> str:
        return f"left out: {self.name}: {self.reason}"


@dataclass(frozen=True)
class PieceOutcome:
    """What came of a piece: what was written, what was left out, and facts that the manifest is to have."""

    entries: tuple[OutputEntry, ...]
    left_out: tuple[LeftOut, ...] = ()
    facts: Any = None

    def as_json(self) -> dict[str, Any]:
        """Return it as JSON can say it."""
        return asdict(self)

    @staticmethod
    def of_json(said: dict[str, Any]) -> PieceOutcome:
        """Return what `as_json` made of it; raises KeyError or TypeError for anything else."""
        return PieceOutcome(
            tuple(OutputEntry(**each) for each in said["entries"]),
            tuple(LeftOut(**each) for each in said["left_out"]),
            said["facts"],
        )
