"""Decides once what files of one form hold: those with equal trees, of which the same looks find the same.

A data set is often thousands of files that one program wrote. Their trees are equal but for where the bytes lie, and
the rules that find videos in a tree, and splits of these, take longer than to read it. What they find is kept together
with the looks that they took at the file (`HDF5File.ask`): it is true of the next file with such a tree if these have
the same answers. Trees are also equal where they differ in the number of the only group (`lone_groups.py`). Who reads
more of a file than that, as lists of lengths, decides for that file alone.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple, cast

from loader_service.catalog.hdf5.plain import HDF5_ERRORS
from loader_service.catalog.hdf5.tree import DatasetInfo, Tree
from loader_service.catalog.layouts.layout import FoundVideo
from loader_service.catalog.layouts.padded import PaddedVideo
from loader_service.catalog.scan.lone_groups import LoneGroup, Renaming, lone_group
from loader_service.catalog.splits.choose import Chosen
from loader_service.catalog.videos.episodes import Episode, Found, VideoField

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from loader_service.catalog.hdf5.file import HDF5File

#: Datasets of a file whose form is kept at most, and of all forms that are kept: those that were found last.
_MOST_DATASETS, _MOST_KEPT = 512, 16_384

#: Videos that say of places in the file no more than the path of a dataset.
_PLAIN = frozenset({FoundVideo, PaddedVideo})

_Form = tuple[object, ...]


class KnownForms:
    """What was chosen in files, by their forms; of one process, and of one set of options."""

    def __init__(self) -> None:
        self._known: dict[_Form, _Decision] = {}
        self._kept = 0  # datasets of these

    def choose(
        self, hdf5: HDF5File, tree: Tree, decide: Callable[[HDF5File], Chosen], *, by_name: bool = True
    ) -> Chosen:
        """Return what `decide` chooses in a file, without asking it where that is known.

        Parameters
        ----------
        hdf5, tree
            The file, and what is in it.
        decide
            Depends on the tree and on what it asks, and reads, of the file that it is given.
        by_name
            Whether it depends on names that a user has given.
        """
        if len(tree.datasets) > _MOST_DATASETS:
            return decide(hdf5)
        lone = None if by_name else lone_group(tree)
        form = _form_of(hdf5, tree, lone)
        known = self._known.get(form)
        if known is not None and lone is not None and lone.name != known.group:
            known = known.in_group(lone.name)
        if known is not None and known.is_true_of(hdf5, tree):
            return _moved(known.chosen, tree.datasets)
        file = _LookedAt(hdf5)
        chosen = decide(cast("HDF5File", file))
        if not file.is_read and _is_movable(chosen, tree.datasets):
            same = _moved(chosen, tree.datasets)
            self._keep(form, _Decision(same, file.questions, len(tree.datasets), lone.name if lone else ""))
        return chosen

    def _keep(self, form: _Form, decision: _Decision) -> None:
        before = self._known.pop(form, None)
        self._known[form] = decision
        self._kept += decision.datasets - (before.datasets if before else 0)
        while self._kept > _MOST_KEPT:
            self._kept -= self._known.pop(next(iter(self._known))).datasets


class _Question(NamedTuple):
    """What was asked of a file, about what, and what the answer was."""

    function: Callable[..., Any]
    about: tuple[Any, ...]
    answer: Any


class _LookedAt:
    """Stands for a file; notes what it is asked, and whether anything else of it is read."""

    def __init__(self, hdf5: HDF5File) -> None:
        self._hdf5 = hdf5
        self.direct = hdf5.direct
        self.questions: list[_Question] = []
        self.is_read = False

    def ask(self, question: Callable[..., Any], *about: Any) -> Any:
        answer = question(self._hdf5, *about)
        self.questions.append(_Question(question, about, answer))
        return answer

    def entries(self, path: str) -> Any:  # handed on by those that do not call it
        self.is_read = True
        return self._hdf5.entries(path)

    def __getattr__(self, name: str) -> Any:
        self.is_read = True
        return getattr(self._hdf5, name)


@dataclass(frozen=True)
class _Decision:
    """What was chosen in a file of so many datasets, the questions that this depends on, and what its group is."""

    chosen: Chosen
    questions: Sequence[_Question]
    datasets: int
    group: str

    def in_group(self, name: str) -> _Decision | None:
        """Return what is chosen in a file in which the group has another name; None where that would not be all."""
        return self._renamed(Renaming(self.group, name)) if self._is_known_by_group else None

    @cached_property
    def _is_known_by_group(self) -> bool:
        """Whether the group's name stands nowhere but in paths that are renamed with it."""
        renaming = Renaming(self.group, "")
        unnamed = self._renamed(renaming)
        return renaming.is_complete_in(f"{unnamed.chosen} {[each[1:] for each in unnamed.questions]}")

    def _renamed(self, renaming: Renaming) -> _Decision:
        questions = [_Question(each.function, *map(renaming.of, each[1:])) for each in self.questions]
        return _Decision(renaming.chosen(self.chosen), questions, self.datasets, renaming.new)

    def is_true_of(self, hdf5: HDF5File, tree: Tree) -> bool:
        """Tell whether another file of the same form has the same answers; not so of one that cannot be read."""
        try:
            for function, about, answer in self.questions:
                moved = [tree.datasets[each.path] if type(each) is DatasetInfo else each for each in about]
                if function(hdf5, *moved) != answer:
                    return False
        except HDF5_ERRORS:
            return False
        return True


def _form_of(hdf5: HDF5File, tree: Tree, lone: LoneGroup | None) -> _Form:
    """Return all that is known of a file before its bytes are looked at, but for where they lie."""
    infos = tree.datasets.values()
    facts = [(*info[:_ADDRESS], info.address is None, *info[_ADDRESS + 1 :]) for info in infos]
    attributed = list(tree.attributed.items())
    if lone is not None:
        renaming = Renaming(lone.name, lone.form)
        facts = [(renaming.path(info.path), *fact[1:]) for info, fact in zip(infos, facts, strict=True)]
        attributed = [(renaming.path(path), names) for path, names in attributed]
    return (
        hdf5.direct,
        tuple(facts),
        tuple(attributed),
        tuple(tree.second_names.items()),
        *(tree.empty_groups, tree.external_links, tree.unwritten, tree.links),
    )


#: Which of a dataset's facts says where it lies.
_ADDRESS = DatasetInfo._fields.index("address")


def _is_movable(chosen: Chosen, datasets: Mapping[str, DatasetInfo]) -> bool:
    """Tell whether what was chosen, of all that is there, says of places no more than what its datasets say."""
    parts = [part for episode in chosen.found.episodes for part in episode.parts.values()]
    infos = [info for part in parts for info in (part.info, part.bounds) if info is not None]
    plain = all(part.frames is None or type(part.frames) in _PLAIN for part in parts)
    return plain and not chosen.of and all(datasets.get(info.path) == info for info in infos)


def _moved(chosen: Chosen, datasets: Mapping[str, DatasetInfo]) -> Chosen:
    """Return a copy of what was chosen, with the datasets of another file of the same form."""
    found = chosen.found
    episodes = [
        Episode(**{**vars(episode), "parts": {key: _moved_part(part, datasets) for key, part in episode.parts.items()}})
        for episode in found.episodes
    ]
    moved = Found(found.layout, episodes, dict(found.left_out), dict(found.words))
    return Chosen(**{**vars(chosen), "found": moved})


def _moved_part(part: VideoField, datasets: Mapping[str, DatasetInfo]) -> VideoField:
    if part.info is None and part.bounds is None:
        return part
    moved = {name: datasets[info.path] for name, info in (("info", part.info), ("bounds", part.bounds)) if info}
    return VideoField(**{**vars(part), **moved})  # `replace` takes 15 calls
