"""Says where encoded videos of one field are of several formats: pictures as JPEG, perhaps, and masks as PNG. Pure."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from loader_service.sizes import counted

if TYPE_CHECKING:
    from loader_service.catalog.videos.episodes import Found


def lines_of_several_formats(found: Found) -> dict[str, str]:
    """Return the line of videos that are one sequence of pictures each, some of one format and some of another."""
    named: dict[str, list[str]] = {}
    for name, part in found.sole.items() if found.layout == "groups" else ():
        if part.frames is None:
            return {}
        named.setdefault(part.frames.codec.name, []).append(name)
    if len(named) < 2:
        return {}
    (first, ours), (second, theirs), *_ = sorted(named.items(), key=lambda names: -len(names[1]))
    endings = {os.path.splitext(name)[1] for name in ours}
    alone = len(endings) == 1 and not any(name.endswith(tuple(endings)) for name in theirs)
    remedy = f"; `--frames {f'**/*{endings.pop()}'!r}` serves those alone" if alone and "" not in endings else ""
    count = counted(sum(map(len, named.values())), "video")
    return {
        f"{theirs[0]} (pairs)": f"{len(theirs)} of the {count} are {second}, as this, and {len(ours)} are {first}, as "
        f"{ours[0]!r}, all in one field; if the ones are masks, or depth, of the others, write them as a field of "
        f"their own in the group of each video{remedy}, in a file"
    }
