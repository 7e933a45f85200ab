"""Groups that count, with one picture each: frames of one video, or a video each. Sees what videos were found."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING

from loader_service.catalog.dtypes import is_number
from loader_service.catalog.inner_paths import basename_of, join, parent_of
from loader_service.catalog.layouts.datasets import DatasetsVideo
from loader_service.catalog.layouts.nested import in_sequence, place_of
from loader_service.catalog.names import LABEL_NAMES
from loader_service.catalog.natural import are_seconds, are_times, decimals_of
from loader_service.catalog.sides import common_shape
from loader_service.catalog.videos.episodes import VideoField
from loader_service.catalog.videos.numbered import in_order, kind_of_frames
from loader_service.catalog.videos.readings import Reading, TwoReadingsError, free_name, in_one_line
from loader_service.catalog.videos.sibling_groups import is_recording
from loader_service.catalog.vocabulary import FRAMES
from loader_service.schema import VIDEO, Schema, SchemaField

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from loader_service.catalog.hdf5.tree import DatasetInfo, Tree
    from loader_service.catalog.videos.episodes import Episode, Found
    from loader_service.schema import FieldKind


def refuse_frame_groups(tree: Tree, found: Found) -> None:
    """Refuse a file whose videos have one frame each, in groups with dense numbers that are called as frames are.

    So it is with groups that only have numbers, where an array has an entry for each; without one they have a line.

    Raises
    ------
    TwoReadingsError
        With the schema for a video each; and, where the frames are numbers, for one video.
    """
    filled = [episode for episode in found.episodes if episode.frame_count]
    if tree.is_packed or found.layout != "groups" or len(filled) < 2:
        return
    if any(episode.frame_count > 1 for episode in filled):
        return
    names = [basename_of(episode.name) for episode in filled]
    datasets = all(episode.root is None for episode in filled)
    key, part = next(iter(filled[0].parts.items()))
    ordered = datasets and part.frames is not None and decimals_of(names)  # of --frames
    timed = are_times(names) or (are_seconds(names) and not ordered)
    if datasets and not timed:
        _judge_datasets(found, [episode.name for episode in filled], replace(part, shape=_sides(filled, key)))
        return
    groups = [episode.name if timed else _frame_group(episode.root or "") for episode in filled]
    arrays: Sequence[DatasetInfo] = ()
    if not timed and not (all(groups) and _are_dense(groups)):
        groups = [episode.root or "" for episode in filled]
        if not _are_counted(groups):
            _note_gaps(found, groups)
            return
        arrays = _arrays_of_all(tree, groups)
        if not arrays:
            _note_numbers(tree, found, filled, groups)
            return
    several = tuple(
        SchemaField(_name(key), part.kind, (_pattern(key, part),), "", None if part.frames else _sides(filled, key))
        for key, part in filled[0].parts.items()
        if not part.attribute
    )
    kind = "datasets" if filled[0].root is None else "groups"
    whose = "names seem to be times in" if timed else "numbers seem to count the frames of"
    raise TwoReadingsError(
        f"found {len(filled)} {kind} such as {filled[0].name!r} of one frame each, whose {whose} one video; encoded "
        "frames of one video are served as datasets of one group (frame_0, frame_1, …), or at one path in groups "
        "with such names of which no number is missing, raw ones as one dataset, and others by --source "
        "package.module:Name",
        [
            *_of_one_video(tree, filled, groups, arrays),
            Reading("a video of one frame each", Schema(("groups",), several)),
        ],
    )


def _sides(filled: Sequence[Episode], key: str) -> tuple[int, ...]:
    """Return the sides that a field has in all videos, 0 for one that differs."""
    return common_shape([episode.parts[key].shape for episode in filled if key in episode.parts])


def _judge_datasets(found: Found, paths: Sequence[str], first: VideoField) -> None:
    """Refuse datasets of one picture each that are numbered as frames are, with gaps; others have a line.

    Numbers that are far apart, without a word for a frame, are ids. `first`: the field of the first of them.
    """
    stems = {_NUMBER_BEFORE_DOT.sub("*", basename_of(path)) for path in paths}
    groups = dict.fromkeys(map(parent_of, paths))
    depths = {group.count("/") for group in groups}
    (stem,) = stems if len(stems) == 1 else ("",)
    if "*" not in stem or len(depths) > 1 or len(groups) == len(paths):
        return
    parts = zip(*(group.split("/") for group in groups), strict=True)
    pattern = join("/".join(each[0] if len(set(each)) == 1 else "*" for each in parts), stem)
    shown = f"{len(paths)} datasets such as {paths[0]!r}"
    taken = (
        f"--frames {pattern!r} makes one video of each group"
        if len(groups) > 1
        else f"--frames {pattern!r} makes one video"
    )
    if first.frames is None:
        taken = (
            "write the frames of each video as one dataset, (frames, height, width, channels), or read them in a "
            "Python source of your own (--source package.module:Name)"
        )
    if all(map(_FRAME_DATASET.search, paths)):
        shape = None if first.frames else first.shape
        each = Schema(("groups",), (SchemaField("frames", first.kind, (VIDEO,), "", shape),))
        raise TwoReadingsError(
            f"found {shown} of one frame each, whose numbers, of which some are missing, seem to count the frames of "
            f"one video: {taken}; as they lie, they are",
            [Reading("a video of one frame each", each)],
        )
    dense = _are_dense([_ENDING.sub("", path) for path in paths])
    if dense or (len(groups) > 1 and stem == "*"):
        found.left_out[f"{parent_of(paths[0]) or '/'} (numbers)"] = (
            f"{shown} are videos of one frame each, since {'some' if dense else 'most'} numbers are missing; if these "
            f"count frames, {taken}, in a file"
        )


def _are_counted(groups: Sequence[str]) -> bool:
    """Tell whether groups have every number of a span, in each group above, and are not called samples."""
    numbers: dict[str, list[int]] = {}
    for group in groups:
        digits = _NUMBER.search(group)
        if digits is None or _SAMPLE.search(group):
            return False
        numbers.setdefault(group[: digits.start()], []).append(int(digits[0]))
    return all(max(each) - min(each) == len(each) - 1 > 0 for each in numbers.values())


def _arrays_of_all(tree: Tree, groups: Sequence[str]) -> list[DatasetInfo]:
    """Return the arrays outside of groups of one parent that have an entry for each of them, as actions have."""
    inside = tuple(f"{group}/" for group in groups)
    outside = [info for info in tree.datasets.values() if info.shape[:1] == (len(groups),) and info.dtype]
    arrays = [info for info in outside if not info.path.startswith(inside) and is_number(info.dtype)]
    rows = [info for info in arrays if len(info.shape) > 1 and info.basename not in LABEL_NAMES]
    videos = any(map(is_recording, map(basename_of, groups)))
    return rows if len(set(map(parent_of, groups))) == 1 and not videos else []


def _note_numbers(tree: Tree, found: Found, filled: Sequence[Episode], groups: Sequence[str]) -> None:
    """Say that the numbers of groups may count frames, with the schema that takes them for such."""
    readings = _of_one_video(tree, filled, groups)
    if not readings:
        _note_gaps(found, groups)
    for reading in readings:
        found.left_out[f"{parent_of(groups[0]) or '/'} (numbers)"] = (
            f"{len(groups)} groups such as {groups[0]!r} are videos of one frame; if their numbers count frames, "
            f"{in_one_line(reading.schema)} in a --schema makes {reading.words}, in a file"
        )


def _note_gaps(found: Found, groups: Sequence[str]) -> None:
    """Say that groups which only have numbers, whole or not, are samples, since some numbers are missing."""
    if all(_DECIMAL.fullmatch(basename_of(group)) for group in groups):
        found.left_out[f"{parent_of(groups[0]) or '/'} (numbers)"] = (
            f"{len(groups)} groups such as {groups[0]!r} are videos of one frame, since some numbers are missing; if "
            "these count frames, give them whole numbers without a gap, and `inspect` shows the schema for frames of "
            "these, or serve them by --source package.module:Name, in a file"
        )


def _pattern(key: str, part: VideoField) -> str:
    return part.pattern or (f"{VIDEO}/{key}" if key else VIDEO)


def _are_dense(groups: Sequence[str]) -> bool:
    """Tell whether numbers at the end of paths count in each group above; some may be missing."""
    numbers: dict[str, set[int]] = {}
    for group in groups:
        digits = _NUMBER.search(group)
        numbers.setdefault(group[: digits.start()] if digits else group, set()).add(int(digits[0]) if digits else -1)
    return all(len(each) > 1 and max(each) - min(each) < len(each) / _LEAST_SHARE for each in numbers.values())


def _name(key: str) -> str:
    return key.replace("/", "_") or "frames"


def _frame_group(root: str) -> str:
    """Return the part of a path up to what counts frames, as ``frame_0`` or ``frames/0`` do; empty if nothing does."""
    found = _FRAME.match(root)
    return found[0] if found else ""


#: A number behind a word for a frame, or in a group that is called so; pictures that only have numbers are samples.
_FRAME = re.compile(rf"(.*/)?(({FRAMES})s?[_-]?/?|t[_-]?)[0-9]+(?=/|$)", re.IGNORECASE)

#: What groups of one picture are called that is no frame.
_SAMPLE = re.compile(
    r"(sample|example|item|instance|crop|patch|pair|photo|image|img|pic|picture|id)s?[_-]?[0-9]+$", re.IGNORECASE
)

#: A dataset behind a word for a frame, or in a group that is called so; the number at its end, and what follows it.
_FRAME_DATASET = re.compile(rf"({FRAMES})s?[_-]?/?[0-9]+([_-][A-Za-z]+)?([.][A-Za-z0-9]*)?$", re.IGNORECASE)
_NUMBER_BEFORE_DOT = re.compile(r"[0-9]+(?=[^0-9]*$|[.][A-Za-z0-9]+$)")
_ENDING = re.compile(r"[^0-9]*$|[.][A-Za-z0-9]+$")

#: Of numbers that are farther apart, pictures are samples.
_LEAST_SHARE = 0.25
_NUMBER = re.compile(r"[0-9]+$")
_DECIMAL = re.compile(r"[0-9]+([.][0-9]+)?")


def _of_one_video(
    tree: Tree, filled: Sequence[Episode], groups: Sequence[str], arrays: Sequence[DatasetInfo] = ()
) -> list[Reading]:
    """Return the reading as one video, or one for each group above, with fields that are a dataset in each frame's.

    `arrays` have an entry for each frame.
    """
    members: dict[tuple[str, str], list[DatasetInfo]] = {}
    parts: dict[str, VideoField] = {}
    for episode, group in zip(filled, groups, strict=True):
        for part in episode.parts.values():
            info = _dataset_of(part)
            if info is not None:
                key = part.path[len(group) + 1 :]
                members.setdefault((key, parent_of(group)), []).append(info)
                parts.setdefault(key, part)
    for group, info in _others_in(tree, filled, groups):
        key = info.path[len(group) + 1 :]
        members.setdefault((key, parent_of(group)), []).append(info)
        parts.setdefault(key, VideoField(kind_of_frames(info), info.dtype, info.shape, info.path))
    above = Counter(map(parent_of, dict.fromkeys(groups)))
    fields = []
    for key, part in parts.items():
        inside = [(parent, members.get((key, parent), [])) for parent in above]
        encoded = part.frames is not None
        patterns = [_star(parent, each, encoded) for parent, each in inside if len(each) == above[parent]]
        if len(patterns) == len(above) and all(patterns):
            pattern = join(next(iter(above)) if len(above) == 1 else VIDEO, patterns[0])
            kind: FieldKind = "array" if part.kind == "value" else part.kind
            fields.append(SchemaField(_name(key), kind, (pattern,), "", None if part.frames else part.shape))
    fields += [SchemaField(free_name(info.path), "array", (info.path,)) for info in arrays]
    one = len(above) == 1
    words = "one video, with a group for each frame" if one else "a video of each group above, with a group a frame"
    return [Reading(words, Schema(("files",) if one else ("groups",), tuple(fields)))] if fields else []


def _others_in(tree: Tree, filled: Sequence[Episode], groups: Sequence[str]) -> Iterator[tuple[str, DatasetInfo]]:
    """Yield the numbers in the group of a frame that are no part of its picture's video, with that group."""
    wanted = set(groups)
    taken = {part.path for episode in filled for part in episode.parts.values()}
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
    return None if part.info is None or not is_number(part.dtype) else part.info


def _star(parent: str, members: Sequence[DatasetInfo], encoded: bool) -> str:
    """Return the path of datasets in a group with a star for their number; empty if they are no sequence."""
    if not encoded:
        frames = in_order(members, from_any=True)
        return frames.pattern[len(parent) :].removeprefix("/") if frames else ""
    ordered = in_sequence(members)
    place = None if ordered is None else place_of(ordered)
    return f"{place.before[len(parent) :].removeprefix('/')}*/{place.inner}" if place else ""
