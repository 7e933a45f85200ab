"""Finds the folders that a pattern would look into and this user may not: `glob` passes them over in silence."""

from __future__ import annotations

import glob
import os
from typing import TYPE_CHECKING

from loader_service.given_paths import local_path
from loader_service.sizes import counted
from loader_service.stores.urls import is_url

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

#: Folders that are named.
_MOST_NAMED = 3


def line_of_closed(patterns: Sequence[str]) -> str:
    """Return a line for the folders that patterns lead into and that cannot be read; empty where there are none."""
    given = [os.fspath(pattern) for pattern in patterns]
    local = [local_path(each) for each in given if os.path.lexists(each) or not is_url(each)]
    closed = sorted({os.path.abspath(folder) for pattern in local for folder in closed_folders(pattern)})
    if not closed:
        return ""
    named = ", ".join(map(repr, closed[:_MOST_NAMED])) + f" and {len(closed) - _MOST_NAMED} more" * (
        len(closed) > _MOST_NAMED
    )
    return (
        f"permission denied in {counted(len(closed), 'folder')} that the pattern leads into, {named}: files in there "
        "are left out; change the mode, or give a pattern that leads into others alone"
    )


def closed_folders(pattern: str) -> Iterator[str]:
    """Yield the folders that the stars of a pattern lead into and this user may not list, or enter."""
    if os.path.lexists(pattern):
        return
    parts = pattern.split("/")
    for count, part in enumerate(parts[1:], 1):
        above = "/".join(parts[:count])
        if not glob.has_magic(above) or (part == "**" and parts[count - 1] == "**"):
            continue
        mode = os.X_OK | os.R_OK * glob.has_magic(part)
        yield from (each for each in glob.iglob(f"{above}/", recursive=True) if not os.access(each, mode))
