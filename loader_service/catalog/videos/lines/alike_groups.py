"""Says where videos of one length have the same numbers in each of several groups: maybe cameras of these. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING

from loader_service.catalog.inner_paths import basename_of, grouped, parent_of
from loader_service.catalog.videos.camera_readings import Sequences, cameras_or_videos
from loader_service.catalog.videos.cameras import have_same_numbers
from loader_service.catalog.videos.readings import in_one_line
from loader_service.schema import VIDEO

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
    alone = {_path_of(video): video for video in filled if _is_alone(video)}
    counts = {path: video.frame_count for path, video in alone.items()}
    sets = grouped(counts, parent_of)
    if len(counts) < len(filled) or len(set(counts.values())) > 1 or 1 in counts.values():
        return {}
    if len(sets) < 2 or not have_same_numbers(sets):
        return {}
    parts = {path: part for path, video in alone.items() for part in video.parts.values() if part.digits >= 0}
    numbered = {path: (part.pattern.removeprefix(f"{VIDEO}/"), part.shape) for path, part in parts.items()}
    cameras = cameras_or_videos(sets, Sequences(counts, set(counts), numbered=numbered), equal=True).readings[0]
    return {f"{filled[0].name} (cameras)": _LINE.format(len(sets), in_one_line(cameras.schema))}


def _is_alone(video: Episode) -> bool:
    """Tell whether a video has one field, its pictures."""
    return [part.kind for part in video.parts.values()] == ["image"]


def _path_of(video: Episode) -> str:
    """Return the dataset of a video; its group, where raw frames are datasets that numbers alone name."""
    numbered = any(part.digits >= 0 and basename_of(part.path).isdecimal() for part in video.parts.values())
    return video.root if numbered and video.root else video.dataset_path
