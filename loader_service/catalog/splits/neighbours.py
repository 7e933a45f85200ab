"""Names that say splits beside each other: which confirm one another, and which are a split of their own. Pure.

Names confirm one another that say different splits and are alike in all else, in one parent, or in several at one depth
that hold the same: ``cats/train`` and ``dogs/val``. A name that says more, as ``test_ood`` does beside ``train``, is a
split of its own where both hold the same. So are names of one split by words that tell its subsets apart: ``val_seen``.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from loader_service.catalog.hdf5.tree import ElementKind
from loader_service.catalog.inner_paths import basename_of, depth_of, grouped, join, unnumbered
from loader_service.catalog.split_words import are_opposites, is_part, subsets_among

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from loader_service.catalog.hdf5.tree import DatasetInfo
    from loader_service.catalog.split_words import Said

#: A parent, and what is left of a name in it without its word.
_Place = tuple[str, str]

#: Of a dataset: its kind, its axes, and its name, where it does not lie in the group of the split itself.
_Content = tuple[ElementKind, int, str]

#: Letters beside the word in ``xval``, which nothing parts from it.
_FEW_LETTERS = 1


@dataclass(eq=False)
class Neighbour:
    """Names in one parent that only numbers tell apart, which hold data and say a split.

    Attributes
    ----------
    parent, name
        Where they lie, and the first of them.
    said
        What they say.
    surely
        Whether they say it without others beside them.
    is_group
        Whether the first is no dataset itself.
    contents
        The kinds of data in them.
    """

    parent: str
    name: str
    said: Said
    surely: bool
    is_group: bool
    contents: set[_Content] = field(default_factory=set)

    @property
    def place(self) -> _Place:
        """Where others lie that are alike in all but their word."""
        return self.parent, self.said.rest

    @property
    def depth(self) -> int:
        """How many groups they lie in."""
        return depth_of(self.parent)

    @property
    def is_bare(self) -> bool:
        """Whether they are the word of a split and nothing else, but for numbers."""
        return not self.said.rest.strip("_#")

    @property
    def can_be_own(self) -> bool:
        """Whether they can be a split that is called by all of their name."""
        return not self.is_bare and stands_for_itself(self.name, self.said)


class NamesBeside:
    """All such names of a file."""

    def __init__(self) -> None:
        self._found: dict[tuple[str, str], Neighbour] = {}

    def add(self, parent: str, name: str, said: Said, info: DatasetInfo, *, surely: bool) -> None:
        """Add a name that says a split, for a dataset that it holds, or is."""
        path = join(parent, name)
        key = (parent, stem_of_split(name))
        found = self._found.setdefault(key, Neighbour(parent, name, said, surely, info.path != path))
        below = info.path[len(path) + 1 :]
        leaf = unnumbered(basename_of(below)) if "/" in below else ""
        found.contents.add((info.kind, len(info.shape), leaf))

    def sure(self) -> list[Neighbour]:
        """Return those that say a split, alone or as others of their place do too, or say the opposite."""
        places = grouped(self._found.values(), lambda each: each.place)
        return [each for each in self._found.values() if each.surely or _is_beside(each, places[each.place])]


def _is_beside(each: Neighbour, others: Iterable[Neighbour]) -> bool:
    return any(
        (other.surely or are_opposites(each.said.meaning, other.said.meaning))
        and not each.contents.isdisjoint(other.contents)
        for other in others
        if other is not each
    )


def stands_for_itself(name: str, said: Said) -> bool:
    """Tell whether a name can call a split by all that it says: ``test_a`` and ``testA``, and not ``latest``."""
    return is_part(name) or len(said.rest) <= _FEW_LETTERS


def stem_of_split(name: str) -> str:
    """Return what names of one split have in common that only numbers tell apart."""
    return unnumbered(name.lower()).rstrip("_#-. ")


def confirmed_places(sure: Sequence[Neighbour]) -> set[tuple[int, str]]:
    """Return depths and rests of names that say different splits: in one parent, or in several that hold the same."""
    return {
        at
        for at, names in grouped(sure, lambda each: (each.depth, each.said.rest)).items()
        if any(map(_differ, (*grouped(names, lambda each: each.parent).values(), _that_share(names, names))))
    }


def of_their_own(sure: Sequence[Neighbour]) -> list[Neighbour]:
    """Return names that are a split by all that they say.

    They lie beside the word of another one alone, or are groups beside groups of others, or of a subset of the same.
    """
    own = []
    for names in grouped(sure, lambda each: each.parent).values():
        candidates = [each for each in names if each.can_be_own]
        groups = [each for each in candidates if each.is_group]
        bare = [each for each in names if each.is_bare]
        found = {*_that_share(candidates, bare), *_that_share(groups, groups), *_subsets(names)}
        own += [each for each in candidates if each in found]
    return own


def _subsets(names: Iterable[Neighbour]) -> list[Neighbour]:
    """Return groups of one split and kind whose other words are opposites, as of ``val_seen`` and ``val_unseen``."""
    found = []
    of_content = ((each, content) for each in names if each.is_group for content in each.contents)
    for alike in grouped(of_content, lambda each: (each[0].said.meaning, each[1])).values():
        words = subsets_among(each.said.rest for each, _ in alike)
        found += [each for each, _ in alike if each.said.rest.strip("_#") in words]
    return found


def _differ(names: Iterable[Neighbour]) -> bool:
    return len({each.said.meaning for each in names}) > 1


def _that_share(names: Iterable[Neighbour], others: Iterable[Neighbour]) -> list[Neighbour]:
    """Return those of some names that hold what one of the others does that says another split."""
    holders: dict[_Content, set[str]] = {}
    for other in others:
        for content in other.contents:
            holders.setdefault(content, set()).add(other.said.meaning)
    return [
        each for each in names if any(holders.get(content, set()) - {each.said.meaning} for content in each.contents)
    ]
