"""Says where fields of videos of one frame are called by numbers that count: frames of a group each, perhaps. Pure.

So lie ``ep0/frame_0/rgb`` and ``ep0/frame_1/rgb``, and the same in ``ep1``, where no length says that these are frames.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from loader_service.catalog.inner_paths import by_form, unnumbered
from loader_service.catalog.videos.episodes import pattern_in
from loader_service.catalog.videos.readings import in_one_line, with_own_names
from loader_service.catalog.videos.sibling_groups import MOST_PARTS
from loader_service.schema import Schema, SchemaField
from loader_service.sizes import counted

if TYPE_CHECKING:
    from loader_service.catalog.videos.episodes import Found, VideoField

#: Fields that only a number tells apart, at least, and axes of one that may be a frame.
_FEWEST, _LEAST_AXES = 3, 2

_PART = re.compile(r"[^/]*[0-9][^/]*(?=/)")
_NUMBER = re.compile(r"[0-9]+")


def lines_of_frames_as_fields(found: Found) -> dict[str, str]:
    """Return the line of raw pictures of groups within each video, which a number without gaps tells apart."""
    if found.layout != "groups" or found.filled[0].frame_count != 1:
        return {}
    first = found.filled[0]
    keys = {key: part for key, part in first.timed.items() if _PART.search(key) and len(part.shape) >= _LEAST_AXES}
    families = [each for each in by_form(keys, str).values() if len(each) >= _FEWEST and _count(each)]
    families = [each for each in families if len(each) == max(map(len, families))]
    fields = [_field(keys[each[0]], each[0], first.root) for each in families]
    if not fields or len({field.dataset for field in fields}) < len(fields) or len(fields) > MOST_PARTS:
        return {}
    schema = in_one_line(with_own_names(Schema(("groups",), tuple(fields))))
    return {
        f"{keys[families[0][0]].path} (names)": f"{counted(len(families[0]), 'field')} such as {families[0][0]!r} of "
        f"videos of one frame have numbers that count; if these count frames, {schema} in a --schema makes each a "
        "frame of its video, in a file"
    }


def _count(keys: list[str]) -> bool:
    """Tell whether one number in the same part of each key counts, without gaps."""
    columns = [set(column) for column in zip(*(map(int, _NUMBER.findall(key)) for key in keys), strict=True)]
    differing = [column for column in columns if len(column) > 1]
    return len(differing) == 1 and max(differing[0]) - min(differing[0]) == len(keys) - 1


def _field(part: VideoField, key: str, root: str | None) -> SchemaField:
    pattern = _PART.sub(lambda match: _NUMBER.sub("*", match[0]), key, count=1)
    name = unnumbered(key).rpartition("/")[2]
    return SchemaField.at(pattern_in(root, pattern), part.kind, part.shape, name=name)
