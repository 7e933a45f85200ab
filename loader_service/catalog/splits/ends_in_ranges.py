"""Where videos of one split end that lie end to end in its rows, as a list that is called so says."""

from __future__ import annotations

from typing import TYPE_CHECKING

from loader_service.catalog.split_words import single_meaning
from loader_service.catalog.splits.found_splits import rows_as_videos
from loader_service.catalog.videos.bounds.bound_lists import find_first_rows, is_index_of_split

if TYPE_CHECKING:
    from loader_service.catalog.hdf5.file import HDF5File
    from loader_service.catalog.hdf5.tree import Tree
    from loader_service.catalog.splits.row_ranges import RowRange
    from loader_service.catalog.videos.episodes import Found


def cut_in_range(hdf5: HDF5File, tree: Tree, found: Found, rows: RowRange, word: str) -> Found | None:
    """Return the rows of a split cut where ``video_indexes/train`` says, which counts in these rows; None without.

    Parameters
    ----------
    hdf5, tree
        The file.
    found
        The only video, or table, of which the split has some rows.
    rows
        These.
    word
        What the split is called.
    """
    meaning = single_meaning(word)
    lists = [
        info
        for info in tree.datasets.values()
        if meaning and is_index_of_split(info) and single_meaning(info.basename) == meaning
    ]
    bounds = find_first_rows(lists, rows.count, hdf5.entries) if len(lists) == 1 else None
    if bounds is None or len(found.episodes) != 1 or rows.stop > found.episodes[0].frame_count:
        return None
    starts, ends = (bounds.starts + rows.start).tolist(), (bounds.ends + rows.start).tolist()
    cut = rows_as_videos(found, zip(starts, ends, strict=True))
    cut.left_out[lists[0].path] = "says which rows are a video each, in a file"
    return cut
