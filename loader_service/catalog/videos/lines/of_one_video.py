"""Which paths name one of several videos, so that what lies there is not of all: ``audio/alice``. Pure: sees names."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from loader_service.catalog.videos.episodes import Found

#: Letters and digits, or what lies between.
_WORD = re.compile(r"[A-Za-z0-9]+|[^A-Za-z0-9]+")


def is_of_one(found: Found, path: str) -> bool:
    """Tell whether the name of one of several videos is in a path, as a part, or as whole words of one."""
    if len(found.names) == 1:
        return False  # a name that all have tells none apart
    words = [_WORD.findall(part) for part in path.split("/")]
    return any(
        "".join(each[begin:end]) in found.names
        for each in words
        for begin in range(len(each))
        for end in range(begin + 1, len(each) + 1)
    )
