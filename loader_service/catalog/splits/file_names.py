"""Splits that files say by their names, or by their folders': ``train.h5`` beside ``val.h5``. Opens none of them."""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING

from loader_service.catalog.hdf5.tree import DatasetInfo, ElementKind, Tree
from loader_service.catalog.inner_paths import basename_of, grouped, parent_of
from loader_service.catalog.joining import how_to_join_lists
from loader_service.catalog.split_words import (
    WORDS,
    is_part,
    listed,
    meaning_among,
    meaning_of,
    said_by,
    single_meaning,
    split_flags,
    subsets_among,
    training_first,
    without_end_number,
)
from loader_service.catalog.splits.lone_names import line_of_lone_files, line_of_subset_files
from loader_service.catalog.splits.neighbours import stem_of_split
from loader_service.catalog.splits.parts_by_name import line_of_part_files
from loader_service.catalog.splits.split_names import NamedSplits, splits_by_name
from loader_service.errors import CatalogError
from loader_service.record_class import record
from loader_service.sizes import counted

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from loader_service.catalog.findings import FileScan


#: What lies between the words of a name.
_PARTS = re.compile(r"[\W\d_]+")


#: What a refusal of files that are all of the split by their names says as well.
_LEAVE_OUT = "; all files are of --split {} by their names, so leave it out to serve them together"


@record(frozen=True)
class FilesOfSplit:
    """The files that are scanned.

    Attributes
    ----------
    paths
        In their order.
    chosen_by_name
        Whether their names say that they are the split that was asked for.
    left_out
        A line for the files of other splits, or for what may be one; empty where there are none.
    otherwise
        The end of a refusal of these files, which may be lists of the rows of others, or of one split; or empty.
    """

    paths: Sequence[str]
    chosen_by_name: bool = False
    left_out: str = ""
    otherwise: str = ""


def files_of_split(paths: Sequence[str], split: str | None) -> FilesOfSplit:
    """Return the files of a split, or all where their names say none.

    Parameters
    ----------
    paths
        Absolute.
    split
        What was asked for; None: nothing.

    Raises
    ------
    CatalogError
        When their names say several, and none of these was asked for.
    """
    above = os.path.commonpath([os.path.dirname(path) for path in paths])
    names = {path: os.path.splitext(_below(path, above))[0] for path in paths}
    splits = _splits_of(list(names.values()))
    if splits is None or split == "all":
        return _of_none(names, split)
    found = grouped(names, lambda path: splits.of(names[path]))
    meaning = None if split is None else meaning_among(splits.words, split)
    contents = {word: counted(len(found[each]), "file") for each, word in splits.words.items()}
    rest = found.get(None, [])
    lists = [each for of, files in found.items() if of is not None for each in files]
    otherwise = how_to_join_lists(lists, rest) if len(lists) == len(splits.words) else ""
    taken = [each for each in splits.words if each in found and meaning in {each, meaning_of(each)}]
    if meaning is None or not taken:
        raise CatalogError(_mixed(above, split, contents, len(rest)) + otherwise)
    taken = [meaning] if meaning in splits.words else taken
    chosen = [path for path in names if splits.of(names[path]) in taken]
    others = {splits.words[each]: contents[splits.words[each]] for each in splits.words if each not in taken}
    if rest:
        others["none of them"] = counted(len(rest), "file")
    lines = [_left_out(listed(others), split) if others else "", line_of_subset_files([names[path] for path in chosen])]
    return FilesOfSplit(chosen, chosen_by_name=True, left_out="; ".join(filter(None, lines)), otherwise=otherwise)


def _left_out(others: str, split: str | None) -> str:
    return f"the files of other splits by their names are left out: {others}, as --split {split} says"


def _splits_of(names: Sequence[str]) -> NamedSplits | None:
    """Return the splits of files by their names; None where these say none, or one, or too few of them say any."""
    alike = splits_by_name(Tree({name: _like_data(name) for name in names}, (), ()))
    if alike is not None and not alike.own:
        return alike
    by_parts, unsaid = _said_by_parts(names)
    if by_parts is not None and not unsaid:
        return _with_subsets(names, by_parts)
    return alike or _with_subsets(names, by_parts if unsaid < len(names) - unsaid else None)


def _of_none(names: Mapping[str, str], split: str | None) -> FilesOfSplit:
    """Return all files, whose names say no split, with a line for some that may; or those called by all of a name."""
    paths, own = list(names), list(names.values())
    bases = list(map(basename_of, own))
    if split is None:
        by_parts, _ = _said_by_parts(own)
        line = line_of_lone_files(own, by_parts) or line_of_subset_files(own) or line_of_part_files(bases)
        return FilesOfSplit(paths, left_out=line)
    if split != "all" and meaning_of(split) and not single_meaning(split):
        called = [path for path in paths if stem_of_split(basename_of(names[path])) == stem_of_split(split)]
        if 0 < len(called) < len(paths):
            others = listed({"other names": counted(len(paths) - len(called), "file")})
            return FilesOfSplit(called, chosen_by_name=True, left_out=_left_out(others, split))
    all_say_it = split != "all" and all(is_part(name) and meaning_of(name) == meaning_of(split) for name in bases)
    return FilesOfSplit(paths, otherwise=_LEAVE_OUT.format(split) if all_say_it else "")


def _below(path: str, folder: str) -> str:
    """Return a path from a folder on; of one that does not begin with it as it is spelled, the relative one."""
    return path[len(folder) + 1 :] if path.startswith(f"{folder}/") else os.path.relpath(path, folder)


def _said_by_parts(names: Sequence[str]) -> tuple[NamedSplits | None, int]:
    """Return the splits of files whose names say one each, as ``bal_train`` and ``eval`` do, and how many say none.

    None where it is one, or a name says two.
    """
    words: dict[str, str] = {}
    unsaid = 0
    for name in names:
        said = [word for word in _PARTS.split(basename_of(name)) if single_meaning(word)]
        if len(said) > 1:
            return None, unsaid
        if said:
            words.setdefault(single_meaning(said[0]) or "", said[0])
        unsaid += not said
    return NamedSplits(frozenset(map(parent_of, names)), training_first(words)) if len(words) > 1 else None, unsaid


def _with_subsets(names: Sequence[str], splits: NamedSplits | None) -> NamedSplits | None:
    """Return splits, with a split for each subset of one, as ``val_seen`` and ``val_unseen`` are; None without any."""
    said = [(parent_of(name), basename_of(name), each) for name in names if (each := said_by(basename_of(name)))]
    alike = grouped(said, lambda each: (each[0], each[2].meaning))
    told = {place: subsets_among(each.rest for *_, each in members) for place, members in alike.items()}
    own = {
        (parent, stem_of_split(name)): without_end_number(name)
        for parent, name, each in said
        if each.rest.strip("_#") in told[parent, each.meaning]
    }
    if not own:
        return splits
    bare = [each for parent, name, each in said if (parent, stem_of_split(name)) not in own]
    of_own = {stem: word for (_, stem), word in own.items()}
    known = dict(splits.words) if splits is not None else {meaning_of(stem): "" for stem in of_own}
    words = {each.meaning: known[each.meaning] or each.word for each in bare if each.meaning in known}
    return NamedSplits(frozenset(map(parent_of, names)), training_first(words) | of_own, frozenset(own))


def check_one_split(files: Sequence[tuple[str, FileScan]]) -> str:
    """Return the split that all files are in by their own words, or nothing; CatalogError where they are in several."""
    counts: dict[str, int] = {}
    words: dict[str, str] = {}
    first = ""
    for path, scan in files:
        if scan.split:
            meaning = WORDS.get(scan.split.lower(), scan.split)
            words.setdefault(meaning, scan.split)
            counts[meaning] = counts.get(meaning, 0) + 1
            first = first or path
    if len(counts) > 1:
        contents = {words[meaning]: counted(count, "file") for meaning, count in counts.items()}
        raise CatalogError(
            f"{first!r} and others say which split they are in, and splits are never mixed: {listed(contents)}; choose "
            f"one: {split_flags(contents)}, or --split all for all of them"
        )
    return next(iter(words.values()), "") if sum(counts.values()) == len(files) else ""


def _like_data(name: str) -> DatasetInfo:
    """Return what stands for a file where names of datasets are compared."""
    return DatasetInfo(name, ElementKind.OTHER, (1, 1, 1), 1, None)


def _mixed(above: str, split: str | None, contents: Mapping[str, str], unsaid: int) -> str:
    asked = "" if split is None else f", and --split {split} is none of them"
    asked += f", beside {counted(unsaid, 'file')} of none, which each leaves out" if unsaid else ""
    return (
        f"the files in {above!r} are of several splits by their names, which are never mixed: {listed(contents)}"
        f"{asked}; choose one: {split_flags(contents)}, give the files of one, or --split all for all of them"
    )
