"""Matches paths inside HDF5 files with glob patterns; knows no file."""

from __future__ import annotations

from fnmatch import fnmatchcase


def matches(pattern: str, path: str) -> bool:
    """Tell whether a path inside a file matches a pattern.

    ``*``, ``?`` and ``[…]`` stay within one part of the path, ``**`` stands for any number of parts: ``*/rgb`` matches
    ``clip7/rgb``, and ``**/rgb`` matches ``rgb`` at any depth. A leading slash makes no difference.
    """
    return _match(_parts(pattern), _parts(path))


def _parts(path: str) -> list[str]:
    return [part for part in path.split("/") if part]


def _match(patterns: list[str], parts: list[str]) -> bool:
    if not patterns:
        return not parts
    if patterns[0] == "**":
        return any(_match(patterns[1:], parts[skipped:]) for skipped in range(len(parts) + 1))
    return bool(parts) and fnmatchcase(parts[0], patterns[0]) and _match(patterns[1:], parts[1:])
