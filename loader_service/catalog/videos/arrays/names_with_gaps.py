"""Names whose numbers count the frames of a video, though some are missing: ``rgb_000007``. Pure: sees names."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from loader_service.catalog.inner_paths import grouped, stem_of
from loader_service.catalog.layouts.datasets import LEAST_COUNTED
from loader_service.catalog.videos.encoded.why_samples import LEAST_SHARE_OF_FRAMES
from loader_service.catalog.videos.sibling_groups import MOST_PARTS

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

_DIGITS = re.compile(r"[0-9]+")

#: What has a number of its own, which is not that of a frame: ``cam_003``.
_DEVICE_ALONE = re.compile(r"(cam|view)[^0-9]*#", re.IGNORECASE)

#: A number of frames has more digits than these, where it begins with a zero.
_FEW_DIGITS = 2


def count_with_gaps(names: Collection[str]) -> bool:
    """Tell whether numbers behind each word of names count, some of them missing, and are not those of devices.

    They begin with zeros, or are more than a recording has parts.
    """
    by_word = grouped(names, stem_of)
    return all(_are_counted(stem, each) for stem, each in by_word.items())


def _are_counted(stem: str, names: Sequence[str]) -> bool:
    begin = stem.find("#")
    if len(names) < LEAST_COUNTED or begin < 1 or stem.count("#") > 1 or _DEVICE_ALONE.match(stem):
        return False
    texts = [_DIGITS.findall(name[begin:])[0] for name in names]
    numbers = sorted(map(int, texts))
    padded = any(text.startswith("0") and len(text) > _FEW_DIGITS for text in texts)
    dense = numbers[-1] - numbers[0] < len(numbers) / LEAST_SHARE_OF_FRAMES
    return dense and (padded or len(names) > MOST_PARTS)
