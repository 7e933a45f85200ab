"""Paths inside an HDF5 file, without a leading slash, the root being empty: joined, split, compared. Opens no file."""

from __future__ import annotations

import re

_DIGITS = re.compile(r"[0-9]+")


def join(parent: str, name: str) -> str:
    """Return the path of a member of a group; either may be empty."""
    return f"{parent}/{name}" if parent and name else parent or name


def parent_of(path: str) -> str:
    """Return the path of the group that holds something."""
    return path.rpartition("/")[0]


def basename_of(path: str) -> str:
    """Return the name of something in its group."""
    return path.rpartition("/")[2]


def unnumbered(name: str) -> str:
    """Return a name with each number replaced: the same for all that only their numbers tell apart."""
    return _DIGITS.sub("#", name)
