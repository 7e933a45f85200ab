"""Whether fields whose frames are datasets with a number each have the same numbers: they pair in their order. Pure."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from loader_service.catalog.inner_paths import renumbered
from loader_service.catalog.layouts.datasets import DatasetsVideo
from loader_service.catalog.videos.numbers_of_frames import (
    first_apart,
    first_difference,
    lacking_numbers,
    numbers_of,
    times_of,
)
from loader_service.errors import CatalogError
from loader_service.sizes import counted

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from loader_service.catalog.videos.episodes import Episode, Found, VideoField

_DIGITS = re.compile(r"[0-9]+")

_LINE = (
    "the frames of {!r} and {!r} are paired in their order, and not by their numbers, so that {!r} is beside {!r}, in "
    "{}: {}; if the same number is the same time, write in each the numbers that all have, and no others, in a file"
)

_LINE_OF_TIMES = (
    "the frames of {!r} and {!r} are paired in their order, and not by the times that they are called, so that {!r} is "
    "beside {!r}, in {}: {}; write in each the frames that belong together, and no others, in a file"
)


class _Pair(NamedTuple):
    """Two fields out of step: their names, the first frames that differ, which numbers they lack, and times they share.

    Those of numbers share -1.
    """

    names: tuple[str, str]
    paths: tuple[str, str]
    lacking: str
    shared: int = -1


def lines_of_other_numbers(found: Found) -> dict[str, str]:
    """Return a line for each field whose frames have other numbers than those of the first such field."""
    pairs: dict[str, list[_Pair]] = {}
    for episode in found.episodes:
        parts, count = episode.parts, episode.frame_count
        numbered = [key for key in parts if parts[key].digits >= 0 or parts[key].frames is not None]
        for pair in _pairs(episode, dict.fromkeys(numbered, count)) if numbered[1:] else ():
            pairs.setdefault(pair.names[1], []).append(pair)
    lines = {}
    for key, each in pairs.items() if pairs else ():
        first = each[0]
        line = _LINE if first.shared < 0 else _LINE_OF_TIMES
        words = line.format(*first.names, *first.paths, counted(len(each), "video"), first.lacking)
        lines[f"{key} (numbers)"] = words
    return lines


def check_pairs(episode: Episode, counts: Mapping[str, int]) -> None:
    """Make sure that a video that ends with its shortest field has frames of one number beside each other.

    Raises
    ------
    CatalogError
        With the numbers that are missing.
    """
    for pair in _pairs(episode, counts):
        if pair.shared == 0:
            continue  # cameras with a clock each
        (one, other), (path, beside) = pair.names, pair.paths
        raise CatalogError(
            f"video {episode.name!r}: expected frames of the same numbers, or times, in the fields {one!r} and "
            f'{other!r}, which lengths = "shortest" pairs in their order, found {beside!r} where {path!r} is: '
            f"{pair.lacking}; write in each the numbers that both have, and no others, or take one of these fields out "
            "of the schema"
        )


def _pairs(episode: Episode, counts: Mapping[str, int]) -> list[_Pair]:
    """Return the first field with a number for each frame, with each other one that has other numbers."""
    numbers = {
        key: own
        for key, count in counts.items()
        if not episode.parts[key].missing and (own := _numbers_of_field(episode.parts[key], count))
    }
    pairs = []
    for key, others in list(numbers.items())[1:]:
        first, own = next(iter(numbers.items()))
        place = first_apart(own, others)
        if place >= 0:
            paths = _path_of(episode.parts[first], place), _path_of(episode.parts[key], place)
            pairs.append(_Pair((first, key), paths, lacking_numbers({first: own, key: others})))
    return pairs or _pairs_of_times(episode)


def _pairs_of_times(episode: Episode) -> list[_Pair]:
    """Return what `_pairs` does of fields whose frames are called by times, of which some, or all, are others."""
    fields = {key: part.frames for key, part in episode.parts.items() if not part.first and not part.missing}
    members = {key: video.members for key, video in fields.items() if isinstance(video, DatasetsVideo)}
    times = {key: names for key, each in members.items() if (names := times_of(each))}
    pairs = []
    for key, others in list(times.items())[1:]:
        first, own = next(iter(times.items()))
        place = first_difference(own, others)
        if place >= 0:
            shared = len(set(own).intersection(others))
            lacking = f"{shared} of their {len(own)} and {len(others)} times are the same"
            paths = members[first][place].path, members[key][place].path
            pairs.append(_Pair((first, key), paths, lacking, shared))
    return pairs


def _numbers_of_field(part: VideoField, count: int) -> Sequence[int]:
    """Return the numbers of the frames of a field; nothing where its frames are rows, or none of them count."""
    if part.digits >= 0 and part.info is not None:
        first = _DIGITS.match(part.path, part.digits)
        begin = int(first[0]) if first else 0
        return range(begin, begin + part.stride * count, part.stride)
    if not isinstance(part.frames, DatasetsVideo) or part.first:
        return ()
    return numbers_of(part.frames.members)


def _path_of(part: VideoField, place: int) -> str:
    if isinstance(part.frames, DatasetsVideo):
        return part.frames.members[place].path
    return renumbered(part.path, part.digits, part.stride * place)
