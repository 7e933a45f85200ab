"""Orders of streams made of arithmetic: each sample's number says which step, row and attempt it stands for."""

from __future__ import annotations

from dataclasses import dataclass

from loader_service.core.events import Row

_MOST_ROWS, _MOST_ATTEMPTS = 64, 16


@dataclass(frozen=True)
class Meaning:
    """What a sample's number says."""

    step: int
    row: int
    attempt: int


@dataclass(frozen=True)
class SpreadSource:
    """Steps of `row_count` rows, spread over `file_count` files; with one file, all in that one."""

    row_count: int
    file_count: int = 1

    def rows(self, epoch: int, step: int) -> tuple[Row, ...]:
        """Return the rows of a step."""
        return tuple(self.substitute(epoch, step, row, 0) for row in range(self.row_count))

    def substitute(self, epoch: int, step: int, row: int, attempt: int) -> Row:
        """Return the row that is tried after `attempt` failures."""
        sample = (step * _MOST_ROWS + row) * _MOST_ATTEMPTS + attempt
        return Row(sample, (step * 5 + row * 3 + attempt) % self.file_count)

    def describe(self, sample: int) -> str:
        """Return words for a sample."""
        return f"sample {sample}"


@dataclass(frozen=True)
class ListedSource:
    """Steps whose rows lie in the files listed; a row's sample is the row's number, of each substitute 100 more."""

    files: tuple[int, ...]

    def rows(self, epoch: int, step: int) -> tuple[Row, ...]:
        """Return the rows of a step."""
        return tuple(Row(sample, file) for sample, file in enumerate(self.files))

    def substitute(self, epoch: int, step: int, row: int, attempt: int) -> Row:
        """Return the row that is tried after `attempt` failures."""
        return Row(row + 100 * attempt, self.files[row])

    def describe(self, sample: int) -> str:
        """Return words for a sample."""
        return f"sample {sample} of file {self.files[sample % 100]}"


def is_deadly(sample: int) -> bool:
    """Return whether a sample of `SpreadSource` kills every worker that tries to decode it."""
    place, attempt = divmod(sample, _MOST_ATTEMPTS)
    return attempt == 0 and place % 61 == 0


def meaning(sample: int) -> Meaning:
    """Return what the number of a sample of `SpreadSource` stands for."""
    place, attempt = divmod(sample, _MOST_ATTEMPTS)
    return Meaning(*divmod(place, _MOST_ROWS), attempt)
