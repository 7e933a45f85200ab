"""Numbered groups with a picture of each camera, which are videos here: says what would make them frames. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING

from loader_service.catalog.dtypes import is_number
from loader_service.catalog.inner_paths import basename_of, join, parent_of
from loader_service.catalog.layouts.datasets import DatasetsVideo
from loader_service.catalog.videos.frame_axis import have_roles
from loader_service.catalog.videos.numbered import are_called_frames
from loader_service.catalog.videos.numbers_of_frames import count_without_gaps
from loader_service.catalog.videos.readings import Reading, in_one_line
from loader_service.schema import VIDEO, SchemaField
from loader_service.sizes import counted

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from loader_service.catalog.hdf5.tree import DatasetInfo, Tree
    from loader_service.catalog.videos.episodes import Episode, Found, VideoField

    #: The pictures of each camera, by the group above their numbers, and the camera's name.
    Cameras = Mapping[str, Mapping[str, Sequence[DatasetInfo]]]

#: Cameras of one frame, at most; and frames of a recording, at least.
_MOST_CAMERAS, _LEAST_FRAMES = 16, 3


def lines_of_camera_groups(tree: Tree, found: Found) -> dict[str, str]:
    """Return a line where numbers alone name groups without a gap, in which words name the same cameras in each.

    Of a file in which some lack a camera, it says which. Pictures that are fields of one video already are not meant.

    Parameters
    ----------
    tree, found
        The file, and its videos.
    """
    filled = found.filled
    if found.layout != "groups" or len(filled) < _LEAST_FRAMES or filled[0].frame_count > _MOST_CAMERAS:
        return {}
    pictures = [_picture_of(tree, episode) for episode in filled]
    if not all(pictures) or not all(basename_of(info.parent).isdecimal() for info in pictures if info):
        return {}
    first = next(info for info in pictures if info)
    inside: dict[str, dict[str, list[DatasetInfo]]] = {parent_of(info.parent): {} for info in pictures if info}
    groups: dict[str, None] = {}
    for info in tree.datasets.values():
        above = parent_of(info.parent) if "/" in info.path else None
        if above in inside and (info.kind, len(info.shape)) == (first.kind, len(first.shape)):
            inside[above].setdefault(info.basename, []).append(info)
            groups[info.parent] = None
    if not all(basename_of(group).isdecimal() for group in groups) or not count_without_gaps(groups, _LEAST_FRAMES):
        return {}
    names = set(next(iter(inside.values())))
    if not 1 < len(names) <= _MOST_CAMERAS or any(set(each) != names for each in inside.values()):
        return {}
    return _line(inside, groups) if have_roles(names) and not are_called_frames(names) else {}


def _picture_of(tree: Tree, episode: Episode) -> DatasetInfo | None:
    """Return the first picture of a video, if each is a dataset, and the video has no other field of pictures."""
    paths = [path for part in episode.parts.values() if (path := _first_of(part))]
    return tree.datasets.get(paths[0]) if len(paths) == 1 else None


def _first_of(part: VideoField) -> str:
    if part.kind != "image":
        return ""
    if isinstance(part.frames, DatasetsVideo):
        return "" if part.frames.layout.group_a_frame else part.frames.members[0].path
    return part.path if part.digits >= 0 or (part.info is not None and part.info.shape == part.shape) else ""


def _line(inside: Cameras, groups: Collection[str]) -> dict[str, str]:
    counts = {above: sum(parent_of(group) == above for group in groups) for above in inside}
    first = next(iter(inside))
    names = list(inside[first])
    whole = [name for name in names if all(len(each[name]) == counts[above] for above, each in inside.items())]
    if any(2 * len(members) < counts[above] for above, each in inside.items() for members in each.values()):
        return {}
    fields = [
        SchemaField.at(join(first if len(inside) == 1 else VIDEO, f"*/{name}"), "image", _shape_of(info), name=name)
        for name in whole
        for info in inside[first][name][:1]
    ]
    lacking = [f"{name!r}, which is missing in {_without(inside, groups, name)}" for name in names if name not in whole]
    one = "one video" if len(inside) == 1 else "a video of each group above"
    schema = in_one_line(Reading.of("files" if len(inside) == 1 else "groups", "", fields).schema) if fields else ""
    taken = f"{schema} in a --schema makes {one}, with a group a frame" if fields else ""
    write = f"write {', and '.join(lacking)}"
    if lacking and fields:
        taken += (
            f", and without {' and '.join(repr(name) for name in names if name not in whole)}: to have all, {write}"
        )
    remedy = taken or f"{write}, and `inspect` shows the schema for frames"
    return {
        f"{first or '/'} (cameras)": f"{counted(len(groups), 'group')} such as {next(iter(groups))!r} hold pictures "
        f"{' and '.join(map(repr, names[:2]))}, which are frames, or videos, of their own here; if the numbers of "
        f"these groups count frames, {remedy}, in a file"
    }


def _shape_of(info: DatasetInfo) -> tuple[int, ...] | None:
    return info.shape if is_number(info.dtype) and len(info.shape) > 1 else None


def _without(inside: Cameras, groups: Collection[str], name: str) -> str:
    """Return how many groups lack a camera, with the first."""
    have = {info.parent for each in inside.values() for info in each[name]}
    lacking = [group for group in groups if group not in have]
    return f"{counted(len(lacking), 'group')} such as {lacking[0]!r}"
