"""What datasets and attributes are called that say the sides of pictures: height, width and channels. Pure."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

_SIDES = tuple(
    re.compile(rf"(^|[_@/])({names})$", re.IGNORECASE) for names in ("heights?|h", "widths?|w", "channels?|c")
)


def named_as_sides(names: Sequence[str]) -> list[str | None]:
    """Return the first of some names that says a height, a width, and channels; None for each that none says."""
    return [next((name for name in names if side.search(name)), None) for side in _SIDES]
