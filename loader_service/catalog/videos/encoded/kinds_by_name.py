"""Asks of groups of encoded frames that have the same names in each: kinds of the same videos, perhaps. Pure.

So lie pictures beside masks, or beside flow, ``JPEGImages/480p/bear`` and ``Annotations/480p/bear``: what is seen comes
first in the path, and the video behind it. Classes of videos lie so too, but there names come back by chance alone, and
have other lengths.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from loader_service.catalog.codecs import DEPTH, JPEG, formats_differ
from loader_service.catalog.inner_paths import basename_of, common_group, join, key_in, parent_of
from loader_service.catalog.videos.episodes import frames_part
from loader_service.catalog.videos.frame_axis import (
    are_fields,
    are_ids,
    are_numbered,
    have_numbers_or_ids,
    have_roles,
    mention_what_is_seen,
)
from loader_service.catalog.videos.readings import Reading, TwoReadingsError, each_by_itself
from loader_service.catalog.videos.sibling_groups import MOST_PARTS
from loader_service.schema import Schema, SchemaField
from loader_service.sizes import counted

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from loader_service.catalog.layouts.layout import FoundVideo

    #: Sequences by their names, or their paths behind that of the kind, by pattern of the groups of a kind.
    Kinds = dict[str, dict[str, FoundVideo]]

#: Two videos of two kinds.
_FEWEST_SEQUENCES = 4


def main_frames(found: Sequence[FoundVideo]) -> Sequence[FoundVideo]:
    """Return the sequences of one group, the pictures', where others beside it are surely fields of the same videos.

    All these groups are called as fields are, and numbers or ids name what is in them, the same ones in each, and as
    long one by one. Where that is not so, it is what was given.
    """
    kinds = _by_parent(found) if found[_FEWEST_SEQUENCES - 1 :] else {}
    if not kinds:
        return found
    names = next(iter(kinds.values()))
    lengths = [[video.frame_count for video in each.values()] for each in kinds.values()]
    beside = len(set(map(parent_of, kinds))) == 1
    sure = beside and are_fields(kinds) and have_numbers_or_ids(names) and all(each == lengths[0] for each in lengths)
    return list(names.values()) if sure else found


def refuse_kinds_by_name(found: Sequence[FoundVideo]) -> None:
    """Refuse sequences of which each has its namesake in every other group, unless they may well be classes.

    Of one name they are as long, or nearly. That groups are kinds is told by what these are called, or as their frames
    are of several formats; or names that are no numbers are as long one by one. Pictures that are a frame each are not
    looked at here.

    Raises
    ------
    TwoReadingsError
        With the schemas for videos with a field in each group, and for videos of their own.
    """
    filled = [video for video in found if video.frame_count]
    kinds = _by_parent(filled) or _above_classes(filled)
    if not kinds or all(video.frame_count == 1 for video in filled):
        return
    names = _names_of(list(kinds))
    lengths = [[video.frame_count for video in each.values()] for each in kinds.values()]
    rest = max(max(each) - min(each) for each in zip(*lengths, strict=True))
    told = (
        have_roles(names.values())
        or are_fields(names.values())
        or formats_differ({video.codec for video in each.values()} for each in kinds.values())
    )
    named = not are_numbered(map(basename_of, next(iter(kinds.values()))))
    differ = len(set(lengths[0])) > 1
    if not (told or (rest == 0 and (named or differ))):
        return
    first = [next(iter(each.values())) for each in kinds.values()]
    shown = " and ".join(f"{counted(each.frame_count, 'frame')} in {each.path!r}" for each in first)
    fields = [
        SchemaField.across(pattern, frames_part(video).kind, name=names[pattern])
        for pattern, video in zip(kinds, first, strict=True)
    ]
    one_length = len({video.frame_count for video in filled}) == 1
    alone = [Reading.of_groups(f"videos by {field.name!r} alone", [field]) for field in fields]
    if rest > 1:
        raise TwoReadingsError(
            f"found {shown}, in groups that seem to hold a field of each video; fields of one video have as many "
            "frames: write the longer ones again without those that others lack",
            [*alone, each_by_itself("videos of their own")],
        )
    schema = Schema(("groups",), tuple(fields), "shortest" if rest else "equal")
    raise TwoReadingsError(
        f"found {shown}, and all others alike, name by name",
        [
            Reading(f"videos with a field in each group{', which end with the shortest' * rest}", schema),
            *(alone if rest else []),
            *(_cameras(kinds) if one_length and not told else []),
            each_by_itself("videos of their own, as of classes (or give --label '{group}')"),
        ],
    )


def _cameras(kinds: Kinds) -> list[Reading]:
    """Return the reading of groups as videos, of which the names in each are the cameras."""
    group, names = next(iter(kinds.items()))
    if "*" in group or len(names) > MOST_PARTS:
        return []
    fields = [SchemaField.in_group(name, "image") for name in names]
    return [Reading.of_groups("a video for each group, with a camera for each name", fields)]


def _by_parent(found: Sequence[FoundVideo]) -> Kinds:
    kinds: Kinds = {}
    for video in found:
        kinds.setdefault(parent_of(video.path), {})[basename_of(video.path)] = video
        if len(kinds) > MOST_PARTS:
            return {}
    return _in_order(kinds)


def _above_classes(found: Sequence[FoundVideo]) -> Kinds:
    """Return the kinds above the classes of videos: ``rgb/Run/v1`` and ``flow/Run/v1``."""
    root = common_group([video.path for video in found])
    kinds: Kinds = {}
    for video in found:
        kind, _, name = key_in(root, video.path).partition("/")
        kinds.setdefault(join(root, kind), {})[name] = video
        if len(kinds) > MOST_PARTS:
            return {}
    depths = {name.count("/") for each in kinds.values() for name in each}
    if len(depths) > 1 or depths <= {0}:
        return {}
    between = "/*" * depths.pop()
    return {f"{kind}{between}": each for kind, each in _in_order(kinds).items()}


def _in_order(kinds: Kinds) -> Kinds:
    """Return kinds, those of pictures first, each with its names in one order; nothing where names differ."""
    first = next(iter(kinds.values()), {})
    if len(kinds) < 2 or "" in kinds or len(first) < _FEWEST or have_roles(first):
        return {}
    words = list(_names_of(kinds).values())
    recordings = are_numbered(words) or (are_ids(words) and not mention_what_is_seen(words))
    if recordings or any(each.keys() != first.keys() for each in kinds.values()):
        return {}
    ordered = sorted(kinds.items(), key=lambda kind: _rank(next(iter(kind[1].values()))))
    return {group: {name: each[name] for name in first} for group, each in ordered}


#: Videos of each kind.
_FEWEST = 2


def _rank(video: FoundVideo) -> int:
    return (video.codec is not JPEG) + (video.codec is DEPTH)


def _names_of(groups: Sequence[str] | Mapping[str, object]) -> dict[str, str]:
    """Return the names of kinds: the parts of their paths that not all have."""
    parts = {group: group.split("/") for group in groups}
    shared = set.intersection(*map(set, parts.values()))
    return {group: "_".join(part for part in each if part not in shared) or group for group, each in parts.items()}
