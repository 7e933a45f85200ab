"""Videos whose frames are datasets with a number each, by the group that holds them. Sees paths and shapes."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from loader_service.catalog.inner_paths import join
from loader_service.catalog.videos.across_groups import numbered_fields
from loader_service.catalog.videos.episodes import Episode, Found, find_roots, found_of, key_in
from loader_service.catalog.videos.numbered import NumberedFrames, find_numbered, numbered_by_group, numbered_part
from loader_service.schema import VIDEO

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from loader_service.catalog.hdf5.tree import DatasetInfo, Tree


def find_numbered_videos(tree: Tree, datasets: Sequence[DatasetInfo], unnamed: Sequence[DatasetInfo]) -> Found | None:
    """Return a video for each group, or group of groups, whose frames are numbered datasets; None if there is none.

    Parameters
    ----------
    tree
        The file.
    datasets
        Its numbers, labels included.
    unnamed
        Those that are not called as labels are.
    """
    fields = numbered_fields(numbered_by_group(datasets))
    return _of_groups(fields) or _of_numbered(tree, find_numbered(unnamed))


def _of_groups(fields: Mapping[str, Sequence[tuple[str, NumberedFrames]]]) -> Found | None:
    """Return a video for each group whose groups are fields, with a dataset for each frame."""
    episodes = []
    for root, each in fields.items():
        count = max(len(frames.members) for _, frames in each)
        parts = {
            key: replace(numbered_part(frames, _pattern(root, frames)), missing=count - len(frames.members))
            for key, frames in each
        }
        helpers = frozenset(info.path for _, frames in each for info in frames.members)
        first = next(frames.members[0] for _, frames in each if len(frames.members) == count)
        episodes.append(Episode(root, root, count, first.path, parts, helpers))
    return found_of(episodes) if episodes else None


def _of_numbered(tree: Tree, numbered: Mapping[str, Sequence[NumberedFrames]]) -> Found | None:
    """Return a video for each group of numbered datasets, each frame of which is a dataset in each field."""
    if not numbered:
        return None
    counts = {group: _frame_count(each) for group, each in numbered.items()}
    roots = find_roots(tree, list(numbered), list(counts.values()))
    episodes = []
    for root, (group, each) in zip(roots, numbered.items(), strict=True):
        used = [frames for frames in each if len(frames.members) == counts[group]]
        parts = {
            key_in(root, join(group, frames.key)): numbered_part(frames, _pattern(root, frames)) for frames in used
        }
        helpers = frozenset(info.path for frames in used for info in frames.members)
        episodes.append(Episode(root, root, counts[group], used[0].members[0].path, parts, helpers))
    return found_of(episodes)


def _frame_count(numbered: Sequence[NumberedFrames]) -> int:
    """Return how many frames the fields of one group have: as many as those that look like frames."""
    return next(len(frames.members) for frames in numbered if frames.looks_like_frames)


def _pattern(root: str, frames: NumberedFrames) -> str:
    inside = key_in(root, frames.pattern)
    return f"{VIDEO}/{inside}" if root else inside
