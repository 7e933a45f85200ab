"""Videos whose frames are a group each: their cameras, and the numbers beside them. Sees paths and shapes only."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from operator import attrgetter
from typing import TYPE_CHECKING

from loader_service.catalog.dtypes import is_number
from loader_service.catalog.inner_paths import basename_of, grouped, key_in, parent_of
from loader_service.catalog.layouts.nested import frame_place, in_sequence
from loader_service.catalog.videos.episodes import Episode, Found, found_of, frames_part, pattern_in
from loader_service.catalog.videos.numbered import NumberedFrames, numbered_part
from loader_service.catalog.videos.readings import in_one_line
from loader_service.schema import Schema, SchemaField

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from loader_service.catalog.hdf5.tree import DatasetInfo, Tree
    from loader_service.catalog.layouts.layout import FoundVideo

#: The datasets at one path in the groups of frames, by that path.
_Families = dict[str, list["DatasetInfo"]]


def are_nested(found: Sequence[FoundVideo]) -> bool:
    """Tell whether all sequences of encoded frames have a group for each frame."""
    return bool(found) and all(video.layout.group_a_frame for video in found)


def group_nested(tree: Tree, found: Sequence[FoundVideo]) -> Found:
    """Return a video for each group of groups of frames, with a field for each path in these.

    What lies there and becomes no field is noted in `Found.left_out`.
    """
    cameras = grouped(found, attrgetter("name"))
    places = [(info, place) for info in tree.datasets.values() if (place := frame_place(info.path))]
    inside: dict[str, _Families] = {name: {} for name in cameras}
    for info, place in places:
        if place.video in inside:
            inside[place.video].setdefault(place.inner, []).append(info)
    left_out: dict[str, str] = {}
    episodes = [
        _episode(name, root, cameras[name], inside[name], left_out)
        for name, root in zip(cameras, _roots(list(cameras)), strict=True)
    ]
    return replace(found_of(episodes), left_out=left_out)


def _roots(names: Sequence[str]) -> list[str]:
    """Return the groups that are a video each: the file for one alone; above groups that are all called alike."""
    if len(names) == 1:
        return [""]
    above = Counter(map(parent_of, names))
    alike = len({basename_of(name) for name in names}) == 1 and max(above.values()) == 1
    return list(above) if alike else list(names)


def _episode(
    name: str,
    root: str,
    cameras: Sequence[FoundVideo],
    inside: Mapping[str, list[DatasetInfo]],
    left_out: dict[str, str],
) -> Episode:
    count = cameras[0].frame_count
    episode = Episode(root, root, count, name)
    encoded = {video.dataset_path: video for video in cameras}
    for key, members in inside.items():
        episode.helpers |= {info.path for info in members}
        video = next((encoded[info.path] for info in members if info.path in encoded), None)
        if video is not None:
            episode.parts[key] = replace(frames_part(video), pattern=_pattern(root, video.dataset_path))
            continue
        reason = _difference(members, count)
        place = frame_place(members[0].path)
        if reason or place is None:
            left_out[key] = f"{reason}{_as_lists(cameras[0], members)}, in a video"
        else:
            part = numbered_part(NumberedFrames(tuple(members), len(place.before)), "")
            episode.parts[key] = replace(part, pattern=_pattern(root, members[0].path))
    return episode


def _difference(members: list[DatasetInfo], count: int) -> str:
    """Return why datasets in the groups of frames are no field, having put them in order; empty if they are one."""
    first = members[0]
    if len(members) != count:
        return f"expected it in the groups of all {count} frames, found it in {len(members)}"
    ordered = in_sequence(members)
    if ordered is None:
        return "expected frames to have numbers without gaps"
    members[:] = ordered
    if not is_number(first.dtype):
        return f"expected numbers in the group of each frame, found {first.describe()}"
    odd = next((info for info in members if (info.dtype, info.shape) != (first.dtype, first.shape)), None)
    if odd is not None:
        return f"expected one shape in the groups of all frames, found {first.describe()} and {odd.describe()}"
    return f"expected at least one number, found {first.describe()}" if 0 in first.shape else ""


def _as_lists(camera: FoundVideo, members: Sequence[DatasetInfo]) -> str:
    """Return what serves arrays of all frames that differ in their rows alone, such as contacts, as lists of these."""
    first, place, at = members[0], frame_place(members[0].path), frame_place(camera.dataset_path)
    alike = len({(info.dtype, info.shape[1:], len(info.shape)) for info in members}) == 1 and is_number(first.dtype)
    rows = {info.shape[:1] for info in members}
    if place is None or at is None or not alike or len(rows) < 2 or len(members) != camera.frame_count:
        return ""
    picture = SchemaField.in_group(at.inner, frames_part(camera).kind, name=basename_of(at.inner))
    lists = SchemaField.in_group(place.inner, shape=(0, *first.shape[1:]), name=place.inner)
    return (
        f"; for samples of one frame with its list, {in_one_line(Schema(('groups',), (picture, lists)))} in a "
        "--schema; for clips, write one vlen dataset of numbers with an entry for each frame"
    )


def _pattern(root: str, path: str) -> str:
    """Return a path in the group of a frame as a schema names it, with a star for the number."""
    place = frame_place(path)
    if place is None:
        return path
    return pattern_in(root, f"{key_in(root, place.before)}*/{place.inner}")
