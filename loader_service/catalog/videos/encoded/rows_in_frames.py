"""Groups that are called as frames are, with as many rows in each: cameras, or environments, of a frame. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING

from loader_service.catalog.inner_paths import basename_of, parent_of
from loader_service.catalog.videos.encoded.frame_readings import of_one_video
from loader_service.catalog.videos.numbered import are_called_frames
from loader_service.catalog.videos.numbers_of_frames import count_without_gaps
from loader_service.catalog.videos.readings import in_one_line

if TYPE_CHECKING:
    from collections.abc import Sequence

    from loader_service.catalog.hdf5.tree import Tree
    from loader_service.catalog.videos.episodes import Episode

#: Groups that count frames, at least.
_LEAST_FRAMES = 3


def lines_of_rows_in_frames(tree: Tree, filled: Sequence[Episode]) -> dict[str, str]:
    """Return a line where a word for a frame, and its number, name the groups of all videos, which have one length.

    Videos of their own are hardly called frames, or steps, and hardly of one length: rows are cameras, it may be.

    Parameters
    ----------
    tree, filled
        The file, and its videos with frames.
    """
    count, first = filled[0].frame_count, filled[0].root or ""
    groups = [episode.root or "" for episode in filled]
    if any(episode.frame_count != count for episode in filled) or not _count_frames(groups):
        return {}
    encoded = any(part.frames is not None for episode in filled[:1] for part in episode.parts.values())
    readings = () if encoded else of_one_video(tree, filled, groups)
    remedy = (
        "write what each camera sees as one dataset, (frames, …), or read the file in a Python source of your own "
        "(--source package.module:Name)"
    )
    for reading in readings:
        remedy = f"{in_one_line(reading.schema)} in a --schema makes {reading.words}, of arrays with all rows"
    return {
        f"{parent_of(first) or '/'} (rows)": f"{len(groups)} groups such as {first!r} are videos of "
        f"{count} frames each; if their numbers count frames, and their rows cameras or environments, {remedy}, in "
        "a file"
    }


def _count_frames(groups: Sequence[str]) -> bool:
    return are_called_frames(map(basename_of, groups)) and count_without_gaps(groups, _LEAST_FRAMES)
