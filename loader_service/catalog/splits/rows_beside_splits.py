"""Datasets in no split that have as many rows as one split alone: ``label`` beside ``train`` and ``test``. Pure."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from loader_service.catalog.splits.refusals import unsaid
from loader_service.errors import CatalogError

if TYPE_CHECKING:
    from collections.abc import Collection

    from loader_service.catalog.hdf5.tree import Tree
    from loader_service.catalog.splits.refusals import Finder
    from loader_service.catalog.splits.split_names import NamedSplits
    from loader_service.catalog.videos.episodes import Found


def with_rows_beside(tree: Tree, named: NamedSplits, part: Tree, found: Found, find: Finder) -> Found:
    """Return the rows of a split with the columns that are in none by their names and have as many entries.

    Parameters
    ----------
    tree, named
        The file, and its splits.
    part, found
        What of it the split is, and what was found in that.
    find
        Finds the videos of a tree.

    Returns
    -------
    Found
        `found` itself where another split has as many rows, or where the columns would change what was found.
    """
    beside = _columns_beside(tree, named, part, found)
    if not beside:
        return found
    datasets = {path: info for path, info in tree.datasets.items() if path in part.datasets or path in beside}
    try:
        both = find(replace(part, datasets=datasets))
    except CatalogError:
        return found
    return both if _adds_only(found, both, beside) else found


def line_of_rows_beside(name: str) -> str:
    """Return what is said of such a column that is served, given the split."""
    return (
        f"is in none of the splits by its name, and is served with --split {name}, which alone has as many rows; leave "
        "it out of `fields` if it is not of these, in a file"
    )


def _columns_beside(tree: Tree, named: NamedSplits, part: Tree, found: Found) -> set[str]:
    """Return the datasets in no split that have as many rows as the only video of this one, if no other split has.

    There are none where rows of no split lie beside, as `X` beside `X_test`: the columns may be of these.
    """
    if len(found.filled) != 1 or len(found.episodes) != 1 or len(named.words) < 2 or unsaid(tree, named):
        return set()
    count = found.filled[0].frame_count
    alike = {path for path, info in tree.datasets.items() if info.shape[:1] == (count,) and path not in part.datasets}
    return alike if all(named.of(path) is None for path in alike) else set()


def _adds_only(found: Found, both: Found, beside: Collection[str]) -> bool:
    """Tell whether a second look found the same video with the columns as fields of it, and nothing else."""
    if both.layout != found.layout or len(both.episodes) != 1:
        return False
    (first,), (second,) = found.episodes, both.episodes
    if (first.name, first.frame_count) != (second.name, second.frame_count):
        return False
    forms = {part.place: (*part.form, part.missing) for part in first.parts.values()}
    wider = {part.place: (*part.form, part.missing) for part in second.parts.values()}
    added = [part for part in second.parts.values() if part.place not in forms]
    rows = all(part.path in beside and part.kind != "value" and not part.missing for part in added)
    return rows and bool(added) and forms.items() <= wider.items()
