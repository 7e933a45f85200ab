"""What is to be packed, and what was: an `Item` for each video to be read, a `PackedVideo` for each that is written.

Both travel as JSON: to the processes that read, into the journal, and into the manifest.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from loader_service.errors import PackError

#: What a label may be, as the catalog reads it.
PackedLabel = str | int | float | None


@dataclass(frozen=True)
class Item:
    """One video that can be packed.

    Attributes
    ----------
    kind
        The name of the source kind that reads it.
    name
        Of the video in the output; slashes make groups.
    path
        The file or folder that it comes from, for messages and for the manifest.
    place
        Where in there; numbers and texts that only its kind understands.
    size_bytes
        Of its source, as far as known; for progress and for shards.
    label
        A number, a text, or None; a label that its reader finds comes first.
    in_turn
        Whether it is reached through all that come before it in its file, as in a compressed one.
    fault
        Why it cannot be read, where that is known already: it stands for a part of a source then.
    """

    kind: str
    name: str
    path: str
    place: tuple[Any, ...] = ()
    size_bytes: int = 0
    label: PackedLabel = None
    in_turn: bool = False
    fault: str = ""

    @classmethod
    def of_json(cls, found: dict[str, Any]) -> Item:
        """Return the item that ``asdict`` and JSON made this of."""
        return cls(**{**found, "place": tuple(found["place"])})


class PackedDataset(NamedTuple):
    """A dataset of a video's group: its name, NumPy's word for its elements, and its shape."""

    name: str
    dtype: str
    shape: tuple[int, ...]


@dataclass(frozen=True)
class PackedVideo:
    """One video as it lies in a shard: its datasets end to end, from `offset` on.

    Attributes
    ----------
    name
        Of its group.
    source, modified_ns, source_bytes
        What it was made of: the path, the newest time of change among its files, and their bytes.
    frames
        How many it has.
    datasets
        In the order of their bytes.
    attributes
        Of its group: numbers, texts, or lists of numbers.
    size_bytes, crc32
        Of all its bytes.
    forms
        What the frames of each field of pictures are, in words.
    turned
        How many pictures their EXIF data asks to be turned.
    shard, offset
        Where it lies: the shard's number, and the first byte in that file.
    short
        Datasets that lie with the index, as `attributes` are: lists that are too long for one in other videos.
    """

    name: str
    source: str
    modified_ns: int
    source_bytes: int
    frames: int
    datasets: tuple[PackedDataset, ...]
    attributes: dict[str, Any]
    size_bytes: int
    crc32: int
    times_s: tuple[float, float] | None = None
    forms: dict[str, str] = field(default_factory=dict)
    turned: int = 0
    shard: int = -1
    offset: int = -1
    short: dict[str, Any] = field(default_factory=dict)

    @property
    def end(self) -> int:
        """The byte of its shard after its last."""
        return self.offset + self.size_bytes

    def as_json(self) -> dict[str, Any]:
        """Return it as JSON can hold it."""
        return asdict(self)

    @classmethod
    def of_json(cls, found: dict[str, Any]) -> PackedVideo:
        """Return the record that `as_json` made this of; TypeError or KeyError when it is none."""
        datasets = tuple(PackedDataset(name, dtype, tuple(shape)) for name, dtype, shape in found["datasets"])
        times = found["times_s"]
        return cls(**{**found, "datasets": datasets, "times_s": None if times is None else (times[0], times[1])})


@dataclass
class Beside:
    """What a video has beside its frames.

    Attributes
    ----------
    columns
        Arrays with an entry for each frame, ``(frames, …)``, by name.
    values
        Numbers, texts, or ``(n,)`` arrays of numbers for the video, by name.
    label
        Of the video; None leaves the item's.
    frame_rate
        In frames a second; None where nothing says it.
    lists
        By name: the entries of all frames one after the other, ``(entries, …)``, and where those of each begin,
        ``(frames + 1,) int64``.
    between
        Names of columns that have an entry less than there are frames, as actions between frames do.
    whole
        Arrays of the video that have nothing to do with its frames, by name, such as its sound.
    """

    columns: dict[str, Any] = field(default_factory=dict)
    values: dict[str, Any] = field(default_factory=dict)
    lists: dict[str, tuple[Any, Any]] = field(default_factory=dict)
    label: PackedLabel = None
    frame_rate: float | None = None
    between: set[str] = field(default_factory=set)
    whole: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Recoding:
    """How frames are made anew; by default those that are JPEG or PNG stay as they are.

    Attributes
    ----------
    quality
        Of JPEG, 1 to 100; None: 90 for frames of films, and no change for others.
    short_side
        Pixels of the shorter side at most; larger frames are scaled down.
    fps
        Frames a second that are kept; films with fewer keep all.
    threads
        That a decoder of films may use.
    """

    quality: int | None = None
    short_side: int | None = None
    fps: float | None = None
    threads: int = 1

    @property
    def changes_pictures(self) -> bool:
        """Whether frames that are encoded already are decoded and encoded again."""
        return self.quality is not None or self.short_side is not None


def checked_name(name: str, path: str) -> str:
    """Return a video's name as HDF5 can hold it.

    Raises
    ------
    PackError
        When it has a part that is empty, ``.`` or ``..``, or a zero byte.
    """
    if not name or "\0" in name or any(part in {"", ".", ".."} for part in name.split("/")):
        raise PackError(f"{path!r}: {name!r} is no name for a video; rename the source, or leave it out")
    return name


#: Types that JSON keeps by itself.
_PLAIN_TYPES = (np.dtype(np.int64), np.dtype(np.float64))


def to_plain(value: Any) -> Any:
    """Return a value as JSON can hold it: bytes as text, arrays as lists, with their type where JSON has another."""
    if isinstance(value, (np.ndarray, np.generic)):
        found = _texts(value.tolist()) if value.dtype.kind == "S" else value.tolist()
        if value.size and (value.dtype.kind in "SU" or value.dtype in _PLAIN_TYPES):
            return found
        inner = {} if value.size or value.ndim < 2 else {"shape": list(value.shape)}
        return {"dtype": value.dtype.str, "value": found} | inner
    return _texts(value)


def of_plain(value: Any) -> NDArray[Any]:
    """Return what `to_plain` made this of as an array that HDF5 can hold; texts as bytes of UTF-8."""
    if isinstance(value, dict):
        typed = np.array(value["value"], np.dtype(value["dtype"]))
        return typed.reshape(value["shape"]) if "shape" in value else typed
    found = np.array(value)
    return np.array(_bytes(value)) if found.dtype.kind == "U" else found


def text_of_list(value: Any) -> Any:
    """Return a list of texts, as `to_plain` has it, as a text of JSON, which batches can hold; all else as it is."""
    if isinstance(value, dict) and np.dtype(value["dtype"]).kind == "S" and not value["value"]:
        return "[]"
    return json.dumps(value) if isinstance(value, list) and _holds_text(value) else value


def _holds_text(value: Any) -> bool:
    return any(map(_holds_text, value)) if isinstance(value, list) else isinstance(value, str)


def _texts(value: Any) -> Any:
    if isinstance(value, list):
        return [_texts(each) for each in value]
    return value.decode("utf-8", "surrogateescape") if isinstance(value, bytes) else value


def _bytes(value: Any) -> Any:
    if isinstance(value, list):
        return [_bytes(each) for each in value]
    return value.encode("utf-8", "surrogateescape")
