"""What is asked and said of rows that may be several videos, end to end, and that nothing cuts, or hardly anything."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from loader_service.catalog.hdf5.tree import ElementKind
from loader_service.catalog.videos.bounds.bound_lists import (
    LastRowsError,
    find_first_rows,
    is_index,
    is_index_of_split,
)
from loader_service.catalog.videos.bounds.bounds import find_pairs_apart, find_sums, from_flags
from loader_service.catalog.videos.bounds.row_columns import find_by_rows
from loader_service.catalog.videos.bounds.row_marks import find_by_marks
from loader_service.catalog.videos.bounds.row_owners import find_by_owners, line_of_turns
from loader_service.catalog.videos.bounds.unread_bounds import line_of_parts, line_of_unread
from loader_service.catalog.videos.readings import Reading, TwoReadingsError, in_one_line
from loader_service.errors import CatalogError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from loader_service.catalog.hdf5.tree import DatasetInfo, Tree
    from loader_service.catalog.videos.bounds.bound_lists import Bounds
    from loader_service.catalog.videos.episodes import Found, VideoField
    from loader_service.catalog.videos.whole_rows import WholeRows

#: Videos of which it is said whether they seem to be several.
_MOST_LOOKED_AT = 8

#: So many numbers that sum to the rows by chance are too seldom to be said nothing of.
_LEAST_LENGTHS = 3


def refuse_most_lost(wholes: Sequence[WholeRows], bounds: Sequence[Bounds | None], found: Found) -> None:
    """Refuse bounds that leave most of the rows in no video: events of a recording, such as fixations of eyes.

    Raises
    ------
    TwoReadingsError
        With the schemas for videos of these rows, and for all rows.
    """
    said = [(whole, each) for whole, each in zip(wholes, bounds, strict=True) if each is not None]
    rows = sum(whole.count for whole, _ in said)
    inside = sum(int((each.ends - each.starts).sum()) for _, each in said)
    if 2 * inside >= rows:
        return
    whole, first = said[0]
    named = " and ".join(map(repr, sorted(first.paths)[:2]))
    raise TwoReadingsError(
        f"{named} say where {len(first.starts)} parts of the {whole.count} rows of {whole.path!r} begin and end, and "
        f"{rows - inside} of {rows} rows lie in none: videos, or events of a recording",
        [_all_together(whole, found), Reading("a video of each part", whole.cut_schema())],
    )


def _all_together(whole: WholeRows, found: Found) -> Reading:
    schema = whole.schema()
    return Reading("all rows together", replace(schema, videos=("table",)) if found.layout == "table" else schema)


def readings_of_misfits(whole: WholeRows, error: CatalogError) -> list[Reading]:
    """Return the readings of rows with ends that do not fit: all together, or cut where these are last rows."""
    last = [Reading("videos of which these are the last rows", whole.cut_schema())]
    return [*(last if isinstance(error, LastRowsError) else []), Reading("one video of all rows", whole.schema())]


def refuse_first_rows(whole: WholeRows, found: Found) -> None:
    """Refuse a file in which numbers can be the first or last rows of videos, or rows that someone has chosen."""
    lists = [info for info in whole.beside if is_index(info)]
    bounds = find_first_rows(lists, whole.count, whole.read) if len(lists) == 1 else None  # several divide the rows
    if bounds is None or any(_is_field(part, lists[0]) for part in whole.video.parts.values()):
        return
    (path,) = bounds.paths
    numbers = whole.read(path)
    which, there = ("last", "end") if numbers[0] else ("first", "begin")
    cut = whole.cut_schema(whole.paths_of_values(bounds))
    raise TwoReadingsError(
        f"{path!r} goes from {numbers[0]} to {numbers[-1]} beside {whole.count} rows: the {which} rows of videos that "
        "lie end to end, or some of the rows",
        [Reading(f"{len(bounds.starts)} videos that {there} there", cut), _all_together(whole, found)],
    )


def _is_field(part: VideoField, info: DatasetInfo) -> bool:
    """Tell whether a list is a field of a video, and may be no ends: as a value, those of a split are ends."""
    return part.path == info.path and not (part.kind == "value" and is_index_of_split(info))


def note_ends(wholes: Sequence[WholeRows], found: Found, tree: Tree) -> None:
    """Say where flags, or columns, seem to end episodes within rows that are served as one table, or video."""
    for whole in wholes[:_MOST_LOOKED_AT]:
        own = tree.datasets.values() if whole.alone else whole.beside
        ends = _pairs_seen(whole) or _ends_seen(whole, tree) or line_of_unread(own, whole.count, whole.read)
        if ends:
            found.left_out[f"{whole.path} (episodes)"] = ends
            return


def note_parts(parts: Sequence[DatasetInfo], wholes: Sequence[WholeRows], found: Found) -> None:
    """Say where shots, or such, divide the first video whose parts fit its rows."""
    for whole in wholes[:_MOST_LOOKED_AT]:
        own = [info for info in parts if whole.alone or info.parent == whole.video.root]
        if line := line_of_parts(own, whole.count, whole.read, in_one_line(whole.cut_schema())):
            found.left_out[f"{whole.path} (parts)"] = line
            return


def _ends_seen(whole: WholeRows, tree: Tree) -> str:
    """Return the line for rows that seem to be several episodes, with the schema that cuts there; empty if none do."""
    count, read = whole.count, whole.read
    if sums := find_sums(whole.beside, count, read, _LEAST_LENGTHS):
        named = " and ".join(map(repr, sums.paths))
        return _cut_line(f"numbers that sum to their count, or rise to it, {named},", sums, whole)
    rows = {(count,), (count, 1)}
    columns = [info for info in whole.beside if info.shape in rows and info.kind is not ElementKind.VLEN_BYTES]
    if not columns:
        return ""
    try:
        words, bounds = _said_by_columns(whole, columns)
    except CatalogError as error:
        return f"{error}; {_UNTIL_THEN}"
    if bounds is None:
        turns = line_of_turns(columns, count, read, tree.attributed)
        return f"{turns}, in a file" if turns else ""
    return _cut_line(words, bounds, whole)


def _said_by_columns(whole: WholeRows, columns: Sequence[DatasetInfo]) -> tuple[str, Bounds | None]:
    """Return which columns seem to end episodes, in words, and the episodes.

    Raises
    ------
    CatalogError
        When rows of several environments, or agents, lie in turns.
    """
    count, read = whole.count, whole.read
    if flags := from_flags(columns, count, read, any_end=True):
        return "flags such as dones, terminals or timeouts", flags
    if by_rows := find_by_rows(columns, count, read, any_end=True):
        return "names or numbers of videos or pictures, or numbers that begin anew,", by_rows
    if owners := find_by_owners(columns, count, read):
        return f"runs of {' and '.join(map(repr, sorted(owners.paths)))}", owners
    marks = find_by_marks(whole.beside, count, read)
    return (marks.words, marks.bounds) if marks else ("", None)


_UNTIL_THEN = "until then a clip crosses their ends, in a file"


def _pairs_seen(whole: WholeRows) -> str:
    """Return the line for rows of which pairs of numbers bound some; empty if none do."""
    try:
        bounds = find_pairs_apart(whole.beside, whole.count, whole.read)
    except CatalogError as error:
        return f"{error}; {_UNTIL_THEN}"
    return _cut_line(f"pairs of numbers, {' and '.join(map(repr, bounds.paths))},", bounds, whole) if bounds else ""


def _cut_line(words: str, bounds: Bounds, whole: WholeRows) -> str:
    cut = in_one_line(whole.cut_schema(whole.paths_of_values(bounds)))
    return (
        f"{words} seem to end {len(bounds.starts)} episodes in all {whole.count} rows, and a clip crosses their ends; "
        f"{cut} in a --schema cuts there, in a file"
    )
