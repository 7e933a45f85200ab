"""Videos whose frames are datasets with a number each, by the group that holds them. Sees paths and shapes."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING

from loader_service.catalog.dtypes import is_number
from loader_service.catalog.inner_paths import basename_of, join, parent_of
from loader_service.catalog.layouts.datasets import DatasetsVideo
from loader_service.catalog.videos.across_groups import are_fields, numbered_fields
from loader_service.catalog.videos.episodes import Episode, Found, find_roots, found_of, key_in
from loader_service.catalog.videos.few_pictures import refuse_few_pictures
from loader_service.catalog.videos.numbered import NumberedFrames, find_numbered, numbered_by_group, numbered_part
from loader_service.catalog.videos.readings import in_one_line
from loader_service.schema import VIDEO, Schema, SchemaField

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
    numbered = find_numbered(unnamed)
    for group, families in numbered_by_group(info for info in datasets if not info.shape).items():
        numbered.get(group, []).extend(families)  # an angle for each frame
    return _of_groups(fields) or _of_numbered(tree, numbered)


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
    if not episodes:
        return None
    found = found_of(episodes)
    if len(fields) == 1:
        found.left_out.update(_line_of_samples(*next(iter(fields.items()))))
    return found


def _line_of_samples(root: str, fields: Sequence[tuple[str, NumberedFrames]]) -> dict[str, str]:
    """Return a line with the schema by which each number is a sample, as of pictures at two resolutions.

    Only groups whose datasets have the same names can be fields of one sample.
    """
    names = [info.basename for info in max((frames.members for _, frames in fields), key=len)]
    alike = [(key, frames) for key, frames in fields if [info.basename for info in frames.members] == names]
    parts = [(key, numbered_part(frames, "")) for key, frames in alike]
    each = Schema(
        ("groups",),
        tuple(
            SchemaField(key, part.kind if part.shape else "value", (join(root, f"{key}/{VIDEO}"),), "", part.shape)
            for key, part in parts
        ),
    )
    return {
        f"{alike[0][0]} (samples)": f"its numbers are taken for frames of one video; if each is a sample of its own, "
        f"{in_one_line(each)} in a --schema makes it one, in a file"
    }


def _of_numbered(tree: Tree, numbered: Mapping[str, Sequence[NumberedFrames]]) -> Found | None:
    """Return a video for each group of numbered datasets, each frame of which is a dataset in each field."""
    if not numbered:
        return None
    pictures = {group: [one for one in each if one.members[0].shape] for group, each in numbered.items()}
    refuse_few_pictures(tree.datasets.values(), {group: each[0] for group, each in pictures.items() if len(each) == 1})
    counts = {group: _frame_count(each) for group, each in numbered.items()}
    roots = find_roots(tree, list(numbered), list(counts.values()))
    episodes = []
    for root, (group, each) in zip(roots, numbered.items(), strict=True):
        main = next(frames for frames in each if len(frames.members) == counts[group])
        used = {frames.key: (frames, missing) for frames in each if (missing := _missing(main.members, frames)) >= 0}
        parts = {
            key_in(root, join(group, key)): replace(numbered_part(frames, _pattern(root, frames)), missing=missing)
            for key, (frames, missing) in used.items()
        }
        helpers = frozenset(info.path for frames, _ in used.values() for info in frames.members)
        episodes.append(Episode(root, root, counts[group], main.members[0].path, parts, helpers))
    return found_of(episodes)


def add_beside_encoded(tree: Tree, found: Found) -> Found:
    """Return videos with an encoded dataset a frame with the numbers in datasets of the same numbers: depth, poses.

    Those lie in the same group, or in groups beside it that are called as fields are.
    """
    encoded = {
        part.path: (episode, part.frames.members)
        for episode in found.episodes
        for part in (episode.parts.values() if episode.root is not None else ())
        if isinstance(part.frames, DatasetsVideo) and not part.frames.layout.group_a_frame
    }
    if not encoded:
        return found
    own = set[str]().union(*(episode.helpers for episode, _ in encoded.values()))
    beside = [info for path, info in tree.datasets.items() if path not in own and info.parent in encoded and info.dtype]
    plain = [info for info in beside if is_number(info.dtype) and 0 not in info.shape]
    for group, each in numbered_by_group(plain, from_any=True).items():
        episode, members = encoded[group]
        for frames in each:
            missing = _missing(members, frames)
            if missing >= 0:
                key, pattern = key_in(episode.root, join(group, frames.key)), _pattern(episode.root or "", frames)
                episode.parts[key] = replace(numbered_part(frames, pattern), missing=missing)
                episode.helpers |= {info.path for info in frames.members}
    return _with_groups_beside(tree, found)


def _with_groups_beside(tree: Tree, found: Found) -> Found:
    """Return videos that are groups of encoded datasets as those above, if each has fields in groups beside it."""
    above = {parent_of(each.root): each for each in found.episodes if each.root and set(each.parts) == {""}}
    words = {basename_of(each.root or "") for each in above.values()}
    if len(above) < len(found.episodes) or len(words) > 1:
        return found
    beside = [info for info in tree.datasets.values() if parent_of(info.parent) in above and info.dtype]
    plain = [info for info in beside if is_number(info.dtype) and 0 not in info.shape]
    fields: dict[str, dict[str, NumberedFrames]] = {root: {} for root in above}
    for group, families in numbered_by_group(plain, from_any=True).items():
        encoded = above[parent_of(group)].parts[""].frames
        members = encoded.members if isinstance(encoded, DatasetsVideo) else ()
        if len(families) == 1 and _numbers_of(members, len(families[0].members)) == families[0].first_number:
            fields[parent_of(group)][basename_of(group)] = families[0]
    names = set(map(frozenset, fields.values()))
    if len(names) > 1 or not are_fields([*words, *next(iter(fields.values()))]):
        return found
    episodes = []
    for root, episode in above.items():
        parts = {key: numbered_part(frames, _pattern(root, frames)) for key, frames in fields[root].items()}
        helpers = episode.helpers.union(*({info.path for info in each.members} for each in fields[root].values()))
        main = {basename_of(episode.root or ""): episode.parts[""]}
        episodes.append(replace(episode, name=root, root=root, parts=main | parts, helpers=frozenset(helpers)))
    return replace(found_of(episodes), left_out=found.left_out)


def _missing(members: Sequence[DatasetInfo], frames: NumberedFrames) -> int:
    """Return how many entries fewer than members there are, 1 as of actions between these; -1 where they do not fit."""
    count = len(frames.members)
    fits = len(members) - count in {0, 1} and _numbers_of(members[:count], count) == frames.first_number
    return len(members) - count if fits else -1


def _numbers_of(members: Sequence[DatasetInfo], count: int) -> int | None:
    """Return the first number of so many datasets, if their numbers have no gap; else None."""
    numbers = zip(*(map(int, _DIGITS.findall(info.basename)) for info in members), strict=False)
    firsts = [column[0] for column in numbers if column == tuple(range(column[0], column[0] + count))]
    return firsts[0] if firsts else None


_DIGITS = re.compile(r"[0-9]{1,18}")


def _frame_count(numbered: Sequence[NumberedFrames]) -> int:
    """Return how many frames the fields of one group have: as many as those that look like frames."""
    return next(len(frames.members) for frames in numbered if frames.looks_like_frames)


def _pattern(root: str, frames: NumberedFrames) -> str:
    inside = key_in(root, frames.pattern)
    return f"{VIDEO}/{inside}" if root else inside
