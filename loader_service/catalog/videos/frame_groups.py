"""Groups that count, with one picture each: frames of one video, or a video each. Sees what videos were found."""

from __future__ import annotations

import re
from collections import Counter
from typing import TYPE_CHECKING

from loader_service.catalog.inner_paths import basename_of, join, parent_of
from loader_service.catalog.natural import are_times
from loader_service.catalog.videos.numbered import in_order
from loader_service.catalog.videos.readings import Reading, TwoReadingsError
from loader_service.schema import VIDEO, Schema, SchemaField

if TYPE_CHECKING:
    from collections.abc import Sequence

    from loader_service.catalog.hdf5.tree import DatasetInfo
    from loader_service.catalog.videos.episodes import Episode, Found, VideoField
    from loader_service.schema import FieldKind


def refuse_frame_groups(found: Found) -> None:
    """Refuse a file whose videos have one frame each, in groups with dense numbers that are called as frames are.

    Raises
    ------
    TwoReadingsError
        With the schema for a video each; and, where the frames are numbers, for one video.
    """
    filled = [episode for episode in found.episodes if episode.frame_count]
    if found.layout != "groups" or len(filled) < 2 or any(episode.frame_count > 1 for episode in filled):
        return
    names = [basename_of(episode.name) for episode in filled]
    timed = are_times(names) or all(map(_SECONDS.fullmatch, names))
    groups = [episode.name if timed else _frame_group(episode.root or "") for episode in filled]
    if not timed and not (all(groups) and _are_dense(groups)):
        return
    several = tuple(
        SchemaField(_name(key), part.kind, (_pattern(key, part),), "", None if part.frames else part.shape)
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
            *_of_one_video(filled, groups),
            Reading("a video of one frame each", Schema(("groups",), several)),
        ],
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
_FRAME = re.compile(r"(.*/)?((frame|step|timestep)s?[_-]?/?|t[_-]?)[0-9]+(?=/|$)", re.IGNORECASE)

#: Seconds from the start of a recording.
_SECONDS = re.compile(r"[0-9]+[.][0-9]{2,}")

#: Of numbers that are farther apart, pictures are samples.
_LEAST_SHARE = 0.25
_NUMBER = re.compile(r"[0-9]+$")


def _of_one_video(filled: Sequence[Episode], groups: Sequence[str]) -> list[Reading]:
    """Return the reading as one video, or one for each group above, with fields that are a dataset in each frame's."""
    members: dict[tuple[str, str], list[DatasetInfo]] = {}
    parts: dict[str, VideoField] = {}
    for episode, group in zip(filled, groups, strict=True):
        for part in episode.parts.values():
            if part.info is not None and not part.dtype.startswith(("S", "vlen")):
                key = part.path[len(group) + 1 :]
                members.setdefault((key, parent_of(group)), []).append(part.info)
                parts.setdefault(key, part)
    above = Counter(map(parent_of, dict.fromkeys(groups)))
    fields = []
    for key, part in parts.items():
        ordered = {parent: in_order(members.get((key, parent), [])) for parent in above}
        patterns = [
            frames.pattern[len(parent) :].removeprefix("/")
            for parent, frames in ordered.items()
            if frames is not None and len(frames.members) == above[parent]
        ]
        if len(patterns) == len(above):
            pattern = join(next(iter(above)) if len(above) == 1 else VIDEO, patterns[0])
            kind: FieldKind = "array" if part.kind == "value" else part.kind
            fields.append(SchemaField(_name(key), kind, (pattern,), "", part.shape))
    one = len(above) == 1
    words = "one video, with a group for each frame" if one else "a video of each group above, with a group a frame"
    return [Reading(words, Schema(("files",) if one else ("groups",), tuple(fields)))] if fields else []
