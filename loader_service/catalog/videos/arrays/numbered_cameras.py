"""Groups of raw pictures, a dataset a frame, that are cameras of one video; and what has the numbers of these. Pure."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from loader_service.catalog.inner_paths import key_in, lies_in
from loader_service.catalog.videos.camera_readings import Sequences
from loader_service.catalog.videos.cameras import cameras_of_numbered
from loader_service.catalog.videos.numbered import kind_of_frames, missing_beside

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from loader_service.catalog.hdf5.tree import Tree
    from loader_service.catalog.videos.numbered import NumberedFrames


def cameras_by_number(
    tree: Tree, families: Mapping[str, Sequence[NumberedFrames]], numbered: Mapping[str, Sequence[NumberedFrames]]
) -> dict[str, list[tuple[str, NumberedFrames]]]:
    """Return, by the group that is their video, the groups of pictures that are cameras, and what has their numbers.

    Raises
    ------
    TwoReadingsError
        When they may be videos of their own.
    """
    cameras = {
        group: each[0]
        for group, each in numbered.items()
        if group and len(each) == 1 and kind_of_frames(each[0].members[0]) == "image"
    }
    if len(cameras) < 2:
        return {}
    all_paths = {info.path for each in families.values() for frames in each for info in frames.members}
    inside = Counter(info.parent for info in tree.datasets.values())
    forms = {
        group: (
            _numbers_of(key_in(group, frames.pattern), len(frames.members) < inside[group]),
            frames.members[0].shape,
        )
        for group, frames in cameras.items()
    }
    counts = {group: len(frames.members) for group, frames in cameras.items()}
    sets = cameras_of_numbered(tree, Sequences(counts, all_paths, numbered=forms))
    others = {group: each[0] for group, each in families.items() if len(each) == 1 and group not in cameras}
    fields = {}
    for root, groups in sets.items():
        members = cameras[groups[0]].members
        beside = {
            group: frames
            for group, frames in others.items()
            if lies_in(group, {root}) and missing_beside(members, frames) >= 0
        }
        own = {group: cameras[group] for group in groups}
        fields[root] = [(key_in(root, group), frames) for group, frames in (own | beside).items()]
    return fields


def _numbers_of(key: str, has_others: bool) -> str:
    """Return what names the frames of a group in a schema; a star alone would name others that lie there, too."""
    return "[0-9]*" if key == "*" and has_others else key
