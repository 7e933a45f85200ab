"""Says where videos of one length have the same numbers in each of several groups: maybe cameras of these. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING

from loader_service.catalog.inner_paths import basename_of, grouped, parent_of
from loader_service.catalog.videos.camera_readings import Sequences, cameras_or_videos
from loader_service.catalog.videos.cameras import have_same_numbers
from loader_service.catalog.videos.readings import in_one_line

if TYPE_CHECKING:
    from loader_service.catalog.videos.episodes import Episode, Found

_LINE = (
    "sequences of one length, of the same numbers in {} groups, are served as videos of their own; if they are cameras "
    "of one, {} in a --schema makes each group a video, in a file"
)


def lines_of_alike_groups(found: Found) -> dict[str, str]:
    """Return a line for videos that are a dataset of pictures each, named by the same numbers in each group."""
    filled = found.filled
    if len(filled) < 4 or found.layout != "groups" or not basename_of(filled[0].name).isdecimal():
        return {}
    counts = {video.dataset_path: video.frame_count for video in filled if _is_alone(video)}
    sets = grouped(counts, parent_of)
    if len(counts) < len(filled) or len(set(counts.values())) > 1 or 1 in counts.values():
        return {}
    if len(sets) < 2 or not have_same_numbers(sets):
        return {}
    cameras = cameras_or_videos(sets, Sequences(counts, set(counts)), equal=True).readings[0]
    return {f"{filled[0].name} (cameras)": _LINE.format(len(sets), in_one_line(cameras.schema))}


def _is_alone(video: Episode) -> bool:
    """Tell whether a video has one field, its pictures."""
    return [part.kind for part in video.parts.values()] == ["image"]
