"""Sizes and counts as people read them."""

from __future__ import annotations

_UNITS = ("B", "KiB", "MiB", "GiB", "TiB")


def size_text(size_bytes: int) -> str:
    """Return a size for people, such as ``1.5 GiB``."""
    value, unit = float(size_bytes), 0
    while value >= 1024 and unit + 1 < len(_UNITS):
        value, unit = value / 1024, unit + 1
    return f"{value:.0f} {_UNITS[unit]}" if unit == 0 else f"{value:.1f} {_UNITS[unit]}"


def counted(count: int, what: str) -> str:
    """Return a number of things, such as ``1 stream`` or ``2 streams``."""
    return f"{count} {what}" if count == 1 else f"{count} {what}s"
