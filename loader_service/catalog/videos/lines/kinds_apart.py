"""Says where groups hold sequences of the same names and, one by one, lengths: kinds of the same videos, perhaps. Pure.

So lie ``rgb/video_1`` and ``depth/video_1``, but also classes whose videos are numbered and of one length.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from loader_service.catalog.inner_paths import basename_of, join, key_in, parent_of
from loader_service.catalog.videos.frame_axis import are_numbered, are_of_cameras
from loader_service.catalog.videos.readings import in_one_line, with_own_names
from loader_service.catalog.videos.sibling_groups import MOST_PARTS
from loader_service.schema import VIDEO, Schema, SchemaField
from loader_service.sizes import counted

if TYPE_CHECKING:
    from collections.abc import Mapping

    from loader_service.catalog.videos.episodes import Found, VideoField

    #: Frames, and the field, of each sequence, by its name, by group.
    Kinds = dict[str, dict[str, tuple[int, VideoField]]]

#: Sequences that are two videos of two kinds.
_FEWEST = 4


def lines_of_kinds_apart(found: Found) -> dict[str, str]:
    """Return the line of videos of one field each, or of one video with all as its fields, that may be kinds.

    Names of cameras, and numbered groups, which are recordings, are none.
    """
    filled = found.filled
    if found.layout == "groups" and filled[_FEWEST - 1 :]:
        own = found.sole
        what = "each is a video of its own here"
        sequences = {episode.name: (episode.frame_count, own[episode.name]) for episode in filled if own}
    elif found.layout in {"files", "table"} and len(filled) == 1 and len(filled[0].parts) >= _FEWEST:
        parts = filled[0].parts.values()
        sequences = {part.path: (filled[0].frame_count, part) for part in parts}
        what = "all are fields of one video here"
        if all(part.kind != "image" for part in parts):
            return {}
    else:
        return {}
    kinds = _kinds(sequences)
    if not kinds:
        return {}
    first = [next(iter(each.items())) for each in kinds.values()]
    shown = " and ".join(repr(f"{group}/{name}") for group, (name, _) in zip(kinds, first, strict=True))
    fields = [
        SchemaField.at(join(join(group, VIDEO), _inside(part, join(group, name))), part.kind, name=basename_of(group))
        for group, (name, (_, part)) in zip(kinds, first, strict=True)
    ]
    plain = all(part.digits < 0 for each in kinds.values() for _, part in each.values())
    schema = in_one_line(with_own_names(Schema(("groups",), tuple(fields))))
    remedy = (
        f"{schema} in a --schema makes them fields of the video of each name"
        if plain
        else "write the frames of each as one dataset (frames, …), which are such fields then, or asked about"
    )
    return {
        f"{next(iter(sequences))} (pairs)": f"{counted(len(kinds), 'group')} hold sequences of the same names, one by "
        f"one as long, such as {shown}, and {what}; if they are of the same videos, and no classes, {remedy}, in a file"
    }


def _inside(part: VideoField, path: str) -> str:
    """Return the path of a field in the group of its video; empty where that is a dataset, or has a frame a dataset."""
    return key_in(path, part.path) if part.digits < 0 else ""


def _kinds(sequences: Mapping[str, tuple[int, VideoField]]) -> Kinds:
    """Return sequences by their groups, if these are kinds of the same videos by their names and lengths."""
    kinds: Kinds = {}
    for path, each in sequences.items():
        kinds.setdefault(parent_of(path), {})[basename_of(path)] = each
        if len(kinds) > MOST_PARTS:
            return {}
    first = next(iter(kinds.values()), {})
    if len(kinds) < 2 or "" in kinds or len(first) < 2 or are_numbered(kinds):
        return {}
    lengths = [{name: count for name, (count, _) in each.items()} for each in kinds.values()]
    alike = all(each == lengths[0] for each in lengths) and max(lengths[0].values()) > 1
    forms = [{part.form for _, part in each.values()} for each in kinds.values()]
    return kinds if alike and not are_of_cameras(first) and all(len(each) == 1 for each in forms) else {}
