"""What groups with a picture each can be, as schemas: frames of one video, or a video each. Sees what was found."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from loader_service.catalog.dtypes import is_number
from loader_service.catalog.inner_paths import join, key_in, parent_of
from loader_service.catalog.layouts.datasets import DatasetsVideo
from loader_service.catalog.layouts.nested import in_sequence, place_of
from loader_service.catalog.sides import common_shape
from loader_service.catalog.videos.episodes import VideoField
from loader_service.catalog.videos.numbered import in_order, kind_of_frames
from loader_service.catalog.videos.readings import Reading, fields_of
from loader_service.schema import VIDEO, SchemaField

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from loader_service.catalog.hdf5.tree import DatasetInfo, Tree
    from loader_service.catalog.videos.episodes import Episode
    from loader_service.schema import FieldKind


def of_one_video(
    tree: Tree, filled: Sequence[Episode], groups: Sequence[str], arrays: Sequence[DatasetInfo] = ()
) -> list[Reading]:
    """Return the reading as one video, or one for each group above, with fields that are a dataset in each frame's.

    `arrays` have an entry for each frame.
    """
    members, parts = _inside(tree, filled, groups)
    above = Counter(map(parent_of, dict.fromkeys(groups)))
    fields = []
    for key, part in parts.items():
        inside = [(parent, members.get((key, parent), [])) for parent in above]
        encoded = part.frames is not None
        patterns = [_star(parent, each, encoded) for parent, each in inside if len(each) == above[parent]]
        if len(patterns) == len(above) and all(patterns):
            pattern = join(next(iter(above)) if len(above) == 1 else VIDEO, patterns[0])
            kind: FieldKind = "array" if part.kind == "value" else part.kind
            shape = None if encoded else part.shape
            if part.info is not None:  # all of it is one frame, its only row too
                kind, shape = kind_of_frames(part.info), part.info.shape
            fields.append(SchemaField.at(pattern, kind, shape, name=key or "frames"))
    fields.sort(key=lambda field: field.kind != "image")  # a refusal shows the first ones
    fields += fields_of(arrays)
    one = len(above) == 1
    words = "one video, with a group for each frame" if one else "a video of each group above, with a group a frame"
    return [Reading.of("files" if one else "groups", words, fields)] if fields else []


def _inside(
    tree: Tree, filled: Sequence[Episode], groups: Sequence[str]
) -> tuple[dict[tuple[str, str], list[DatasetInfo]], dict[str, VideoField]]:
    """Return the datasets in groups of frames by path inside and group above, and by path what each would be."""
    members: dict[tuple[str, str], list[DatasetInfo]] = {}
    parts: dict[str, VideoField] = {}
    for episode, group in zip(filled, groups, strict=True):
        for part in episode.parts.values():
            info = _dataset_of(part)
            if info is not None:
                key = part.path[len(group) + 1 :]
                members.setdefault((key, parent_of(group)), []).append(info)
                parts.setdefault(key, part)
    for group, info in others_in(tree, filled, groups):
        key = info.path[len(group) + 1 :]
        members.setdefault((key, parent_of(group)), []).append(info)
        kind: FieldKind = kind_of_frames(info) if info.shape else "value"
        parts.setdefault(key, VideoField(kind, info.dtype, info.shape, info.path))
    return members, parts


def others_in(tree: Tree, filled: Sequence[Episode], groups: Sequence[str]) -> Iterator[tuple[str, DatasetInfo]]:
    """Yield the numbers in the group of a frame that are no part of its picture's video, with that group."""
    wanted = set(groups)
    parts = [part for episode in filled for part in episode.parts.values()]
    taken = {part.path for part in parts} | {info.path for part in parts if (info := _dataset_of(part))}
    for info in tree.datasets.values():
        if info.path in taken or not is_number(info.dtype):
            continue
        group = info.parent
        while group and group not in wanted:
            group = parent_of(group)
        if group:
            yield group, info


def _dataset_of(part: VideoField) -> DatasetInfo | None:
    """Return the dataset of a field that has one, with numbers, or an image, in it."""
    if part.frames is not None:
        members = part.frames.members if isinstance(part.frames, DatasetsVideo) else ()
        return members[0] if len(members) == 1 else None
    return None if part.info is None or not is_number(part.info.dtype) else part.info


def _star(parent: str, members: Sequence[DatasetInfo], encoded: bool) -> str:
    """Return the path of datasets in a group with a star for their number; empty if they are no sequence."""
    if not encoded:
        frames = in_order(members, from_any=True)
        return key_in(parent, frames.pattern) if frames else ""
    ordered = in_sequence(members)
    place = None if ordered is None else place_of(ordered)
    return f"{key_in(parent, place.before)}*/{place.inner}" if place else ""


def of_few_frames(tree: Tree, filled: Sequence[Episode], groups: Sequence[str]) -> list[Reading]:
    """Return the readings as a video of each group: of what counts the frames with all in it, where that can be told.

    Of several numbered pictures, these are the frames, or each is a field of one.
    """
    count, first = filled[0].frame_count, filled[0]
    own = {key: part for key, part in first.parts.items() if not part.attribute}
    sides = {key: None if part.frames else sides_in(filled, key) for key, part in own.items()}
    fields = [
        SchemaField.at(part.pattern or join(VIDEO, key), part.kind, sides[key], name=key or "frames")
        for key, part in own.items()
    ]
    readings = [Reading.of_groups(f"a video of {count_of_frames(count)} each", fields)]
    if not (all(groups) and first.root and all(map(_dataset_of, own.values()))):
        return readings
    members, parts = _inside(tree, filled, groups)
    named = {key: [info for place, each in members.items() if place[0] == key for info in each] for key in parts}
    fields = [
        SchemaField.at(_within(groups, each[0].path), part.kind, None if part.frames else sides, name=key or "frames")
        for key, part in parts.items()
        for each in [named[key]]
        for sides in [common_shape([info.shape for info in each])]
        if len(each) == len(set(groups))
    ]
    fields.sort(key=lambda field: field.kind != "image")
    if count == 1:
        return [Reading.of_groups(readings[0].words, fields)]
    return [*readings, Reading.of_groups("a video of one frame each, with a field for each picture", fields)]


def _within(groups: Sequence[str], path: str) -> str:
    """Return a path in one of some groups as a schema names it."""
    group = next(each for each in groups if path.startswith(f"{each}/"))
    return f"{VIDEO}{path[len(group) :]}"


def sides_in(filled: Sequence[Episode], key: str) -> tuple[int, ...]:
    """Return the sides that a field has in all videos, 0 for one that differs; none where even their number does."""
    shapes = [episode.parts[key].shape for episode in filled if key in episode.parts]
    return common_shape(shapes) if len(set(map(len, shapes))) == 1 else ()


def count_of_frames(count: int) -> str:
    """Return how many frames, in words."""
    return "one frame" if count == 1 else f"{count} frames"
