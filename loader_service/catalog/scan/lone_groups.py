"""Tells files that differ in the number of their only group, as `episode_12` and `episode_34` do. Knows no HDF5.

Where all of a file lies in one group, the number in that group's name says nothing but which file it is: what is found
in one is true of the next with the other name in its paths. Names that are words, such as `train`, stay as they are.
"""

from __future__ import annotations

import re
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

from loader_service.catalog.hdf5.tree import DatasetInfo
from loader_service.catalog.splits.choose import Chosen
from loader_service.catalog.videos.episodes import Episode, Found, VideoField

if TYPE_CHECKING:
    from collections.abc import Iterable

    from loader_service.catalog.hdf5.tree import Tree

#: Numbers, and names that are 16 hexadecimal digits or more, such as those of UUIDs.
_NUMBERS = re.compile(r"(?<![0-9a-zA-Z])(?=[a-f]*[0-9])[0-9a-f]{8,}(?:-[0-9a-f]{4,})*(?![0-9a-zA-Z])|[0-9]+")

#: Names that lines show as they are.
_PLAIN = re.compile(r"[0-9a-zA-Z_.-]+")

#: Numbers, without zeros before them, that a sequence may begin with: such a name may say more than which file it is.
_FIRST = frozenset({"", "1"})

#: What stands behind a group's path in that of something in it, of an attribute, or of a line about it.
_BEHIND = frozenset({"", "/", "@", " "})


class LoneGroup(NamedTuple):
    """The only group at the root of a file, and what its name is without its numbers."""

    name: str
    form: str


def lone_group(tree: Tree) -> LoneGroup | None:
    """Return the group that all of a file lies in; None where there is another, or its name has no number of its own.

    Its number is its own where nothing below has it, too: what looks at both may find that they are the same.
    """
    first = next(iter(tree.datasets), "")
    name, _, _ = first.partition("/")
    numbers = [] if name == first or not _PLAIN.fullmatch(name) else _NUMBERS.findall(name)
    if not numbers or any(number.lstrip("0") in _FIRST for number in numbers):
        return None
    begin, inner = f"{name}/", []
    for path in _paths(tree):
        if path.startswith(begin):
            inner.append(path[len(begin) :])
        elif path and path != name:
            return None
    below = "/".join(inner)
    if name in below or not set(numbers).isdisjoint(_NUMBERS.findall(below)):
        return None
    return LoneGroup(name, _NUMBERS.sub(lambda number: "#" * len(number[0]), name))


def _paths(tree: Tree) -> Iterable[str]:
    yield from tree.datasets
    yield from tree.attributed
    yield from tree.empty_groups
    yield from tree.external_links
    for pair in (*tree.links, *tree.second_names.items()):
        yield from pair


class Renaming(NamedTuple):
    """What is found in a file whose only group has one name, told of a file in which it has another."""

    old: str
    new: str

    def path(self, path: str) -> str:
        """Return the path of the same thing in the other file."""
        rest = path[len(self.old) :]
        return self.new + rest if path.startswith(self.old) and rest[:1] in _BEHIND else path

    def of(self, value: Any) -> Any:
        """Return a question's part, or its answer, or what reads a line, for the other file."""
        kind = type(value)
        if kind is str:
            return self.path(value)
        if kind is DatasetInfo:
            return value._replace(path=self.path(value.path))
        if kind is list or kind is tuple:
            return kind([self.of(each) for each in value])
        if kind is partial:
            return partial(value.func, *[self._line(self.path(each)) for each in value.args])
        return self._part(value) if kind is VideoField else value

    def chosen(self, chosen: Chosen) -> Chosen:
        """Return what is chosen in the other file."""
        found = chosen.found
        lines = {self.path(key): self._line(line) for key, line in found.left_out.items()}
        words = {self.path(key): self.of(line) for key, line in found.words.items()}
        moved = Found(found.layout, [self._episode(each) for each in found.episodes], lines, words)
        return Chosen(**{**vars(chosen), "found": moved})

    def is_complete_in(self, shown: str) -> bool:
        """Tell whether what was renamed has the old name nowhere; `shown`: its `repr`."""
        return re.search(rf"(?<![0-9]){re.escape(self.old)}(?![0-9])", shown) is None

    def _line(self, line: str) -> str:
        # Paths, and names of fields that are made of them, stand in quotes.
        named = rf"(?<=['\"]){re.escape(self.old)}(?=[/'\"@_])"
        return re.sub(named, self.new, line) if self.old in line else line

    def _episode(self, episode: Episode) -> Episode:
        root = None if episode.root is None else self.path(episode.root)
        parts = {self.path(key): self._part(part) for key, part in episode.parts.items()}
        names = (self.path(episode.name), root, episode.frame_count, self.path(episode.dataset_path))
        return Episode(*names, parts, frozenset(map(self.path, episode.helpers)))

    def _part(self, part: VideoField) -> VideoField:
        video = part.frames
        if video is not None:
            names = {"name": self.path(video.name), "dataset_path": self.path(video.dataset_path)}
            video = type(video)(**{**vars(video), **names, "helpers": frozenset(map(self.path, video.helpers))})
        places = {"path": self.path(part.path), "info": self.of(part.info), "bounds": self.of(part.bounds)}
        return VideoField(**{**vars(part), **places, "frames": video})
