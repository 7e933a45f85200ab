"""Finds a file's videos in the split that was asked for, and refuses to mix splits when none was."""

from __future__ import annotations

from dataclasses import replace
from itertools import compress
from typing import TYPE_CHECKING

import numpy as np

from loader_service.catalog.hdf5.tree import ElementKind
from loader_service.catalog.inner_paths import basename_of, parent_of
from loader_service.catalog.split_words import WORDS, listed, meaning_among, says_split, split_flags
from loader_service.catalog.splits.attribute_lists import with_attribute_lists
from loader_service.catalog.splits.divisions import division_of
from loader_service.catalog.splits.ends_in_ranges import cut_in_range
from loader_service.catalog.splits.found_splits import Division, runs_as_videos
from loader_service.catalog.splits.lists import lists_called, lists_of_names, named_videos, read_names
from loader_service.catalog.splits.lists_of_rows import lists_of_two_axes
from loader_service.catalog.splits.lone_names import line_of_subsets, lines_of_names
from loader_service.catalog.splits.refusals import absent, content_of, contents_of, mixed, unlike_lists, unsaid
from loader_service.catalog.splits.row_ranges import RowRange, read_ranges
from loader_service.catalog.splits.rows_beside_splits import line_of_rows_beside, with_rows_beside
from loader_service.catalog.splits.said_by_files import by_holders
from loader_service.catalog.splits.said_by_videos import by_attributes
from loader_service.catalog.splits.split_names import PARENTS, NamedSplits, only_split, restricted, splits_by_name
from loader_service.errors import CatalogError
from loader_service.record_class import record
from loader_service.sizes import counted

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from numpy.typing import NDArray

    from loader_service.catalog.hdf5.file import HDF5File
    from loader_service.catalog.hdf5.tree import DatasetInfo, Tree
    from loader_service.catalog.splits.refusals import Finder
    from loader_service.catalog.videos.episodes import Episode, Found
    from loader_service.scan_options import ScanOptions

#: What `--split` takes for all splits together, by a user who wants them so.
ALL = "all"

#: Datasets of no split that get a line each.
_MOST_LINES = 20

EXPECTED = (
    "groups or parts of names such as train and test, an attribute 'split' as fuel writes it, a 'split' of each video "
    "or row, or lists of names or numbers such as mask/train or train_idx"
)


@record(frozen=True)
class Chosen:
    """The videos of one split, or of a file without splits.

    Attributes
    ----------
    found
        The videos.
    rows
        Those of each field that count, if not all.
    others
        How many videos the split leaves out, where they were counted.
    of, origins
        All videos of the file, and of which of them each of `found` is, or is a part; empty where none was left out.
    word
        The only split that the file's own words say its videos are in; empty where they say none, or several.
    """

    found: Found
    rows: RowRange | None = None
    others: int = 0
    of: tuple[Episode, ...] = ()
    origins: tuple[int, ...] = ()
    word: str = ""

    @property
    def all_videos(self) -> Sequence[Episode]:
        """All videos of the file, or of the part of it that the split is: labels may have an entry for each."""
        return self.of or self.found.episodes


def _some(found: Found, kept: Iterable[bool], word: str = "") -> Chosen:
    origins = tuple(compress(range(len(found.episodes)), kept))
    episodes = [found.episodes[number] for number in origins]
    others = len(found.episodes) - len(episodes)
    return Chosen(replace(found, episodes=episodes), None, others, tuple(found.episodes), origins, word)


def find_in_split(hdf5: HDF5File, tree: Tree, options: ScanOptions, find: Finder) -> Chosen:
    """Return the videos of the split that the options name, or of all the file where it has none that are disjoint.

    Raises
    ------
    CatalogError
        When the file has disjoint splits and none is named, or not the one that is; when `find` finds nothing.
    """
    lists = {} if _is_declared(options) else lists_of_two_axes(tree)
    if not lists:
        return _find_in_split(hdf5, tree, options, find)
    chosen = _find_in_split(hdf5, tree, options, lambda part: find(part.without(lists)))
    for path in lists:
        chosen.found.left_out.setdefault(path, "is called as a list of a split is, and is no field, in a file")
    return chosen


def _is_declared(options: ScanOptions) -> bool:
    return options.frames is not None or options.declared is not None


def _find_in_split(hdf5: HDF5File, tree: Tree, options: ScanOptions, find: Finder) -> Chosen:
    if options.split == ALL:
        return Chosen(find(tree))
    ranges = read_ranges(hdf5, tree)
    if ranges:
        return _of_ranges(hdf5, tree, ranges, options.split, find)
    named = splits_by_name(tree)
    if options.split is None:
        return _undivided(hdf5, tree, named, options, find)
    with_lists = tree if named is not None else with_attribute_lists(hdf5, tree)
    if named is None and not lists_called(with_lists, options.split):
        found = _found_or_none(tree, find)
        division = None if found is None else division_of(hdf5, tree, with_lists, found)
        if found is not None and division is not None:
            return _of_division(found, division, options.split)
        named = only_split(tree, options.split)
    if named is not None:
        return Chosen(_of_names(tree, named, options.split, find))
    return _of_list(hdf5, tree, with_lists, options.split, find)


def _found_or_none(tree: Tree, find: Finder) -> Found | None:
    """Return the videos of all the file; None where they cannot be told apart without a choice of names."""
    try:
        return find(tree)
    except CatalogError:
        return None


def _of_division(found: Found, division: Division, name: str) -> Chosen:
    meaning = division.called(name)
    taken = [] if meaning is None else division.taken(meaning)
    if not taken and not (_is_whole(division) and (meaning or says_split(name))):
        raise absent(name, division.counted())
    none = np.zeros_like(next(iter(division.kept.values())))  # others of the files may be in it
    kept = np.any([none, *(division.kept[each] for each in taken)], axis=0)
    for path in division.paths:
        found.left_out[path] = f"says the splits, of which --split {name} takes one, in a file"
    found.left_out.update(_lines_of_numbers(division))
    if len(taken) > 1:
        counts = division.counted()
        found.left_out[f"{division.paths[0]} (split)"] = (
            f"{line_of_subsets({word: counts[word] for word in (division.words[each] for each in taken)})}, in a file"
        )
    if not division.by_rows:
        return _some(found, kept.tolist(), name)
    chosen = runs_as_videos(found, kept)
    return Chosen(chosen, None, int(not chosen.episodes), tuple(found.episodes), (0,) * len(chosen.episodes), name)


def _lines_of_numbers(division: Division) -> dict[str, str]:
    return {f"{division.paths[0]} (numbers)": f"{division.note}, in a file"} if division.note else {}


def _undivided(hdf5: HDF5File, tree: Tree, named: NamedSplits | None, options: ScanOptions, find: Finder) -> Chosen:
    declared = _is_declared(options)
    if named is not None and not declared:
        raise mixed(contents_of(tree, named, find), unsaid(tree, named))
    found = find(tree)
    if named is not None:  # a pattern or a schema may name the data of one split alone
        used = dict.fromkeys(named.of(part.path) for each in found.episodes for part in each.parts.values())
        if len([meaning for meaning in used if meaning is not None]) > 1:
            raise mixed(contents_of(tree, named, find))
    with_lists = with_attribute_lists(hdf5, tree)
    lone = () if named or declared else lines_of_names(tree, found)
    for path, line in (*lone, *_lines_of_lists(hdf5, with_lists, found)):
        found.left_out[path] = line
    # What files and videos say of themselves is refused of a schema, too; rows and lists beside its fields have lines.
    own = by_attributes(hdf5, tree, found) or by_holders(hdf5, tree, found) if declared else None
    division = own or (
        _division_or_none(hdf5, tree, with_lists, found) if declared else division_of(hdf5, tree, with_lists, found)
    )
    if division is None:
        return Chosen(found)
    found.left_out.update(_lines_of_numbers(division))
    is_binding = own is not None or not declared
    if division.disjoint and division.is_certain:
        if is_binding:
            raise mixed(division.counted(), note=division.note)
        choices = " and ".join(f"`{split_flags([word])}` serves {each}" for word, each in division.counted().items())
        found.left_out[f"{division.paths[0] if division.paths else '…'} (split)"] = (
            f"says splits, which a schema or pattern serves together; {choices} alone, in a file"
        )
        return Chosen(found)
    if not division.is_certain:
        found.left_out[f"{division.paths[0]} (split)"] = (
            f"its numbers may be splits, and all are served together: {listed(division.counted())}; "
            f"{split_flags(division.counted())} serves one alone, in a file"
        )
        return Chosen(found)
    fields = {name for each in found.episodes for key, part in each.parts.items() for name in (key, part.path)}
    taken = zip(division.counted().items(), division.kept, division.paths, strict=False)
    for (word, content), meaning, path in () if _is_whole(division) and fields.issuperset(division.paths) else taken:
        found.left_out[f"{path} (split)" if path in fields else path] = (
            f"takes {content}{division.shared(meaning)}, which `--split {word}` serves alone, in a file"
            if division.kept[meaning].any()
            else f"takes none, so nothing is of the split {word!r}, in a file"
        )
    return Chosen(found, word=next(iter(division.words.values())) if is_binding and _is_whole(division) else "")


def _division_or_none(hdf5: HDF5File, tree: Tree, with_lists: Tree, found: Found) -> Division | None:
    """Return the splits of what a schema names; None where lists are wrong, or nothing says whose their entries are."""
    try:
        return division_of(hdf5, tree, with_lists, found)
    except CatalogError:
        return None


def _is_whole(division: Division) -> bool:
    """Tell whether all of a file is in its only split."""
    return len(division.kept) == 1 and bool(next(iter(division.kept.values())).all())


def _lines_of_lists(hdf5: HDF5File, tree: Tree, found: Found) -> Iterable[tuple[str, str]]:
    videos = [episode.name for episode in found.episodes]
    named = {}
    for path, info in lists_of_names(tree).items() if len(videos) > 1 else ():
        try:
            named[path] = np.array(named_videos(path, read_names(hdf5, info), videos))
        except CatalogError as error:
            if basename_of(info.parent) in PARENTS:
                yield path, f"no list of names of videos: {error}, in a file"
    for path, own in named.items():
        word = basename_of(path).removeprefix("@")
        said = word if len(lists_called(tree, word)) == 1 else path
        names = f"names {own.sum()} of {counted(len(videos), 'video')}{_shared(path, named)}"
        yield path, f"{names}, which `--split {said}` serves alone, in a file"


def _shared(path: str, named: Mapping[str, NDArray[np.bool_]]) -> str:
    """Return how many videos of a list are in another split's, too, in words: 20 % of train is no other split."""
    meanings = {each: WORDS.get(basename_of(each).lower()) for each in named}
    counts = {
        each: int((named[path] & kept).sum())
        for each, kept in named.items()
        if meanings[path] and meanings[each] and meanings[each] != meanings[path] and parent_of(each) == parent_of(path)
    }
    return "".join(f", {count} of them in {basename_of(each)!r} too" for each, count in counts.items() if count)


def _of_names(tree: Tree, named: NamedSplits, name: str, find: Finder) -> Found:
    meaning = meaning_among(named.words, name)
    if meaning is None or meaning not in named.words:
        raise absent(name, contents_of(tree, named, find))
    part = restricted(tree, named, meaning)
    alone = find(part)
    found = with_rows_beside(tree, named, part, alone, find)
    found.left_out.update(lines_of_names(part, alone))
    outside = [path for path in tree.datasets if named.of(path) is None]
    served = {each.path for episode in found.episodes for each in episode.parts.values()}.intersection(outside)
    found.left_out.update({f"{path} (split)": line_of_rows_beside(name) for path in outside if path in served})
    outside = [path for path in outside if path not in served]
    for path in outside[:_MOST_LINES]:
        found.left_out.setdefault(path, f"in none of the splits, of which --split {name} takes one, in a file")
    if len(outside) > _MOST_LINES:
        found.left_out["…"] = f"{len(outside) - _MOST_LINES} more datasets are in none of the splits of a file"
    return found


def _of_ranges(hdf5: HDF5File, tree: Tree, ranges: Mapping[str, RowRange], name: str | None, find: Finder) -> Chosen:
    counted = {each: f"{rows.count} rows" for each, rows in ranges.items()}
    if name is None and len(ranges) > 1:
        whole = _found_or_none(_of_sources(tree, next(iter(ranges.values()))), find)
        raise _not_of_rows(whole) or mixed(counted)
    meaning = None if name is None else WORDS.get(name.lower())
    rows = ranges[next(iter(ranges))] if name is None else ranges.get(name)
    if rows is None:
        rows = next((rows for each, rows in ranges.items() if meaning and WORDS.get(each.lower()) == meaning), None)
    if rows is None:
        raise absent(name or "", counted)
    found = find(_of_sources(tree, rows))
    for path in [path for path in tree.datasets if path not in rows.sources][:_MOST_LINES]:
        found.left_out.setdefault(path, "no source of the split by the attribute 'split' of a file")
    if name is None:
        found.left_out["@split"] = (
            f"gives rows {rows.start} to {rows.stop} to its only split, and no others count, in a file"
        )
    if found.layout == "vlen":  # each row is a video
        return _some(found, (rows.start <= row < rows.stop for row in range(len(found.episodes))))
    error = _not_of_rows(found)
    if error is not None:
        raise error
    cut = cut_in_range(hdf5, tree, found, rows, name or next(iter(ranges)))
    if cut is None:
        return Chosen(found, rows)
    return Chosen(cut, None, 0, tuple(found.episodes), (0,) * len(cut.episodes), name or "")


def _not_of_rows(found: Found | None) -> CatalogError | None:
    """Return the error for videos of which none is divided by ranges of rows; None where rows are."""
    if found is None or found.layout == "vlen" or len(found.episodes) == 1:
        return None
    return CatalogError(
        f"the attribute 'split' divides rows of one sequence or table: expected one, found {content_of(found)}; give "
        "--split all to serve them whole, a --schema FILE by which they are fields of one, or leave the attribute out"
    )


def _of_sources(tree: Tree, rows: RowRange) -> Tree:
    """Return a file as if it held nothing but what a split takes rows of."""
    sources = {path: info for path, info in tree.datasets.items() if path in rows.sources}
    longest = max((info.shape[0] for info in sources.values() if info.shape), default=0)
    return replace(tree, datasets={path: _as_long(info, rows.stop, longest) for path, info in sources.items()})


def _as_long(info: DatasetInfo, stop: int, longest: int) -> DatasetInfo:
    """Return numbers of a split as if they were as long as others, of which the split takes no more than they have.

    So labels count that end where a test set begins, which has none. What is behind the split is never read.
    """
    short = info.shape and stop <= info.shape[0] < longest and info.kind is not ElementKind.VLEN_BYTES
    return info._replace(shape=(longest, *info.shape[1:])) if short else info


def _of_list(hdf5: HDF5File, tree: Tree, with_lists: Tree, name: str, find: Finder) -> Chosen:
    lists = lists_called(with_lists, name)
    others = {info.basename.removeprefix("@"): f"a list, {path!r}" for path, info in lists_of_names(with_lists).items()}
    if others and not lists:
        raise absent(name, others)
    if not lists:
        found = find(tree)  # what is asked of all the file comes first
        unlike = unlike_lists(with_lists, name, len(found.episodes))
    if len(lists) != 1:
        there = ", ".join(repr(info.path) for info in lists) or f"none of them in {tree.describe()}{unlike}"
        raise CatalogError(
            f"--split {name!r}: expected {EXPECTED}, found {there}; "
            + ("give one by its path" if lists else "leave --split out, or choose by split='train[:90%]' of the stream")
        )
    found = find(tree)
    names = [episode.name for episode in found.episodes]
    line = f"lists names of videos, and --split {name} takes those of one list, in a file"
    found.left_out.update(dict.fromkeys(lists_of_names(with_lists), line))
    return _some(found, named_videos(lists[0].path, read_names(hdf5, lists[0]), names))
