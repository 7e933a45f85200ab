"""Bounds of the shots or scenes of a video, which divide its rows and are no videos of their own. Reads lists alone."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from loader_service.catalog.videos.bounds.bounds import find_bounds

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from loader_service.catalog.hdf5.tree import DatasetInfo
    from loader_service.catalog.videos.bounds.bound_lists import Read

_PARTS = re.compile(
    r"^(?:.*/)?(?:[^/\n]*_)?(?:change_?points?|cps|shots?|scenes?|chapters?)(?:_[^/\n]*)?$",
    re.IGNORECASE | re.MULTILINE,
)


def paths_of_parts(paths: Iterable[str]) -> set[str]:
    """Return which datasets are called as what says where the parts of one video are; looked for in all at once."""
    return set(_PARTS.findall("\n".join(paths)))


def line_of_parts(beside: Sequence[DatasetInfo], frame_count: int, read: Read, remedy: str) -> str:
    """Return the line for bounds of parts that fit the rows as those of videos would; empty where none do.

    Parameters
    ----------
    beside
        The datasets of parts.
    frame_count
        How many rows the video has.
    read
        Gives the numbers of a dataset.
    remedy
        The schema that cuts the rows there.
    """
    bounds = find_bounds(beside, frame_count, read) if beside else None
    if bounds is None or len(bounds.starts) < 2:
        return ""
    return (
        f"these {frame_count} rows have {len(bounds.starts)} parts, as {' and '.join(map(repr, sorted(bounds.paths)))} "
        f"has them, and are one video; {remedy} in a --schema makes each part a video, in a file"
    )
