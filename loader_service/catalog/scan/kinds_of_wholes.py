"""Says where a few files, each a whole, are kinds of the same rows by their names: pictures and masks. Opens none."""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING

from loader_service.catalog.inner_paths import basename_of, in_common, parent_of, unnumbered
from loader_service.catalog.joining import (
    Joined,
    how_to_join,
    join_by_name,
    join_by_numbers,
    names_of_files,
    what_is_alike,
)
from loader_service.catalog.scan.kinds_of_files import WORDS, lines_of_kinds
from loader_service.catalog.split_words import said_by
from loader_service.catalog.videos.lines.paired_rows import PORTION
from loader_service.catalog.videos.sibling_groups import is_recording
from loader_service.sizes import counted

if TYPE_CHECKING:
    from collections.abc import Sequence

    from loader_service.catalog.findings import FileScan

#: More files than these are shards, or recordings.
_MOST = 4

#: So few rows are as many by chance.
_LEAST_ROWS = 5

#: What parts of samples are called besides: what a model is given, and what it is to return.
_PARTS = WORDS | {"im", "input", "target", "output", "truth", "lr", "hr", "x", "y"}

_TOKEN = re.compile(r"[A-Z]?[a-z]+|[A-Z]+|[0-9]+|[^A-Za-z0-9]")


def lines_of_file_kinds(files: Sequence[tuple[str, FileScan]]) -> list[str]:
    """Return a line where names of files say kinds of the same things, which are samples of one field here."""
    paths = [path for path, _ in files]
    return lines_of_kinds(paths) or _lines_of_wholes(files) or _lines_of_equal_rows(files) or _lines_of_pairs(paths)


def are_wholes(files: Sequence[tuple[str, FileScan]]) -> bool:
    """Tell whether a few files have the same rows, or videos of the same names, and their names say kinds of them.

    So do ``images.h5`` and ``masks.h5``, or ``data.h5`` and ``data_mask.h5``; names that differ in a number do not.
    """
    if not 1 < len(files) <= _MOST:
        return False
    first = files[0][1]
    counts = first.frame_counts.tolist()
    alike = all(scan.frame_counts.tolist() == counts for _, scan in files)
    alike = alike and (len(counts) == 1 or all(scan.names == first.names for _, scan in files))
    return alike and sum(counts) > 1 and _say_kinds([path for path, _ in files])


def _lines_of_wholes(files: Sequence[tuple[str, FileScan]]) -> list[str]:
    if not are_wholes(files):
        return []
    paths = [path for path, _ in files]
    counts = [int(scan.frame_counts.sum()) for _, scan in files]
    several = len(files[0][1].names) > 1
    each = f"{len(files[0][1].names)} videos of the same names" if several else counted(counts[0], "row")
    return [
        f"the names of {counted(len(files), 'file')} say several kinds of the same things, as of "
        f"{' and '.join(map(repr, paths))}, with {each} each, and each of them has samples of its own here; give the "
        f"files of one kind alone{how_to_join(paths, counts, Joined.GROUPS if several else Joined.ROWS)}"
    ]


def _lines_of_equal_rows(files: Sequence[tuple[str, FileScan]]) -> list[str]:
    """Return a line where a few files have as many rows of the same fields, and names that words tell apart.

    So lie pairs of pictures, ``low.h5`` and ``high.h5``, but also classes; and features of the same pictures by several
    models, ``gap_ResNet50.h5`` and ``gap_Xception.h5``: tables of numbers, whose names have a word in common.
    """
    paths, counts = [path for path, _ in files], [int(scan.frame_counts.sum()) for _, scan in files]
    if not 1 < len(files) <= _MOST or len(set(counts)) > 1 or counts[0] < _LEAST_ROWS:
        return []
    names = names_of_files(paths)
    words = [set(filter(str.isalpha, _TOKEN.findall(name))) for name in names]
    pictures = any(field.kind == "image" for _, scan in files for field in scan.fields)
    common = set.intersection(*words)
    told = _are_alike(files) and _say_more(words, common) if pictures else _are_tables(files) and common
    if not told or len(set(map(unnumbered, names))) < len(files) or any(map(said_by, names)):
        return []
    return [
        f"each of {counted(len(files), 'file')} has {counted(counts[0], 'row')}, as {paths[0]!r} and {paths[1]!r} do, "
        f"and serves samples of its own here; nothing is to be done if these are others"
        f"{', as of classes' * pictures}{how_to_join(paths, counts, Joined.ROWS)}"
    ]


def _say_more(words: Sequence[set[str]], common: set[str]) -> bool:
    """Tell whether names, but one perhaps, have words that not all have; small letters count shards, as numbers do."""
    own = [{word for word in each - common if len(word) > 1 or word.isupper()} for each in words]
    return sum(map(bool, own)) >= len(own) - 1


def _are_tables(files: Sequence[tuple[str, FileScan]]) -> bool:
    return all(scan.layout == "table" for _, scan in files)


def _are_alike(files: Sequence[tuple[str, FileScan]]) -> bool:
    """Tell whether files have one video, or table, each, of the same datasets."""
    forms = {tuple((field.source, field.kind) for field in scan.fields) for _, scan in files}
    return len(forms) == 1 and all(len(scan.names) == 1 for _, scan in files)


def _lines_of_pairs(paths: Sequence[str]) -> list[str]:
    """Return a line where each number, or name, of files is there with each of a few words, whatever these are.

    So lie pairs, ``A_000.h5`` and ``B_000.h5``, ``im1/a.h5`` and ``im2/a.h5``, but also as many files of each class.
    """
    joined, patterns = join_by_numbers(paths)
    if not joined:
        joined, patterns = join_by_name(paths)
        folders = [basename_of(parent_of(pattern)) for pattern in patterns]
        joined *= not any(is_recording(folder) or PORTION.fullmatch(folder) or said_by(folder) for folder in folders)
    if not joined:
        return []
    alike = what_is_alike(patterns)
    return [
        f"the files {' and '.join(map(repr, patterns))} have the same {alike}s, and each serves samples of its own here"
        f"; nothing is to be done if these are others, as of classes; if files of one {alike} belong together, make "
        f"one of each{joined}"
    ]


def _say_kinds(paths: Sequence[str]) -> bool:
    """Tell whether what paths do not have in common is a word for a kind in each, another one in each; one may lack."""
    tokens = [_TOKEN.findall(os.path.splitext(path)[0]) for path in paths]
    begin = in_common(tokens)
    rests = [each[begin:] for each in tokens]
    end = in_common([each[::-1] for each in rests])
    rests = [each[: len(each) - end] for each in rests]
    words = [
        frozenset(word.lower() if len(word) < 2 else word.lower().removesuffix("s") for word in each) for each in rests
    ]
    said = {each & _PARTS for each in words}
    told = all(each & _PARTS or not any(map(str.isalnum, each)) for each in words)
    return told and len(said) == len(paths) and not any(map(str.isdigit, frozenset[str]().union(*words)))
