"""Says where encoded pictures of several kinds are videos of one field, since some lack one: a mask, a camera. Pure.

So lie ``case_1/image`` and ``case_1/mask``, where ``case_2`` has no mask; were none missing, they would be fields.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from loader_service.catalog.codecs import formats_differ
from loader_service.catalog.inner_paths import without_ending
from loader_service.catalog.videos.frame_axis import are_ids, are_numbered, have_roles, mention_what_is_seen
from loader_service.catalog.videos.sibling_groups import MOST_PARTS

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from loader_service.catalog.codecs import Codec
    from loader_service.catalog.layouts.layout import FoundVideo
    from loader_service.catalog.videos.episodes import Found

    #: What is of a kind: all of its path but the kind's part of it.
    Rest = tuple[str, ...]


def lines_of_kinds_with_gaps(found: Found) -> dict[str, str]:
    """Return the line of encoded videos of one field each, of which a part of the path says what is seen."""
    videos = {}
    for name, part in found.sole.items() if found.layout == "groups" else ():
        if part.frames is None:
            return {}
        path = part.path if part.path.startswith(name) else name  # a dataset in the group of its video
        videos[path] = part.frames
    paths = [name.split("/") for name in videos]
    if not paths or len(set(map(len, paths))) > 1:
        return {}
    for place in range(len(paths[0])):
        kinds = _kinds_at(place, paths, videos.values())
        if kinds:
            same_length = len({episode.frame_count for episode in found.filled}) == 1
            return _line(place, paths, kinds) if same_length or len(next(iter(kinds.values()))) > 1 else {}
    return {}


def _kinds_at(place: int, paths: Sequence[Sequence[str]], videos: Iterable[FoundVideo]) -> dict[str, set[Rest]]:
    """Return the rests of paths by their part at a place, the most first, if these parts are kinds of the same."""
    kinds: dict[str, set[Rest]] = {}
    formats: dict[str, set[Codec]] = {}
    for path, video in zip(paths, videos, strict=True):
        rest = (*path[:place], *path[place + 1 :])
        kinds.setdefault(path[place], set()).add((*rest[:-1], without_ending(rest[-1])) if rest else rest)
        formats.setdefault(path[place], set()).add(video.codec)
    if not 1 < len(kinds) <= MOST_PARTS or are_numbered(kinds) or are_ids(kinds):
        return {}
    if not (
        formats_differ(formats.values()) or have_roles(kinds) or all(mention_what_is_seen([kind]) for kind in kinds)
    ):
        return {}
    most, *others = sorted(kinds.values(), key=len, reverse=True)
    beside = all(2 * len(each & most) >= len(each) for each in others)
    return dict(sorted(kinds.items(), key=lambda kind: -len(kind[1]))) if beside else {}


def _line(place: int, paths: Sequence[Sequence[str]], kinds: dict[str, set[Rest]]) -> dict[str, str]:
    (most, rests), *_, (other, fewer) = kinds.items()
    pattern = "/".join(most if number == place else "*" for number in range(len(paths[0])))
    remedy = "write what is missing, as an empty picture, so that all have the same"
    if all(each == rests for each in kinds.values()):
        remedy = "write each as a field of its own in the group of its video"
    return {
        f"{'/'.join(paths[0])} (cameras)": f"{other!r} lies beside {len(fewer & rests)} of the {len(rests)} {most!r}, "
        f"and each is a video, or a sample, of its own here, in one field; if they are of the same ones, {remedy}; "
        f"`--frames {pattern!r}` serves {most!r} alone, in a file"
    }
