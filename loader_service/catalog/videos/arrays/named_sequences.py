"""Frames of one group that words before, or behind, their numbers tell apart: videos, or cameras of one. Pure.

``alice_0000``, ``alice_0001``, …, ``bob_0000``, … may be either; ``left_0000`` beside ``right_0000`` are cameras.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from loader_service.catalog.dtypes import is_number
from loader_service.catalog.hdf5.tree import in_groups
from loader_service.catalog.inner_paths import basename_of, common_pattern, grouped, join, unnumbered
from loader_service.catalog.natural import natural_key
from loader_service.catalog.sides import common_shape
from loader_service.catalog.videos.frame_axis import DEVICE, LEAST_SIDE, are_fields, have_roles
from loader_service.catalog.videos.numbered import (
    NumberedFrames,
    are_called_frames,
    is_single_text,
    kind_of_frames,
    missing_beside,
    numbered_by_group,
)
from loader_service.catalog.videos.readings import Reading, TwoReadingsError
from loader_service.catalog.videos.single_pictures import sides_of
from loader_service.schema import VIDEO, Schema, SchemaField

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence

    from loader_service.catalog.hdf5.tree import DatasetInfo
    from loader_service.schema import FieldKind

#: The datasets of each word, by what the name is with a star for its number.
Sequences = dict[str, list["DatasetInfo"]]

_LAST_NUMBER = re.compile(r"[0-9]+(?=[^0-9]*$)")
_WORD_BEFORE = re.compile(r"(?P<word>[^*]*[^*0-9_.\- ])(?P<rest>[_.\- ]*\*[^*]*)")


def refuse_named_sequences(datasets: Sequence[DatasetInfo]) -> None:
    """Refuse raw pictures of one form in a group, numbered alike behind words that say not what a camera sees.

    Raises
    ------
    TwoReadingsError
        With the schemas for a video of each word, and for one video with all.
    """
    pictures = [info for info in datasets if info.dtype == "uint8" and _is_picture(info)]
    for group, members in in_groups(pictures).items():
        sequences = sequences_of(members)
        if len(sequences) > 1 and not _are_seen(sequences):
            shown = " and ".join(f"{len(each)} datasets {name!r}" for name, each in list(sequences.items())[:2])
            more = f" and {len(sequences) - 2} more names" if len(sequences) > 2 else ""
            raise TwoReadingsError(
                f"{group or '/'!r}: found {shown}{more} (* is a number), which may be cameras or videos",
                readings_of(group, alike_groups(sequences, datasets), encoded=False),
            )


def alike_groups(sequences: Sequences, datasets: Iterable[DatasetInfo]) -> dict[str, Sequences]:
    """Return the groups that have sequences of the same names, with these."""
    first = next(iter(sequences.values()))[0]
    alike = [info for info in datasets if (info.kind, len(info.shape)) == (first.kind, len(first.shape))]
    found = {group: sequences_of(members) for group, members in in_groups(alike).items()}
    return {group: each for group, each in found.items() if each.keys() == sequences.keys()}


def numbers_beside(groups: Mapping[str, Sequences], datasets: Iterable[DatasetInfo]) -> list[NumberedFrames]:
    """Return, of one group, numbers and texts in datasets that are numbered as all frames are, if each group has such.

    `groups`: those of frames, as of `alike_groups`.
    """
    plain = [info for info in datasets if is_number(info.dtype) or is_single_text(info)]
    encoded = {info.path for one in groups.values() for each in one.values() for info in each}
    families = numbered_by_group((info for info in plain if info.path not in encoded), from_any=True)
    fitting = [
        {each.key: each for each in families.get(group, ()) if _are_numbered_as(each, own.values())}
        for group, own in groups.items()
    ]
    return [each for key, each in fitting[0].items() if all(key in others for others in fitting)] if fitting else []


def _are_numbered_as(numbers: NumberedFrames, sequences: Iterable[Sequence[DatasetInfo]]) -> bool:
    ordered = (sorted(each, key=lambda info: natural_key(info.path)) for each in sequences)
    return all(missing_beside(each, numbers) == 0 for each in ordered)


def readings_of(
    group: str,
    groups: Mapping[str, Sequences],
    *,
    encoded: bool,
    maps: Collection[str] = (),
    beside: Sequence[NumberedFrames] = (),
) -> list[Reading]:
    """Return what sequences of frames in one group can be: a video each, by the word before the number, or one video.

    Of different counts they are one video that ends with the shortest. Words may be classes, too, of a picture each.
    `groups`: all that have the same ones, as of `alike_groups`; each of several is a video. `maps`: the paths of
    encoded arrays, which beside pictures are fields. `beside`: numbers of each frame, which one video has, too.
    """
    sequences = groups[group]
    several = len(groups) > 1
    place = common_pattern(list(groups))
    all_frames = [info for each in sequences.values() for info in each]
    kind: FieldKind = "image" if encoded else kind_of_frames(all_frames[0])
    shape = None if encoded else common_shape([info.shape for info in all_frames])
    words = [_WORD_BEFORE.fullmatch(name) for name in sequences]
    rests = {match["rest"] for match in words if match}
    kinds: dict[str, FieldKind] = {name: "array" if each[0].path in maps else kind for name, each in sequences.items()}
    alike = len(set(kinds.values())) == 1
    kind = next(iter(kinds.values()))
    readings = []
    if alike and None not in words and len(rests) == 1:
        pattern = join(place, VIDEO + rests.pop())
        readings.append(
            Reading.of_groups("a video for each name", [SchemaField.at(pattern, kind, shape, name="frames")])
        )
    named = {name: re.sub(r"[_.\- ]*\*", "", name).strip("_.- ") or "frames" for name in sequences}
    own = VIDEO if several else group
    fields = tuple(SchemaField.at(join(own, name), kinds[name], shape, name=named[name]) for name in sequences)
    fields += tuple(
        SchemaField.at(join(own, basename_of(each.pattern)), shape=each.members[0].shape, name=each.key)
        for each in beside
    )
    equal = all(len({len(each) for each in one.values()}) == 1 for one in groups.values())
    whole = Schema(("groups" if several else "files",), fields, lengths="equal" if equal else "shortest")
    ending = "" if equal else ", which ends with the shortest"
    single = SchemaField.across(place, kind, shape, name="frames")
    what = "a video of each group" if several else "one video"
    return [
        *readings,
        Reading(f"{what} with a field for each name{ending}", whole),
        *([Reading.of_groups("a picture each", [single])] if alike else []),
    ]


def sequences_of(members: Sequence[DatasetInfo]) -> Sequences:
    """Return datasets of one group by their names with a star for the last number, those of one alone left out."""
    numbered = [info for info in members if _LAST_NUMBER.search(info.basename)]
    found = grouped(numbered, lambda info: _LAST_NUMBER.sub("*", info.basename))
    return {name: each for name, each in found.items() if len(each) > 1}


def _are_seen(sequences: Sequences) -> bool:
    """Tell whether names say what is seen, or count frames, or differ in numbers only, or not in their last one.

    Sequences of unlike sides are films of their own, or instances of pictures, unless all names are those of fields.
    """
    names = [name.replace("*", "") for name in sequences]
    words = {unnumbered(name) for name in names}
    shapes = [{info.shape for info in each} for each in sequences.values()]
    sides = set[tuple[int, ...]]().union(*shapes)
    tails = {(len(shape), shape[2:]) for shape in sides}
    return (
        len(words) < len(names)
        or len(tails) > 1
        or (len(sides) > 1 and (any(len(own) > 1 for own in shapes) or are_fields(names)))
        or have_roles(names)
        or any(DEVICE.search(name) for name in names)
        or any(are_called_frames([name.replace("*", "0")]) for name in sequences)
    )


def _is_picture(info: DatasetInfo) -> bool:
    grey = len(info.shape) == 2 and min(info.shape) >= LEAST_SIDE
    return grey or sides_of(info) is not None
