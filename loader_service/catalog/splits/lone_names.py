"""Names that may be a split, as ``test`` beside ``car``, or a subset of one, as ``test_a``: lines for them. Pure."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from loader_service.catalog.inner_paths import basename_of, parent_of, upwards
from loader_service.catalog.split_words import (
    EITHER,
    SPLIT_WORDS,
    listed,
    lone_word,
    meaning_of,
    said_by,
    single_meaning,
    split_flags,
    without_end_number,
)
from loader_service.catalog.splits.neighbours import stands_for_itself, stem_of_split
from loader_service.catalog.splits.parts_by_name import lines_of_parts
from loader_service.catalog.splits.split_names import NamedSplits, only_split
from loader_service.sizes import counted

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from loader_service.catalog.hdf5.tree import Tree
    from loader_service.catalog.videos.episodes import Found

#: Splits whose words seldom mean something else; a ``query`` of attention is none.
_PLAIN = frozenset({"train", "val", "test", "holdout"})

#: Those that groups of videos may be as well, and fields seldom are.
_OF_VIDEOS = _PLAIN | {"dev", "eval"}


def lines_of_names(tree: Tree, found: Found) -> Iterable[tuple[str, str]]:
    """Yield a line for each split that names may say, and for names that say one split and more: ``test_a``."""
    places = [each.dataset_path if each.root is None else each.root for each in found.filled]
    if len(places) > 1:
        yield from lines_of_parts(places, [frozenset(each.parts) for each in found.filled])
    if any(SPLIT_WORDS.search(path) for path in tree.datasets):
        yield from _lines_of_lone_names(tree, found, places)
        yield from _lines_of_subsets(places)


def _lines_of_lone_names(tree: Tree, found: Found, places: Sequence[str]) -> Iterable[tuple[str, str]]:
    """Yield a line for each split that names may say, which some videos, or fields of a table, are in, and not all."""
    if len(places) > 1:
        unit, paths, meanings = "video", places, _OF_VIDEOS
    else:
        unit, meanings = "dataset", _PLAIN
        paths = [part.path for each in found.filled for part in each.parts.values()]
    for group, word in _words_of(paths, meanings).items():
        if unit == "dataset" and word.lower() == EITHER:
            continue
        split = only_split(tree, word)
        inside = 0 if split is None else sum(split.of(path) is not None for path in paths)
        if 0 < inside < len(paths):
            yield (
                f"{group} (split)",
                f"may be a split by its name, and is served with others: {word!r} has {inside} of "
                f"{counted(len(paths), unit)}, which `{split_flags([word])}` serves alone, in a file",
            )


def _lines_of_subsets(places: Sequence[str]) -> Iterable[tuple[str, str]]:
    """Yield a line for groups of videos that say one split and more: ``test_a`` and ``test_b``, served together."""
    groups = Counter(each for path in places for each in upwards(parent_of(path)))
    for told in _subsets_of(list(groups)):
        counts = {name: sum(groups[each] for each in members) for name, members in told.items()}
        if max(counts.values()) > 1:
            contents = {name: counted(count, "video") for name, count in counts.items()}
            yield f"{next(iter(told.values()))[0]} (split)", f"{line_of_subsets(contents)}, in a file"


def line_of_lone_files(names: Sequence[str], said: NamedSplits | None) -> str:
    """Return a line for files of which some may be a split by their names, and not all; empty where none are.

    Parameters
    ----------
    names
        Of all files.
    said
        The splits that parts of some names say, where these are several.
    """
    if said is None:
        by_word = {name: {single_meaning(word) for word in _words_of([name]).values()} for name in names}
        words = {single_meaning(word): word for word in _words_of(names).values()}
        splits = {word: [name for name in names if meaning in by_word[name]] for meaning, word in words.items()}
    else:
        splits = {word: [name for name in names if said.of(name) == meaning] for meaning, word in said.words.items()}
    lines = [
        f"{word!r} has {len(files)} of {counted(len(names), 'file')}, such as {basename_of(files[0])!r}"
        for word, files in splits.items()
        if 0 < len(files) < len(names)
    ]
    return (
        f"may be a split by names, and is served with others: {' and '.join(lines)}; give its files alone to part them"
        if lines
        else ""
    )


def line_of_subset_files(names: Sequence[str]) -> str:
    """Return a line for files whose names all say one split, but training, and more; empty where they do not."""
    told = next(iter(_subsets_of(names)), {})
    if sum(map(len, told.values())) != len(names) or meaning_of(next(iter(told))) == "train":
        return ""
    return line_of_subsets({name: counted(len(files), "file") for name, files in told.items()})


def line_of_subsets(contents: dict[str, str]) -> str:
    """Return a line for subsets of one split that are served together, given what each holds."""
    return (
        f"may be subsets of one split by their names, and are served together: {listed(contents)}; "
        f"{split_flags(name for name in contents if not single_meaning(name))} serves one alone"
    )


def _subsets_of(paths: Sequence[str]) -> list[dict[str, list[str]]]:
    """Return paths whose names say one split and more where they lie, by what they say: ``test_a`` and ``test_b``."""
    found: dict[tuple[str, str], dict[str, list[str]]] = {}
    for path in paths:
        name = basename_of(path)
        said = said_by(name)
        if said is not None and stands_for_itself(name, said):
            found.setdefault((parent_of(path), said.meaning), {}).setdefault(stem_of_split(name), []).append(path)
    return [
        {without_end_number(basename_of(members[0])): members for members in stems.values()}
        for stems in found.values()
        if len(stems) > 1
    ]


def _words_of(paths: Sequence[str], meanings: frozenset[str] = _PLAIN) -> dict[str, str]:
    """Return the words of splits that stand alone in paths, each by the first path, or begin of one, that ends so."""
    found: dict[str | None, tuple[str, str]] = {}
    for group in dict.fromkeys(each for path in paths for each in upwards(path)):
        word = lone_word(basename_of(group))
        meaning = single_meaning(word)
        if meaning in meanings:
            found.setdefault(meaning, (group, word))
    return dict(found.values())
