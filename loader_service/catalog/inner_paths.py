"""Paths inside an HDF5 file, without a leading slash, the root being empty, and what they share. Opens no file."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Sequence

_Item = TypeVar("_Item")
_Key = TypeVar("_Key")

_DIGITS = re.compile(r"[0-9]+")

#: Of the name of a file.
_ENDING = re.compile(r"[.][A-Za-z][A-Za-z0-9]*$")

#: A device that has a number of its own before that of the frame: ``cam0`` of ``cam0_frame_12``.
_DEVICE = re.compile(r"(cam|camera|view|sensor)_?[0-9]+(?=[^0-9].*[0-9])", re.IGNORECASE)


def join(parent: str, name: str) -> str:
    """Return the path of a member of a group; either may be empty."""
    return f"{parent}/{name}" if parent and name else parent or name


def parent_of(path: str) -> str:
    """Return the path of the group that holds something."""
    return path.rpartition("/")[0]


def basename_of(path: str) -> str:
    """Return the name of something in its group."""
    return path.rpartition("/")[2]


def depth_of(path: str) -> int:
    """Return how many groups below the root a path is."""
    return path.count("/") + bool(path)


def upwards(path: str) -> Iterator[str]:
    """Yield a path, and those of the groups that it lies in, the file's own, which is empty, last."""
    while path:
        yield path
        path = parent_of(path)
    yield path


def lies_in(path: str, groups: Collection[str]) -> bool:
    """Tell whether a path is one of some groups, or lies in one, at whatever depth."""
    return any(each in groups for each in upwards(path))


def key_in(root: str | None, path: str) -> str:
    """Return a path within a group that it lies in; empty without one."""
    return "" if root is None else path[len(root) :].removeprefix("/")


def common_group(paths: Sequence[str]) -> str:
    """Return the closest group that some paths lie in, or are."""
    parts = [path.split("/") for path in paths]
    return "/".join(parts[0][: in_common(parts)]) if parts else ""


def in_common(sequences: Sequence[Sequence[str]]) -> int:
    """Return how many of their first entries are the same in all sequences."""
    columns = enumerate(zip(*sequences, strict=False))
    return next((place for place, column in columns if len(set(column)) > 1), min(map(len, sequences)))


def common_pattern(paths: Sequence[str]) -> str:
    """Return some paths, of one depth, as one, with a star for each part in which they differ."""
    parts = zip(*(path.split("/") for path in paths), strict=False)
    return "/".join(each[0] if len(set(each)) == 1 else "*" for each in parts)


def differing_parts(paths: Sequence[str]) -> list[str]:
    """Return, of each path, its first part that not all have; empty for one that ends before."""
    common = common_group(paths)
    return [path[len(common) :].strip("/").partition("/")[0] for path in paths]


def renumbered(path: str, digits: int, step: int) -> str:
    """Return a path whose number, which begins at the letter `digits`, is larger by `step`; as wide, at least."""
    found = _DIGITS.match(path, digits)
    if found is None:
        raise ValueError(f"no number at letter {digits} of {path!r}")
    return f"{path[:digits]}{int(found[0]) + step:0{len(found[0])}d}{path[found.end() :]}"


def without_ending(name: str) -> str:
    """Return a name without the ending of a file: ``0.5`` of ``0.5.jpg``, and of ``0.5`` itself."""
    return _ENDING.sub("", name)


def unnumbered(name: str) -> str:
    """Return a name with each number replaced: the same for all that only their numbers tell apart."""
    return _DIGITS.sub("#", name)


def grouped(items: Iterable[_Item], key: Callable[[_Item], _Key]) -> dict[_Key, list[_Item]]:
    """Return items in lists of those that have something in common, by that, all in their order."""
    alike: dict[_Key, list[_Item]] = {}
    for item in items:
        alike.setdefault(key(item), []).append(item)
    return alike


def by_form(items: Iterable[_Item], name: Callable[[_Item], str]) -> dict[str, list[_Item]]:
    """Return items in lists of those whose names only numbers tell apart, by such a name without them."""
    return grouped(items, lambda item: unnumbered(name(item)))


def stem_of(name: str) -> str:
    """Return a name with each number replaced, but for that of a device at its begin: one for each sequence."""
    device = _DEVICE.match(name)
    return unnumbered(name) if device is None else device[0] + unnumbered(name[device.end() :])


def to_text(name: bytes) -> str:
    """Return an HDF5 name as text; bytes that are not UTF-8 survive the way back through `to_bytes`."""
    return name.decode("utf-8", "surrogateescape")


def as_text(value: object) -> str:
    """Return a text that h5py gives as bytes, or as a text; of anything else how Python writes it."""
    return to_text(value) if isinstance(value, bytes) else str(value)


def to_bytes(name: str) -> bytes:
    """Return the HDF5 name that `to_text` made readable."""
    return name.encode("utf-8", "surrogateescape")
