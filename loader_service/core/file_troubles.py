"""Which files gave bad samples or slow reads, and how often; bounded, whatever there is in the files. Pure."""

from __future__ import annotations

from loader_service.protocol.totals import FileTotals

#: Files of which troubles are counted one by one; those that come after them are not.
_MOST_FILES = 4096

#: Files that a status names.
_SHOWN = 20


class FileTroubles:
    """Counts by file."""

    def __init__(self) -> None:
        self._of: dict[int, list[int]] = {}  # bad samples, slow reads

    def bad(self, file: int) -> None:
        """Count a bad sample."""
        if (counts := self._counts(file)) is not None:
            counts[0] += 1

    def slow(self, file: int, count: int) -> None:
        """Count reads that took long."""
        if (counts := self._counts(file)) is not None:
            counts[1] += count

    def worst(self) -> list[FileTotals]:
        """Return the files with most bad samples, then those with most slow reads; without their paths."""
        ranked = sorted(self._of.items(), key=lambda each: (-each[1][0], -each[1][1], each[0]))
        return [FileTotals(file, "", bad, slow) for file, (bad, slow) in ranked[:_SHOWN]]

    def _counts(self, file: int) -> list[int] | None:
        counts = self._of.get(file)
        if counts is None and file >= 0 and len(self._of) < _MOST_FILES:
            counts = self._of[file] = [0, 0]
        return counts
