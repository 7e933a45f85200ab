"""Finds the rows of a CSV file that name each video. Knows paths and names only, no label and no file."""

from __future__ import annotations

import difflib
import functools
import itertools
import os
import re
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Collection, Container, Iterator, Sequence

    from loader_service.catalog.labels.frame_names import FrameNames

#: Endings that a row may have and a video's name lack. No others: "v1.5" is a name of its own.
_ENDINGS = re.compile(
    r"\.(avi|mp4|m4v|mkv|mov|mpe?g|webm|wmv|flv|gif|jpe?g|png|bmp|tiff?|webp|wav|mp3|flac|np[yz])\Z",
    re.IGNORECASE,
)

#: Keys that are compared with a video's name to find the one that may be meant; 10,000 take half a second.
_MOST_COMPARED = 10_000


class NamedVideo(NamedTuple):
    """One video with all that a row may call it; a tuple, because there may be a million of them.

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
    frames
        Of each field whose frames are a dataset each.
    """

    path: str
    name: str
    inner: tuple[str, ...]
    whole_file: bool
    frames: tuple[FrameNames, ...] = ()

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

    def is_called_in_full(self, key: str, root: str) -> bool:
        """Tell whether a row names it by all of its file's path below `root`, with or without an ending."""
        relative = "/".join(_parts(os.path.relpath(self.path, root)))
        folder, _, name = relative.rpartition("/")
        places = (relative, f"{folder}/{_stem(name)}" if folder else _stem(name))
        full = {f"{place}/{name}" for place in places for name in self.inner}
        if self.whole_file:
            full.update(places)
        return not full.isdisjoint(called(key))

    def names(self, depths: Collection[int]) -> Iterator[str]:
        """Yield its names of so many parts: all of its path inside of the file, behind some of the file's or none."""
        files = _ends(self.path)
        for name in self.inner:
            inside = name.count("/") + 1
            for depth in depths:
                if depth == inside:
                    yield name
                elif depth > inside:
                    yield from (f"{ends[depth - inside]}/{name}" for ends in files if depth - inside < len(ends))
        if self.whole_file:
            yield from (ends[depth] for ends in files for depth in depths if depth < len(ends))


class CSVIndex:
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
            for name in called(key):
                self._rows.setdefault(name, []).append(row)
            self._depths.add(len(parts))

    def rows_of(self, video: NamedVideo) -> list[int]:
        """Return the rows that name a video, in their order."""
        rows = [self._rows[name] for name in video.names(self._depths) if name in self._rows]
        return rows[0] if len(rows) == 1 else sorted(set(itertools.chain.from_iterable(rows)))

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


@functools.lru_cache(maxsize=1)  # videos come file by file
def _ends(path: str) -> tuple[list[str], list[str]]:
    """Return the last parts of a file's path, by how many they are; and the same without its ending."""
    parts = _parts(path)
    ends = ["/".join(parts[len(parts) - count :]) for count in range(len(parts) + 1)]
    return ends, [end[: len(end) - len(parts[-1])] + _stem(parts[-1]) if end else end for end in ends]


def _parts(path: str) -> list[str]:
    return [part for part in path.split("/") if part not in {"", "."}]


def called(key: str) -> set[str]:
    """Return what a row calls its video: with its ending, and without that of a film or picture."""
    called = "/".join(_parts(key))
    return {called, _ENDINGS.sub("", called)}


def _stem(name: str) -> str:
    return name.rpartition(".")[0] or name
