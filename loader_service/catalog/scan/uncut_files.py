"""Says which files lack what cuts the rows of others into videos: all of their rows are one. Opens no file."""

from __future__ import annotations

from typing import TYPE_CHECKING

from loader_service.sizes import counted

if TYPE_CHECKING:
    from collections.abc import Sequence

    from loader_service.catalog.findings import FileScan


def lines_of_uncut(files: Sequence[tuple[str, FileScan]]) -> list[str]:
    """Return a line, if there are such files among some that are cut, that shows the first of each."""
    cut = next((path for path, scan in files if scan.layout == "spans"), "")
    whole = [(path, scan) for path, scan in files if scan.layout == "files"] if cut else []
    if not whole:
        return []
    path, scan = whole[0]
    more = f", and so on for {counted(len(whole) - 1, 'more file')}" if whole[1:] else ""
    return [
        f"nothing in {path!r} says where videos end, as in {cut!r}: its {counted(int(scan.frame_counts[0]), 'frame')} "
        f"are one video{more}; if it holds several, write their ends beside them, as there"
    ]
