"""Says where encoded frames, a dataset each, lack numbers: they are served as if nothing were missing. Pure."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

from loader_service.catalog.layouts.datasets import DatasetsVideo
from loader_service.catalog.videos.numbers_of_frames import numbers_of
from loader_service.sizes import counted

if TYPE_CHECKING:
    from collections.abc import Sequence

    from loader_service.catalog.hdf5.tree import DatasetInfo
    from loader_service.catalog.videos.episodes import Found

_LOST = (
    "the frames of {} lack numbers, such as {} between {!r} and {!r}: each is served as if it followed the one before; "
    "if frames were lost there, write each part without a gap in a group of its own, or leave the video out, in a file"
)


def lines_of_lost_frames(found: Found) -> dict[str, str]:
    """Return a line for each field whose frames are datasets of which some number is missing, in some video."""
    gaps: dict[str, list[tuple[str, str, int]]] = {}
    for episode in found.filled:
        for key, part in episode.parts.items():
            gap = _first_gap(part.frames.members) if isinstance(part.frames, DatasetsVideo) else None
            if gap is not None:
                gaps.setdefault(key, []).append(gap)
    return {
        f"{key or 'frames'} (gaps)": _LOST.format(counted(len(each), "video"), each[0][2], *each[0][:2])
        for key, each in gaps.items()
    }


def _first_gap(members: Sequence[DatasetInfo]) -> tuple[str, str, int] | None:
    """Return the paths of the frames around the first number that is missing, and that; None if none is."""
    numbers = numbers_of(members)
    if not numbers:
        return None
    steps = [after - before for before, after in pairwise(numbers)]
    step = min(steps)
    place = next((place for place, each in enumerate(steps) if each != step), None)
    if step <= 0 or place is None:
        return None
    return members[place].path, members[place + 1].path, numbers[place] + step
