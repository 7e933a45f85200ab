"""Orders of streams made of arithmetic: each sample's number says which step, row and attempt it stands for."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from loader_service.protocol.rows import Row

_MOST_ROWS, _MOST_ATTEMPTS = 64, 16

#: Frames of the longest row of a `SpreadSource`.
MOST_FRAMES = 9


@dataclass(frozen=True)
class Meaning:
    """What a sample's number says."""

    step: int
    row: int
    attempt: int


@dataclass(frozen=True)
class SpreadSource:
    """Steps of `row_count` rows, spread over `file_count` files; with one file, all in that one.

    With `varying`, rows have 1 to 9 frames. Some samples have no substitute at all.
    """

    row_count: int
    file_count: int = 1
    varying: bool = False

    def rows(self, epoch: int, step: int) -> tuple[Row, ...]:
        """Return the rows of a step."""
        return tuple(self._row((step * _MOST_ROWS + row) * _MOST_ATTEMPTS, None) for row in range(self.row_count))

    def rows_of(self, samples: Sequence[int], positions: Sequence[int]) -> tuple[Row, ...]:
        """Return the rows of these samples."""
        return tuple(map(self._row, samples, positions))

    def substitute(self, epoch: int, bad: Row, attempt: int) -> Row | None:
        """Return the row that is tried after `attempt` failures."""
        assert meaning(bad.sample).attempt == 0, "the planned row, whatever took its place"
        if is_irreplaceable(bad.sample):
            return None
        return self._row(bad.sample + attempt, bad.position)._replace(frames=bad.frames)

    def describe(self, sample: int) -> str:
        """Return words for a sample."""
        return f"sample {sample}"

    def place(self, sample: int) -> tuple[str, str]:
        """Return words for a sample's file and video."""
        return f"file {self._row(sample, None).file}", self.describe(sample)

    def _row(self, sample: int, position: int | None) -> Row:
        told = meaning(sample)
        file = (told.step * 5 + told.row * 3 + told.attempt) % self.file_count
        return Row(sample, file, position, sample // _MOST_ATTEMPTS % MOST_FRAMES + 1 if self.varying else 0)


@dataclass(frozen=True)
class ListedSource:
    """Steps whose rows lie in the files listed; a row's sample is the row's number, of each substitute 100 more.

    With `frames`, rows have these many.
    """

    files: tuple[int, ...]
    frames: tuple[int, ...] = ()

    def rows(self, epoch: int, step: int) -> tuple[Row, ...]:
        """Return the rows of a step."""
        return self.rows_of(tuple(range(len(self.files))), (None,) * len(self.files))

    def rows_of(self, samples: Sequence[int], positions: Sequence[int | None]) -> tuple[Row, ...]:
        """Return the rows of these samples."""
        frames = self.frames or (0,) * len(self.files)
        return tuple(Row(each, self.files[each], at, frames[each]) for each, at in zip(samples, positions, strict=True))

    def substitute(self, epoch: int, bad: Row, attempt: int) -> Row | None:
        """Return the row that is tried after `attempt` failures."""
        return bad._replace(sample=bad.sample + 100 * attempt)

    def describe(self, sample: int) -> str:
        """Return words for a sample."""
        return f"sample {sample} of file {self.files[sample % 100]}"

    def place(self, sample: int) -> tuple[str, str]:
        """Return words for a sample's file and video."""
        return f"file {self.files[sample % 100]}", f"sample {sample}"


def is_irreplaceable(sample: int) -> bool:
    """Return whether a sample of `SpreadSource` has no substitute."""
    return sample // _MOST_ATTEMPTS % 7 == 3


def sample_of(step: int, row: int) -> int:
    """Return the number of a planned sample of `SpreadSource`."""
    return (step * _MOST_ROWS + row) * _MOST_ATTEMPTS


def is_deadly(sample: int) -> bool:
    """Return whether a sample of `SpreadSource` kills every worker that tries to decode it."""
    place, attempt = divmod(sample, _MOST_ATTEMPTS)
    return attempt == 0 and place % 61 == 0


def meaning(sample: int) -> Meaning:
    """Return what the number of a sample of `SpreadSource` stands for."""
    place, attempt = divmod(sample, _MOST_ATTEMPTS)
    return Meaning(*divmod(place, _MOST_ROWS), attempt)
