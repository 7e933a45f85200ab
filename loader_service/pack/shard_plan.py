"""Which videos are packed, in which order, and into which shards; pure."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from loader_service.catalog.natural import natural_key
from loader_service.errors import PackError
from loader_service.pack.records import Item

#: Bytes of sources, and videos, that are read at one go: a process is asked once for many pictures.
_UNIT_BYTES, _RECODED_BYTES, _UNIT_ITEMS = 4 * 2**20, 2**18, 64

#: Runs that each process is to have at least, so that all end at about the same time.
_UNITS_EACH = 8

#: Kinds whose files hold many videos, which are called by their files too where a folder of them is packed.
_OF_MANY = frozenset({"hdf5", "tar"})

#: Kinds whose bytes say little of the work in them.
_FILMS = frozenset({"videos", "lerobot"})


class Leftover(NamedTuple):
    """A video that is not packed, and why."""

    name: str
    source: str
    reason: str

    def __str__(self) -> str:
        return f"left out: {self.name!r} of {self.source!r}: {self.reason}"


def in_order(items: Sequence[Item], shuffle: int | None) -> list[Item]:
    """Return videos by name, as people count, or in an order drawn from a seed."""
    ordered = sorted(items, key=lambda item: natural_key(item.name))
    if shuffle is None:
        return ordered
    return [ordered[place] for place in np.random.default_rng(shuffle).permutation(len(ordered))]


def without_clashes(
    items: Sequence[Item], taken: Mapping[str, str], leave_out: Callable[[Leftover], object] | None
) -> list[Item]:
    """Return the videos whose names can lie beside each other in one file.

    Parameters
    ----------
    items
        In their order: the first of one name stays.
    taken
        Names that are in the output already, and their sources.
    leave_out
        Told of each that does not stay; None: the first is an error.

    Raises
    ------
    PackError
        When two have one name, or one would lie inside another one.
    """
    sources = dict(taken)
    inner = {folder: name for name in taken for folder in _folders(name)}
    kept = []
    for item in items:
        other = sources.get(item.name) or _inside(item.name, sources, inner)
        if other is None:
            sources[item.name] = item.path
            inner.update(dict.fromkeys(_folders(item.name), item.name))
            kept.append(item)
            continue
        reason = f"its name is that of {other!r}, or one lies in the other; {_remedy(item, other)}"
        if leave_out is None:
            raise PackError(f"two videos of one name, {item.name!r}: {item.path!r}: {reason}, or --on-error skip")
        leave_out(Leftover(item.name, item.path, reason))
    return kept


def _remedy(item: Item, other: str) -> str:
    if item.kind in _OF_MANY and other != item.path:
        return "give the folder of both, where each file gets a group of its own"
    if item.kind == "tar":
        return "write the tar with the files of a sample one after the other (tar --sort=name)"
    return "rename one"


def _folders(name: str) -> list[str]:
    parts = name.split("/")
    return ["/".join(parts[:count]) for count in range(1, len(parts))]


def _inside(name: str, sources: dict[str, str], inner: dict[str, str]) -> str | None:
    outer = next((folder for folder in _folders(name) if folder in sources), None)
    other = outer if outer is not None else inner.get(name)
    return None if other is None else sources[other]


def into_units(items: Sequence[Item], processes: int, *, recoded: bool = False) -> Iterator[list[Item]]:
    """Yield the videos in runs that a process reads at one go: one film, or many pictures.

    Parameters
    ----------
    items
        In their order.
    processes
        How many there are; each is to have some runs.
    recoded
        Whether pictures are decoded and encoded, and not just read.
    """
    unit: list[Item] = []
    size = 0
    most_items = max(1, min(_UNIT_ITEMS, len(items) // (processes * _UNITS_EACH)))
    for item in items:
        most_bytes = 0 if item.kind in _FILMS else _RECODED_BYTES if recoded else _UNIT_BYTES
        if unit and (size + item.size_bytes > most_bytes or len(unit) >= most_items):
            yield unit
            unit, size = [], 0
        unit.append(item)
        size += item.size_bytes
    if unit:
        yield unit


class ShardPlan:
    """Says which shard the next video goes to; each is asked for once, in order.

    Parameters
    ----------
    items
        All that go into these shards, in order, those that were written by a run before included.
    shards
        How many files of about one size; 0: as many as `shard_size` makes.
    shard_size
        Bytes of videos after which another file begins; 0: never.
    first
        The number of the first one.
    begun
        The shard that a run before was at, and how many bytes it has.
    """

    def __init__(
        self, items: Sequence[Item], shards: int, shard_size: int, first: int = 0, begun: tuple[int, int] | None = None
    ) -> None:
        self._size = shard_size
        self.number, self._filled = begun or (first, 0)
        self._ends = dict(zip((item.name for item in items), _shares(items, shards), strict=True)) if shards else {}
        self._first = first

    def place(self, name: str, size_bytes: int) -> int:
        """Return the shard of a video of so many bytes."""
        if self._ends:
            self.number = max(self.number, self._first + self._ends[name])
        elif self._size and self._filled and self._filled + size_bytes > self._size:
            self.number += 1
            self._filled = 0
        self._filled += size_bytes
        return self.number


def _shares(items: Sequence[Item], shards: int) -> list[int]:
    """Return a shard for each video: runs of about as many bytes of sources each, and none without a video."""
    count = min(shards, len(items))
    ends = np.cumsum([max(1, item.size_bytes) for item in items], dtype=np.float64)
    middles = ends - np.diff(ends, prepend=0.0) / 2
    wanted = np.minimum((middles / ends[-1] * count).astype(np.int64), count - 1)
    places = np.arange(len(items))
    return [int(each) for each in np.clip(_without_gaps(wanted), count - len(items) + places, places)]


def _without_gaps(numbers: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return rising numbers in which none is left out."""
    found = np.zeros(len(numbers), np.int64)
    for place in range(1, len(numbers)):
        found[place] = min(max(found[place - 1], int(numbers[place])), found[place - 1] + 1)
    return found
