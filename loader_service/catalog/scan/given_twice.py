"""Says which files are one file under two names, by links: its videos are served twice. Opens no file."""

from __future__ import annotations

from collections.abc import Iterable

from loader_service.catalog.columns import FileStat
from loader_service.sizes import counted


def lines_of_one_file(files: Iterable[tuple[str, FileStat]]) -> list[str]:
    """Return a line, if there are such, that shows the first; files of stores, which have no inodes, are none."""
    first: dict[FileStat, str] = {}
    again = []
    for path, status in files:
        if status.inode and first.setdefault(status, path) != path:
            again.append((path, first[status]))
    if not again:
        return []
    path, other = again[0]
    more = f", and so on for {counted(len(again) - 1, 'more file')}" if again[1:] else ""
    return [f"the file {path!r} is {other!r} by another name{more}: its videos are served twice; leave one out"]
