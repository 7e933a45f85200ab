"""Sizes, times and counts as people read them."""

from __future__ import annotations

#: A y after one of these stays: displays, and entries.
_VOWELS = tuple("aeiou")

_UNITS = ("B", "KiB", "MiB", "GiB", "TiB")


def size_text(size_bytes: int) -> str:
    """Return a size for people, such as ``1.5 GiB``."""
    value, unit = float(size_bytes), 0
    while value >= 1024 and unit + 1 < len(_UNITS):
        value, unit = value / 1024, unit + 1
    return f"{value:.0f} {_UNITS[unit]}" if unit == 0 else f"{value:.1f} {_UNITS[unit]}"


def time_text(seconds: float) -> str:
    """Return a time for people, such as ``54 s``, ``12 min`` or ``3.1 d``."""
    if seconds < 600:
        return f"{seconds:.1f} s" if seconds < 10 else f"{seconds:.0f} s"
    if seconds < 7200:
        return f"{seconds / 60:.0f} min"
    return f"{seconds / 3600:.1f} h" if seconds < 172_800 else f"{seconds / 86_400:.1f} d"


def counted(count: int, what: str, form: str = "") -> str:
    """Return a number of things, such as ``1 stream`` or ``2 streams``; with the form ``,`` ``2,000 streams``."""
    return f"{count:{form}} {what if count == 1 else _plural(what)}"


def _plural(what: str) -> str:
    if what.endswith("s"):
        return f"{what}es"
    if what.endswith("y") and what[-2:-1] not in _VOWELS:
        return f"{what[:-1]}ies"
    return f"{what}s"
