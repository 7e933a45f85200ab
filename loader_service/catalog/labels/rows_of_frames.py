"""Refuses rows of a CSV file that name frames of a video, each of which is a dataset, and not the video. Opens none."""

from __future__ import annotations

from typing import TYPE_CHECKING

from loader_service.catalog.inner_paths import basename_of, unnumbered
from loader_service.catalog.labels.row_index import called, common_root
from loader_service.errors import CatalogError
from loader_service.sizes import counted

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from loader_service.catalog.labels.csv_file import LabelTable
    from loader_service.catalog.labels.frame_names import FrameNames
    from loader_service.catalog.labels.row_index import CSVIndex, NamedVideo


def refuse_rows_of_frames(
    table: LabelTable, index: CSVIndex, videos: Sequence[NamedVideo], owned: Collection[int]
) -> None:
    """Refuse rows of which several name frames of a video, and none the video: the label of the first is not its.

    Parameters
    ----------
    table, index
        What the CSV file says, and its rows by what they call their videos.
    videos
        All that there are.
    owned
        The rows that name a video, or its first frame.

    Raises
    ------
    CatalogError
        With the schema that makes each frame a video, where one is known.
    """
    free = (key for row, key in enumerate(table.keys) if row not in owned)
    forms = {unnumbered(basename_of(name)) for key in free for name in called(key)}
    for video in videos if forms else ():
        for frames in video.frames:
            rows = _rows_of_frames(index, video, frames) if unnumbered(basename_of(frames.first)) in forms else []
            if len(rows) > 1 and not index.rows_of(_without_frames(video)):
                keys = video.keys(common_root([each.path for each in videos]))
                sample = f"if each is a sample of its own, {frames.schema} in a --schema makes it one; else "
                raise CatalogError(
                    f"{table.where(rows[0])}: {table.keys[rows[0]]!r} and {counted(len(rows) - 1, 'more row')} name "
                    f"datasets that are frames of one video here, {video}; {sample * bool(frames.schema)}name the "
                    f"video itself, as {' or '.join(map(repr, keys))}, and no frame of it"
                )


def _rows_of_frames(index: CSVIndex, video: NamedVideo, frames: FrameNames) -> list[int]:
    return [row for path in frames.paths() for row in index.rows_of(video._replace(inner=(path,), whole_file=False))]


def _without_frames(video: NamedVideo) -> NamedVideo:
    """Return a video without the paths of its first frames among its names."""
    firsts = {frames.first for frames in video.frames}
    return video._replace(inner=tuple(path for path in video.inner if path not in firsts))
