"""Says what each split of a file holds, and what is wrong where splits would be mixed, or one is not there."""

from __future__ import annotations

from typing import TYPE_CHECKING

from loader_service.catalog.inner_paths import basename_of
from loader_service.catalog.split_words import listed, said_by, single_meaning, split_flags
from loader_service.catalog.splits.split_names import PARENTS, NamedSplits, restricted
from loader_service.errors import CatalogError
from loader_service.sizes import counted

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from loader_service.catalog.hdf5.tree import Tree
    from loader_service.catalog.videos.episodes import Found

    #: Returns the videos of a tree; CatalogError if there are none.
    Finder = Callable[[Tree], Found]


def contents_of(tree: Tree, named: NamedSplits, find: Finder) -> dict[str, str]:
    """Return what each split of a file holds, in words, by the file's word for it.

    Raises
    ------
    CatalogError
        When none of them can be served alone, with the reason for the first.
    """
    counted, reasons = {}, []
    for meaning, word in named.words.items():
        try:
            counted[word] = content_of(find(restricted(tree, named, meaning)))
        except CatalogError as error:
            asked = f"which are never mixed, and more is asked of each; give {split_flags([word])}, and with it "
            asked += f"what this asks for: {error}"
            alone = f"and none of them can be served alone; {word!r}: {error}"
            reasons.append(f"has splits in its names, {asked if '--schema FILE: ' in str(error) else alone}")
            counted[word] = "more is asked of it"
    if len(reasons) == len(counted):
        raise CatalogError(reasons[0])
    return counted


def unsaid(tree: Tree, named: NamedSplits) -> list[str]:
    """Return datasets in no split that are called as those in one are without its word: ``x`` beside ``test_x``."""
    inside = {
        (info.parent, said.rest)
        for path, info in tree.datasets.items()
        if named.of(path) is not None and (said := said_by(info.basename)) is not None
    }
    return [
        path
        for path, info in tree.datasets.items()
        if named.of(path) is None and (info.parent, info.basename.lower()) in inside
    ]


def content_of(found: Found) -> str:
    """Return how many rows or videos there are, in words."""
    filled = found.filled
    count, unit = (filled[0].frame_count, "row") if found.layout == "table" and filled else (len(filled), "video")
    return counted(count, unit)


def mixed(counted: Mapping[str, str], unsaid: Sequence[str] = (), note: str = "") -> CatalogError:
    """Return the error where no split is named, given what each holds, what is in none, and how it was read."""
    beside = f"; {note}" if note else ""
    if unsaid:
        names = " and ".join(map(repr, unsaid[:2])) + f" and {len(unsaid) - 2} more" * (len(unsaid) > 2)
        beside = f"; or name the fields with a --schema FILE, as for {names}, in none of them"
    choices = split_flags(name for name, content in counted.items() if not content.startswith("0 "))
    return CatalogError(f"holds splits, which are never mixed: {listed(counted)}; choose one: {choices}{beside}")


def absent(name: str, counted: Mapping[str, str]) -> CatalogError:
    """Return the error where a split is named that is not there, given what each holds."""
    part = f", and choose a part of it by split={name!r} of the stream" if "[" in name else ""
    return CatalogError(
        f"--split {name!r} leaves nothing of it: expected one of its splits, found {listed(counted)}; give "
        f"{split_flags(counted)}{part}, or leave the file out"
    )


def unlike_lists(tree: Tree, name: str, videos: int) -> str:
    """Return, in words, what is called as a list of a split is and is none; empty where nothing is."""
    said = {info: said_by(info.basename) for info in tree.datasets.values() if basename_of(info.parent) in PARENTS}
    meaning = single_meaning(name)
    unlike = [info.describe() for info, each in said.items() if each is not None and each.meaning == meaning]
    if not unlike:
        return ""
    expected = f"texts or whole numbers of one axis, or flags for {counted(videos, 'video')}, or as many as rows"
    return f", where {unlike[0]} is no list: expected {expected}"
