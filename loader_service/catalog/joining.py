"""Says by which command files become others: several one, or what is not served numbers. Opens no file."""

from __future__ import annotations

import glob
import os
import re
import shlex
from enum import Enum
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING

from loader_service.catalog.inner_paths import unnumbered
from loader_service.catalog.natural import natural_key
from loader_service.stores.urls import is_url

if TYPE_CHECKING:
    from collections.abc import Sequence

    from loader_service.catalog.findings import FileScan

#: More files than these are shards of a data set, and no parts of its rows.
_MOST_PARTS = 4

#: Files of a data set that has one for each array and one for each split.
_MOST_WITH_LISTS = 12

_LAST_NUMBER = re.compile(r"[0-9]+(?=[^0-9]*$)")


class Joined(Enum):
    """What of several files belongs together, as the command `join` is told."""

    ROWS = "rows"
    GROUPS = "groups"
    FILES = "files"
    NAMES = "names"
    NUMBERS = "numbers"


#: The option by which files of one number, or name, belong together.
NUMBERS = f"--by {Joined.NUMBERS.value}"

#: Words for what files may hold a part of each of.
_PARTS = {
    Joined.ROWS: "row n of",
    Joined.GROUPS: "what lies in groups of one name in",
    Joined.FILES: "what has one name in",
}


def how_to_join(paths: Sequence[str], counts: Sequence[int] = (), how: Joined = Joined.ROWS) -> str:
    """Return the end of a refusal, with the command that makes one file of a few; empty where that cannot be meant.

    Parameters
    ----------
    paths
        Of the files.
    counts
        The rows of each, where they are known.
    how
        What of each belongs together.
    """
    joined, patterns = join_by_numbers(paths)
    if joined:
        shown = " and ".join(map(repr, patterns))
        return (
            f"; or, if files of one {what_is_alike(patterns)} belong together, as of {shown}, make one of each{joined}"
        )
    if not 1 < len(paths) <= _MOST_PARTS or len(set(counts)) > 1 or any(map(is_url, paths)):
        return ""
    if how is Joined.ROWS and len(set(map(unnumbered, paths))) < len(paths):
        return ""  # files that a number tells apart are alike, and hold no parts of the same rows
    command = _command("join", "--by", how.value, "-o", "joined.h5", *paths)
    return f"; or, if {_PARTS[how]} each of these files belongs together, make one of them and give that: `{command}`"


def what_is_alike(patterns: Sequence[str]) -> str:
    """Return what in names of files says which belong together: all of it, where patterns leave a folder only."""
    return "name" if all(os.path.basename(pattern).startswith("*.") for pattern in patterns) else "number"


def join_by_numbers(paths: Sequence[str]) -> tuple[str, list[str]]:
    """Return what to give then, with the command that makes a file of each number or name, and patterns of kinds.

    Empty where files are not of a few kinds with the same numbers, or names, each.
    """
    return _made_of(_by_number(paths) or _by_folder(paths) or _by_ending(paths))


def join_by_name(paths: Sequence[str]) -> tuple[str, list[str]]:
    """Return what `join_by_numbers` does of the files of two folders that a number tells apart: ``im1``, ``im2``.

    Empty where the names in them count, in equal steps, as those of two recordings do.
    """
    patterns = _by_folder(paths, numbered=True)
    stems = sorted({Path(path).stem for path in paths}, key=natural_key)
    numbers = [int(found[-1]) for stem in stems if (found := re.findall("[0-9]+", stem))]
    steps = {after - before for before, after in pairwise(numbers)}
    count = len(numbers) == len(stems) and len(set(map(unnumbered, stems))) == 1 == len(steps)
    return _made_of([] if count or len(patterns) > _TWO else patterns)


#: Folders of halves of pairs.
_TWO = 2


def _made_of(patterns: list[str]) -> tuple[str, list[str]]:
    command = _command("join", *NUMBERS.split(), "-o", "joined", *patterns)
    return (f" and give those, 'joined/*.h5': `{command}`", patterns) if patterns else ("", [])


def how_to_flatten(path: str) -> str:
    """Return the end of a refusal of a file of structs, complex numbers or references: what writes them as numbers."""
    if is_url(path):
        return ""
    command = _command("flatten", "-o", "flat.h5", path)
    return f", or write its parts as datasets of their own and give that file: `{command}`"


def how_to_join_lists(lists: Sequence[str], others: Sequence[str]) -> str:
    """Return the end of a refusal of files that may be lists of the rows of others, with the command that makes one.

    Empty where there are too many for that, or none to list rows of.
    """
    paths = [*lists, *others]
    if not others or len(paths) > _MOST_WITH_LISTS or any(map(is_url, paths)):
        return ""
    command = _command("join", "--by", Joined.NAMES.value, "-o", "joined.h5", *paths)
    return (
        f"; or, if {Path(lists[0]).name!r} lists rows of {Path(others[0]).name!r}, make one file of all {len(paths)} "
        f"and give that: `{command}`"
    )


def how_to_join_scans(files: Sequence[tuple[str, FileScan]], how: Joined = Joined.ROWS) -> str:
    """Return what `how_to_join` does of scanned files, each with its path."""
    return how_to_join([path for path, _ in files], [int(scan.frame_counts.sum()) for _, scan in files], how)


def names_of_files(paths: Sequence[str]) -> list[str]:
    """Return the names of files, or of their folders where these do not tell them apart, or else numbers."""
    files, folders = [Path(path).stem for path in paths], [Path(path).parent.name for path in paths]
    names = files if len(set(files)) == len(paths) else folders
    return names if len(set(names)) == len(paths) else [str(number) for number in range(len(paths))]


def _command(*words: str) -> str:
    return shlex.join(("loader-service", *words))


def _by_folder(paths: Sequence[str], *, numbered: bool = False) -> list[str]:
    """Return the files of a few folders as a pattern for each, if all have the same names there; else none.

    `numbered`: whether only numbers tell the folders apart, which else are of no kinds.
    """
    names: dict[str, set[str]] = {}
    for path in paths if not any(map(is_url, paths)) else ():
        folder, name = os.path.split(path)
        names.setdefault(folder, set()).add(name)
    first = next(iter(names.values()), set())
    endings = {os.path.splitext(name)[1] for name in first}
    alike = all(each == first for each in names.values())
    told = len(set(map(unnumbered, names))) == (1 if numbered else len(names))
    if not (1 < len(names) <= _MOST_PARTS and alike and told and len(endings) == 1 and len(first) > 1):
        return []
    return [os.path.join(glob.escape(each), f"*{glob.escape(next(iter(endings)))}") for each in names]


def _by_ending(paths: Sequence[str]) -> list[str]:
    """Return the files of one folder as a pattern for each of a few endings, if all have the same names; else none."""
    stems: dict[str, set[str]] = {}
    for path in paths if not any(map(is_url, paths)) else ():
        stem, ending = os.path.splitext(path)
        stems.setdefault(ending, set()).add(stem)
    first = next(iter(stems.values()), set())
    folders = {os.path.dirname(stem) for each in stems.values() for stem in each}
    alike = len(folders) == 1 and all(each == first for each in stems.values())
    if not (1 < len(stems) <= _MOST_PARTS and alike and len(first) > 1 and all(stems)):
        return []
    return [os.path.join(glob.escape(min(folders)), f"*{glob.escape(ending)}") for ending in stems]


def _by_number(paths: Sequence[str]) -> list[str]:
    """Return files as patterns with a star for their last number, if a few have the same numbers; else none.

    Patterns that only numbers tell apart are of no kinds: slices of a patient each.
    """
    numbers: dict[str, set[str]] = {}
    for path in paths:
        folder, name = os.path.split(path)
        stem, ending = os.path.splitext(name)
        number = None if is_url(path) else _LAST_NUMBER.search(stem)
        if number is None:
            return []
        pattern = f"{stem[: number.start()]}\0{stem[number.end() :]}{ending}"
        numbers.setdefault(os.path.join(folder, pattern), set()).add(number[0])
    first = next(iter(numbers.values()))
    alike = all(each == first for each in numbers.values())
    told = len({unnumbered(pattern) for pattern in numbers}) == len(numbers)
    if not (1 < len(numbers) <= _MOST_PARTS and alike and told and len(first) > 1):
        return []
    return [glob.escape(pattern).replace("\0", "*") for pattern in numbers]
