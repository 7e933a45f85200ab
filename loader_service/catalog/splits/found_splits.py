"""The splits that a file itself says, as a value, and a file's only video with the rows of one. Reads nothing."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from loader_service.catalog.inner_paths import join, parent_of
from loader_service.catalog.split_words import meaning_among, meaning_of
from loader_service.catalog.videos.episodes import Episode, Found
from loader_service.errors import CatalogError
from loader_service.plan.subset import runs_of
from loader_service.sizes import counted

if TYPE_CHECKING:
    from collections.abc import Iterable

Kept = npt.NDArray[np.bool_]

#: Runs of rows that a split may have: each is kept as a video is.
_MOST_RUNS = 2**20


@dataclass(frozen=True)
class Division:
    """The splits of one file.

    Attributes
    ----------
    kept
        By what a split's word stands for: which rows of the only video, or which videos, are in it.
    words
        The file's own word for each.
    paths
        Of the datasets, or attributes, that say so; of lists, first one for each split, in their order.
    by_rows
        Whether rows are counted, and not videos.
    is_certain
        Whether nothing else can be meant; else the splits are served where they are asked for, and said.
    note
        How the numbers of lists are read, where others may count otherwise; or empty.
    """

    kept: dict[str, Kept]
    words: dict[str, str]
    paths: tuple[str, ...]
    by_rows: bool
    is_certain: bool = True
    note: str = ""

    @property
    def disjoint(self) -> bool:
        """Whether there are two splits or more, and nothing is in two of them."""
        counts = np.sum(list(self.kept.values()), axis=0, dtype=np.int64)
        return len(self.kept) > 1 and int(counts.max(initial=0)) <= 1

    def counted(self) -> dict[str, str]:
        """Return how much each split holds, in words, by its word."""
        unit = "row" if self.by_rows else "video"
        counts = {self.words[meaning]: int(kept.sum()) for meaning, kept in self.kept.items()}
        return {word: counted(count, unit) for word, count in counts.items()}

    def shared(self, meaning: str) -> str:
        """Return how much of a split others beside it have as well, in words; empty where they have nothing of it.

        The splits of another fold lie in another group, and have most of it.
        """
        own, word = self.kept[meaning], self.words[meaning]
        beside = {each: kept for each, kept in self.kept.items() if parent_of(self.words[each]) == parent_of(word)}
        counts = {self.words[each]: int((own & kept).sum()) for each, kept in beside.items() if each != meaning}
        return "".join(f", {count} of them in {word!r} too" for word, count in counts.items() if count)

    def taken(self, meaning: str) -> list[str]:
        """Return which splits one is: itself, else all subsets of it, as ``test_seen`` and ``test_unseen`` of tests."""
        if meaning in self.kept:
            return [meaning]
        return [each for each in self.kept if "/" not in each and meaning_of(each) == meaning]

    def called(self, name: str) -> str | None:
        """Return what a name stands for, as the file spells it or by any word of the split; None for a strange one."""
        return meaning_among(self.words, name)


def runs_as_videos(found: Found, kept: Kept) -> Found:
    """Return a file's only video, or table, with some of its rows: a part for each run of rows.

    Raises
    ------
    CatalogError
        When there are more runs than are kept.
    """
    firsts, ends = runs_of(kept)
    if len(firsts) > _MOST_RUNS:
        raise CatalogError(
            f"the split is {len(firsts)} runs of rows, and at most {_MOST_RUNS} are kept; leave --split out, and give "
            "the rows as index= of the stream"
        )
    return rows_as_videos(found, zip(firsts.tolist(), ends.tolist(), strict=True))


def rows_as_videos(found: Found, spans: Iterable[tuple[int, int]]) -> Found:
    """Return a file's only video, or table, as a part for each first row, and the row behind the last, of some rows."""
    (whole,) = found.episodes
    parts = {key: part for key, part in whole.parts.items() if not part.missing and part.digits < 0}
    reason = "expected an entry for each frame, where a split takes some of them, in a file"
    left_out = dict.fromkeys(whole.parts.keys() - parts.keys(), reason)
    episodes = [
        Episode(
            join(whole.name, str(first)),
            None,
            end - first,
            whole.dataset_path,
            {
                key: part if part.kind == "value" else replace(part, first=part.first + first)
                for key, part in parts.items()
            },
        )
        for first, end in spans
    ]
    return Found(found.layout, episodes, {**found.left_out, **left_out}, found.words)
