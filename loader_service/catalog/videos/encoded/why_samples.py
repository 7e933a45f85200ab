"""Why pictures with numbers are no frames of one video: what their numbers lack, or how their sides differ. Pure."""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING

from loader_service.catalog.inner_paths import basename_of, parent_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

#: Frames have this share of a span of numbers, at least; numbers that are farther apart are those of samples.
LEAST_SHARE_OF_FRAMES = 0.25

#: The number of a picture: the last of its name, but for that of a file's ending.
_NUMBER = re.compile(r"[0-9]+(?=[^0-9]*$|[.][A-Za-z0-9]+$)")
_FRACTION = re.compile(r"[0-9]*[.][0-9]+")


def why_samples(paths: Sequence[str], shapes: Iterable[tuple[int, ...]] = ()) -> str:
    """Return what is true of numbers at the end of paths, in each group above, and of pictures, that frames have not.

    Parameters
    ----------
    paths
        Of datasets, or groups.
    shapes
        Of the picture of each, where they are known.
    """
    numbers: dict[str, set[int]] = {}
    for path in paths:
        found = _NUMBER.search(basename_of(path))
        numbers.setdefault(parent_of(path), set()).add(int(found[0]) if found else 0)
    steps = {group: math.gcd(*(each - min(found) for each in found)) or 1 for group, found in numbers.items()}
    spans = {group: (max(found) - min(found)) // steps[group] + 1 for group, found in numbers.items()}
    counts = sum(map(len, numbers.values()))
    reasons = []
    if any(_FRACTION.fullmatch(basename_of(path)) for path in paths):
        reasons.append("their numbers are no whole ones")
    elif sum(spans.values()) > counts:
        few = counts < LEAST_SHARE_OF_FRAMES * sum(spans.values())
        reasons.append(f"{'most' if few else 'some'} numbers are missing")
    if len(set(shapes)) > 1:
        reasons.append("their sides differ")
    first, step = min(map(min, numbers.values())), max(steps.values())
    if not reasons and step > 1:
        reasons.append(f"their numbers grow by {step}")
    elif not reasons:
        reasons.append(f"their numbers begin with {first}" if first > 1 else "not all hold the same")
    return " and ".join(reasons)
