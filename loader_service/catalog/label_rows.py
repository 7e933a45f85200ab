"""Finds the rows of a CSV file that name each video. Knows paths and names only, no label and no file."""

from __future__ import annotations

import difflib
import itertools
import os
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Container, Iterator, Sequence

#: Endings that a row may have and a video's name lack. No others: "v1.5" is a name of its own.
_ENDINGS = re.compile(
    r"\.(avi|mp4|m4v|mkv|mov|mpe?g|webm|wmv|flv|gif|jpe?g|png|bmp|tiff?|webp|wav|mp3|flac|np[yz])\Z",
    re.IGNORECASE,
)

#: Keys that are compared with a video's name to find the one that may be meant; 10,000 take half a second.
_MOST_COMPARED = 10_000


@dataclass(frozen=True)
class NamedVideo:
    """One video with all that a row may call it.

    Attributes
    ----------
    path
        Of its file, absolute.
    name
        In the catalog.
    inner
        Its paths inside of the file: of itself, and of its datasets. Empty when the file is the video.
    whole_file
        Whether the file's own name is a name of the video.
    """

    path: str
    name: str
    inner: tuple[str, ...]
    whole_file: bool

    def __str__(self) -> str:
        return f"{self.name!r} in {self.path!r}"

    def keys(self, root: str) -> list[str]:
        """Return what a row may call it, for people: the most precise first.

        Parameters
        ----------
        root
            The folder that all files share.
        """
        relative = os.path.relpath(self.path, root)
        places = list(dict.fromkeys((relative, os.path.basename(self.path))))
        inside = self.inner[:1]
        if self.whole_file:
            return list(dict.fromkeys([*places, *(_stem(place) for place in places)]))
        return [*(f"{place}/{name}" for place in places for name in inside), *inside]

    def paths(self) -> Iterator[tuple[list[str], int]]:
        """Yield paths whose last parts are names of it, each with how many parts a name has at least."""
        file = _parts(self.path)
        stem = [*file[:-1], _stem(file[-1])]
        for name in self.inner:
            inside = _parts(name)
            yield [*file, *inside], len(inside)
            yield [*stem, *inside], len(inside)
        if self.whole_file:
            yield file, 1
            yield stem, 1


class RowIndex:
    """The rows of a CSV file by what they call their videos.

    Parameters
    ----------
    keys
        Of all rows. A name may have the ending of a film or picture that the video's own name has not.
    """

    def __init__(self, keys: Sequence[str]) -> None:
        self._rows: dict[str, list[int]] = {}
        self._depths: set[int] = set()
        for row, key in enumerate(keys):
            parts = _parts(key)
            if not parts:
                continue
            called = "/".join(parts)
            for name in {called, _ENDINGS.sub("", called)}:
                self._rows.setdefault(name, []).append(row)
            self._depths.add(len(parts))

    def rows_of(self, video: NamedVideo) -> list[int]:
        """Return the rows that name a video, in their order."""
        found: set[int] = set()
        for path, least in video.paths():
            for depth in self._depths:
                if least <= depth <= len(path):
                    found.update(self._rows.get("/".join(path[-depth:]), ()))
        return sorted(found)

    def nearest(self, video: NamedVideo, others: Container[int]) -> int | None:
        """Return the row whose key is most like a name of a video, if there is any; not one that names others."""
        free = {name.lower(): rows[0] for name, rows in self._rows.items() if rows[0] not in others}
        candidates = list(itertools.islice(free, _MOST_COMPARED))
        for name in (*video.inner[:1], video.name):
            close = difflib.get_close_matches(name.lower(), candidates, n=1, cutoff=0.7)
            if close:
                return free[close[0]]
        return None


def common_root(paths: Sequence[str]) -> str:
    """Return the folder that all files share."""
    return os.path.commonpath([os.path.dirname(path) for path in paths])


def _parts(path: str) -> list[str]:
    return [part for part in path.split("/") if part not in {"", "."}]


def _stem(name: str) -> str:
    return name.rpartition(".")[0] or name
