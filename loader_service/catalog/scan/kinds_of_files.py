"""Says where names of files, or of folders, tell kinds of what is seen apart that are one field. Opens no file."""

from __future__ import annotations

import os
import re
from functools import partial
from typing import TYPE_CHECKING

from loader_service.catalog.inner_paths import grouped
from loader_service.catalog.joining import join_by_numbers, what_is_alike
from loader_service.sizes import counted
from loader_service.stores.urls import is_url

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping, Sequence

    #: Gives what in a path says a kind, and the rest of it; None where nothing does.
    _Way = Callable[[str], tuple[str, str] | None]

#: Words for what a picture, or a map of it, shows, and for what it is of a pair; views and cameras are no kinds.
WORDS = frozenset(
    """
    rgb bgr image img picture photo color colour depth flow disparity disp mask seg segm segmentation semantic instance
    normal albedo edge ir infrared nir thermal heatmap label gt annotation input target output truth ground observation
    clean noisy partial complete sharp blur blurry lr hr lq hq degraded source reference t1 t2 flair t1ce adc dwi ct mr
    mri pet he ihc sketch
    """.split()  # noqa: SIM905 - a list of words reads better than one of quoted words
)

_KIND = re.compile(r"[A-Za-z]+[0-9]?[a-z]*(_[A-Za-z]+)*")
_SUFFIX = re.compile(r"(.*[0-9])[._-]([A-Za-z_]+)")
_PREFIX = re.compile(r"([A-Za-z_]+?)[._-]?([0-9].*)")
_LAST_WORD = re.compile(r"(.+)[._-]([A-Za-z]+)")
_FIRST_WORD = re.compile(r"([A-Za-z]+)[._-](.+)")

#: In place of a kind in the folder that its files have alone: ``observation_train/observation_train_000.hdf5``.
_ANY = "*"

#: Files of fewer names say nothing of kinds; folders above a file that are looked at.
_FEWEST, _MOST_FOLDERS = 2, 4


def lines_of_kinds(paths: Sequence[str]) -> list[str]:
    """Return a line where a word for what is seen, and nothing else, tells files apart, each with one of each kind."""
    if len(paths) < 2 * _FEWEST or is_url(paths[0]):
        return []
    ways: list[_Way] = [_by_suffix, _by_prefix]
    ways += [partial(_by_suffix, pattern=_LAST_WORD), partial(_by_prefix, pattern=_FIRST_WORD)]
    ways += [partial(_by_folder, above) for above in range(1, _MOST_FOLDERS + 1)]
    ways.append(_by_name)
    for way in ways:
        if kinds := _kinds(paths, way):
            return [_line(len(paths), kinds)]
    return []


def are_kinds(names: Collection[str]) -> bool:
    """Tell whether names, as of folders, all say what is seen, and so are no classes."""
    return all(map(_words_of, names))


def _kinds(paths: Sequence[str], way: _Way) -> dict[str, dict[str, str]]:
    """Return the files by their kind, and each by the rest of its path; empty where they are not of several kinds."""
    found: dict[str, dict[str, str]] = {}
    for path in paths:
        said = way(path)
        if said is None or not _words_of(said[0]):
            return {}
        found.setdefault(said[0], {})[said[1]] = path
    first = next(iter(found.values()))
    alike = all(each.keys() == first.keys() for each in found.values())
    words = {_words_of(kind) for kind in found}
    return found if alike and len(first) >= _FEWEST and 1 < len(words) == len(found) else {}


def _words_of(kind: str) -> frozenset[str]:
    """Return the words for what is seen in a name that begins with one: of ``semantic_instance`` both."""
    words = [word.removesuffix("s") for word in kind.lower().split("_")] if _KIND.fullmatch(kind) else [""]
    return frozenset(words) & WORDS if words[0] in WORDS else frozenset()


def _by_suffix(path: str, pattern: re.Pattern[str] = _SUFFIX) -> tuple[str, str] | None:
    folder, name = os.path.split(os.path.splitext(path)[0])
    found = pattern.fullmatch(name)
    return (found[2], _apart_from(folder, found[2], found[1])) if found else None


def _by_prefix(path: str, pattern: re.Pattern[str] = _PREFIX) -> tuple[str, str] | None:
    folder, name = os.path.split(os.path.splitext(path)[0])
    found = pattern.fullmatch(name)
    return (found[1], _apart_from(folder, found[1], found[2])) if found else None


def _apart_from(folder: str, kind: str, rest: str) -> str:
    """Return the rest of a path without a kind, which its folder may be called as, too."""
    above, name = os.path.split(folder)
    return os.path.join(above, _ANY, rest) if name == kind else os.path.join(folder, rest)


def _by_folder(above: int, path: str) -> tuple[str, str] | None:
    parts = path.split("/")
    return (parts[-1 - above], "/".join([*parts[: -1 - above], *parts[-above:]])) if len(parts) > above + 1 else None


def _by_name(path: str) -> tuple[str, str]:
    folder, name = os.path.split(os.path.splitext(path)[0])
    return name, folder


def _line(count: int, kinds: Mapping[str, Mapping[str, str]]) -> str:
    rests = next(iter(kinds.values()))
    folders = grouped(rests, os.path.dirname)
    together = next(iter(folders.values()))
    shown = " and ".join(repr(each[together[0]]) for each in kinds.values())
    joined, patterns = join_by_numbers([each[rest] for each in kinds.values() for rest in together])
    alone = f", such as {patterns[0]!r}" if patterns else ""
    one = "; give the files of one kind alone"
    remedy = (
        f"{one}{alone}, or, if files of one {what_is_alike(patterns)} belong together, make one of each{joined}"
        if joined
        else one
    )
    more = f", and so in each of {len(folders)} folders" if joined and len(folders) > 1 else ""
    return (
        f"the names of {counted(count, 'file')} say several kinds, {', '.join(map(repr, kinds))}, of the same things, "
        f"as of {shown}, and each of them is a sample of its own here{remedy}{more}"
    )
