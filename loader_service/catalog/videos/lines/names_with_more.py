"""Says where videos have the names of others with a word behind them, ``Test001_gt``: what is seen in these. Pure."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from loader_service.catalog.inner_paths import join, parent_of
from loader_service.sizes import counted

if TYPE_CHECKING:
    from loader_service.catalog.videos.episodes import Found

#: A word at the end of a name that ends in a digit.
_MORE = re.compile(r"(.*[0-9])([._-]?[A-Za-z]+)")


def lines_of_names_with_more(found: Found) -> dict[str, str]:
    """Return the line of encoded sequences that are called as others are, with one more word, and as long as these.

    The videos without it are served alone by ``--frames``.
    """
    if found.layout != "groups":
        return {}
    encoded = (episode for episode in found.filled if all(part.frames for part in episode.parts.values()))
    counts = {episode.name: episode.frame_count for episode in encoded}
    more = {name: match for name in counts if (match := _MORE.fullmatch(name)) and match[1] in counts}
    words = {match[2] for match in more.values()}
    if len(words) != 1 or any(counts[name] != counts[match[1]] for name, match in more.items()):
        return {}
    name, match = next(iter(more.items()))
    others = counts.keys() - more
    groups = {parent_of(each) for each in counts}
    alone = len(groups) == 1 and all(each[-1].isdigit() for each in others)
    remedy = f"; `--frames {join(groups.pop(), '*[0-9]')!r}` serves the others alone" if alone else ""
    return {
        f"{name} (names)": f"{counted(len(more), 'video')} such as this have the name of another, {match[1]!r}, with "
        f"{match[2]!r} behind it, and as many frames, and are videos of their own here; if they are of that one, as "
        f"masks are, write them at another path in a group that is the video{remedy}, in a file"
    }
