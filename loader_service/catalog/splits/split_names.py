"""Which datasets of a file are in which split, by names: groups ``train`` and ``val``, or ``X_train``, ``X_test``.

Pure: sees the paths, kinds and shapes of datasets. A name *says* a split when it has one of some words as a part. It is
one where its neighbours confirm it: of one parent, two names that say different splits and are alike in all else, such
as ``train`` and ``val``, ``X_train`` and ``X_test``, or ``train_001`` and ``val_002``. Both must hold data: lists of
names, of indices or of labels alone make no split. They belong to one that data makes: ``y/train`` beside ``X/train``.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from functools import partial
from typing import TYPE_CHECKING

from loader_service.catalog.hdf5.tree import ElementKind, Tree
from loader_service.catalog.inner_paths import basename_of, depth_of, join, parent_of
from loader_service.catalog.split_words import (
    SPLIT_WORDS,
    Said,
    said_beside,
    said_by,
    single_meaning,
    training_first,
    without_end_number,
)
from loader_service.catalog.splits.neighbours import (
    NamesBeside,
    confirmed_places,
    of_their_own,
    stem_of_split,
)
from loader_service.catalog.splits.parts_by_name import groups_called, is_part_name
from loader_service.catalog.videos.aside.set_aside import REFERRED
from loader_service.record_class import record

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from loader_service.catalog.hdf5.tree import DatasetInfo

    #: Tells whether a dataset, whose own name or whose group's says a split, is data of it.
    IsData = Callable[[DatasetInfo, bool], bool]

#: Groups whose lists of texts are lists of names, whatever those are called.
PARENTS = frozenset({"mask", "masks", "split", "splits", "subset", "subsets", "filter", "filters", "filter_key"})

#: What is left of a name that lists entries, when the word is taken out.
_LISTS = re.compile(r"(?:^|_)(?:is|flag|idx|ind|index|indices|id|mask|key|name|list)(?:e?s)?$")


#: What is left of one that lists numbers, in one row or column, or has places of another kind.
_PLACES = re.compile(r"(?:^|_)locs?$")


@record(frozen=True)
class NamedSplits:
    """Splits of a file: the parents whose members are in them, and the words as the file has them.

    Attributes
    ----------
    parents
        Paths of groups.
    words
        What names say, by what it stands for: training first, tests last.
    own
        Parents, and names in them without numbers, that are splits by all that they say: ``test_ood``. A part, such as
        ``fold_1``, has its number.
    """

    parents: frozenset[str]
    words: Mapping[str, str]
    own: frozenset[tuple[str, str]] = frozenset()

    def of(self, path: str) -> str | None:
        """Return what the split of a dataset, or group, stands for; None where it is in none."""
        parent = ""
        for name in path.split("/"):
            if parent in self.parents:
                meaning = self._said(parent, name)
                if meaning is not None:
                    return meaning
            parent = join(parent, name)
        return None

    def _said(self, parent: str, name: str) -> str | None:
        if (parent, name) in self.own:
            return name.lower()
        if (parent, stem_of_split(name)) in self.own:
            return stem_of_split(name)
        said = said_by(name) or said_beside(name)
        return said.meaning if said is not None and said.meaning in self.words else None


def splits_by_name(tree: Tree) -> NamedSplits | None:
    """Return the splits of a file, at least two; None if its names say none."""
    named = [
        info for path, info in tree.datasets.items() if SPLIT_WORDS.search(path) and not path.startswith(f"{REFERRED}/")
    ]
    if not named:
        return None
    return _surest(tree, partial(_confirmed, named))


def _surest(tree: Tree, find: Callable[[IsData], NamedSplits | None]) -> NamedSplits | None:
    """Return the splits of what is surely data; where there are none, of what may be, unless it may be their lists."""
    found = find(_is_data)
    if found is None:
        found = find(_may_be_data)
        found = None if found is None or _may_be_lists(tree, found) else found
    return found


def _confirmed(named: Iterable[DatasetInfo], is_data: IsData) -> NamedSplits | None:
    neighbours = NamesBeside()
    beside: dict[tuple[str, str], set[str]] = {}  # what is no data alone, such as labels
    for info in named:
        for parent, name, said, direct in _said_along(info.path):
            surely = said_by(name) is not None
            if is_data(info, direct) and not _may_list(info, said):
                if surely or is_data is _is_data:
                    neighbours.add(parent, name, said, info, surely=surely)
            elif direct and basename_of(parent) not in PARENTS:
                beside.setdefault((parent, said.rest), set()).add(said.meaning)
    # A class of which all is for training lies as the others do, at the same depth.
    sure = neighbours.sure()
    confirmed = confirmed_places(sure)
    found = [each for each in sure if (each.depth, each.said.rest) in confirmed]
    own = [each for each in of_their_own(sure) if (each.depth, each.said.rest) not in confirmed]
    if not found and not own:
        return None
    beside_own = {each.parent for each in own}
    bare = [each for each in sure if each.is_bare and each.parent in beside_own]
    words = {each.said.meaning: each.said.word for each in reversed([*found, *bare])}
    words |= {stem_of_split(each.name): without_end_number(each.name) for each in own}
    parents = {each.parent for each in (*found, *own)}
    parents |= {place[0] for place, said in beside.items() if len(said) > 1 and said <= words.keys()}
    names = frozenset((each.parent, stem_of_split(each.name)) for each in own)
    return NamedSplits(frozenset(parents), training_first(words), names)


def _may_list(info: DatasetInfo, said: Said) -> bool:
    """Tell whether a dataset is called as a list of entries; ``train_loc`` with a place of two numbers is none."""
    return len(info.shape) < 3 and bool(
        _LISTS.search(said.rest) or (1 in info.shape[-2:] and _PLACES.search(said.rest))
    )


def only_split(tree: Tree, name: str) -> NamedSplits | None:
    """Return a split that is there without another one, by parts of names, or as groups of this name; None without."""
    return _surest(tree, partial(_only_split, tree, name))


def _only_split(tree: Tree, name: str, is_data: IsData) -> NamedSplits | None:
    meaning = single_meaning(name)
    if meaning is None and is_part_name(name):
        own = frozenset((parent_of(path), basename_of(path)) for path in groups_called(tree.datasets, name))
        return NamedSplits(frozenset(parent for parent, _ in own), {name.lower(): name}, own) if own else None
    if meaning is None and said_by(name):
        return _groups_called(tree, name, is_data)
    parents = {}
    for info in tree.datasets.values() if meaning else ():
        for parent, each, said, direct in _said_along(info.path) if SPLIT_WORDS.search(info.path) else ():
            if said.meaning == meaning and said_by(each) and is_data(info, direct):
                parents[parent] = said.word
    if meaning is None or not parents:
        return None
    top = min(map(depth_of, parents))
    highest = [parent for parent in parents if depth_of(parent) == top]
    return NamedSplits(frozenset(highest), {meaning: parents[highest[0]]})


def _groups_called(tree: Tree, name: str, is_data: IsData) -> NamedSplits | None:
    """Return the split that is groups called by all that it says, but for numbers, such as ``test_a``."""
    stem = stem_of_split(name)
    own = {
        (parent, stem)
        for path, info in tree.datasets.items()
        if SPLIT_WORDS.search(path)
        for parent, each, _, direct in _said_along(path)
        if not direct and stem_of_split(each) == stem and is_data(info, direct)
    }
    return NamedSplits(frozenset(parent for parent, _ in own), {stem: name}, frozenset(own)) if own else None


def _may_be_lists(tree: Tree, found: NamedSplits) -> bool:
    """Tell whether what is in no split has as many entries as a split has: that may be what the splits list."""
    entries, longest = 0, 0
    datasets: Counter[str] = Counter()
    for path, info in tree.datasets.items():
        size, meaning = math.prod(info.shape), found.of(path)
        if meaning is None:
            entries += size
        else:
            datasets[meaning] += 1
            longest = max(longest, size, datasets[meaning])
    return entries >= longest


def restricted(tree: Tree, splits: NamedSplits, meaning: str) -> Tree:
    """Return the part of a file's tree that is one split."""
    return Tree(
        {path: info for path, info in tree.datasets.items() if splits.of(path) == meaning},
        tuple(path for path in tree.empty_groups if splits.of(path) == meaning),
        tree.external_links,
        {path: names for path, names in tree.attributed.items() if not path or splits.of(path) == meaning},
        tree.unwritten,
        second_names={path: first for path, first in tree.second_names.items() if splits.of(path) == meaning},
    )


def _said_along(path: str) -> Iterable[tuple[str, str, Said, bool]]:
    """Yield each part of a path that says a split, behind its parent, and whether it is the dataset's own name."""
    parent = ""
    names = path.split("/")
    for number, name in enumerate(names):
        said = said_by(name) or said_beside(name)
        if said is not None:
            yield parent, name, said, number == len(names) - 1
        parent = join(parent, name)


def _may_be_data(info: DatasetInfo, direct: bool) -> bool:
    """Tell whether a dataset has entries of a split, of any kind: the tokens ``train``, a text of each sample."""
    return bool(info.shape) or not direct


def _is_data(info: DatasetInfo, direct: bool) -> bool:
    """Tell whether a dataset can be a video or table of its own: no list, mask or labels, and no log of a training."""
    if info.kind is ElementKind.TEXT or (info.dtype == "bool" and len(info.shape) < 2):
        return False
    return (
        len(info.shape) > 1
        or info.kind in {ElementKind.VLEN_BYTES, ElementKind.OPAQUE, ElementKind.OTHER}
        or (not direct and info.kind in {ElementKind.BYTES, ElementKind.FLOAT})
    )
