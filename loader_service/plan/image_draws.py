"""What chance decides of a sample's pixels and windows; one value that all its frames and fields share."""

from __future__ import annotations

import itertools
from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from loader_service.plan.randomness import Purpose, draws
from loader_service.protocol.spec import Spec
from loader_service.protocol.windows import MAX_WINDOW_AXES


class ImageDraws(NamedTuple):
    """The draws of one sample, as defaults those of a sample of which nothing is drawn.

    Parameters
    ----------
    crop
        Two numbers in [0, 2**64) that choose the rows and the columns of a random window.
    flip
        Whether to mirror left to right.
    window
        A number in [0, 2**64) for each axis of a random window of an array.
    box
        A number in [0, 2**64) that chooses area and aspect of a resized crop; `crop` chooses where it lies.
    short_side
        A number in [0, 2**64) that chooses the length of the short side.
    """

    crop: tuple[int, int] = (0, 0)
    flip: bool = False
    window: tuple[int, ...] = ()
    box: int = 0
    short_side: int = 0


#: Of a sample of which nothing is drawn.
NOTHING_DRAWN = ImageDraws()

_WINDOW_AXES = [Purpose[f"WINDOW_{axis}"] for axis in range(MAX_WINDOW_AXES)]

#: Each draw's name, and what stands for a column of it when it is not drawn.
_EACH_ALIKE = [(name, itertools.repeat(value)) for name, value in NOTHING_DRAWN._asdict().items()]


def draw_images(spec: Spec, epoch: int, keys: NDArray[np.int64]) -> list[ImageDraws]:
    """Return the draws of each key: a function of (seed, epoch, key), and of which options draw at all."""
    drawn: dict[str, Iterable[Any]] = {}
    if spec.image.crop in ("random", "resized"):
        corners = (draws(spec.seed, epoch, keys, purpose).tolist() for purpose in (Purpose.CROP_TOP, Purpose.CROP_LEFT))
        drawn["crop"] = list(zip(*corners, strict=True))
    if spec.image.flip:
        drawn["flip"] = (draws(spec.seed, epoch, keys, Purpose.FLIP) >> np.uint64(63)).astype(bool).tolist()
    if spec.image.crop == "resized":
        drawn["box"] = draws(spec.seed, epoch, keys, Purpose.BOX).tolist()
    if isinstance(spec.image.short_side, tuple):
        drawn["short_side"] = draws(spec.seed, epoch, keys, Purpose.SHORT_SIDE).tolist()
    axes = max((len(each.size) for each in spec.windows if each.crop == "random"), default=0)
    if axes:
        corners = (draws(spec.seed, epoch, keys, purpose).tolist() for purpose in _WINDOW_AXES[:axes])
        drawn["window"] = list(zip(*corners, strict=True))
    if not drawn:
        return [NOTHING_DRAWN] * len(keys)
    return list(map(ImageDraws, *(drawn.get(*default) for default in _EACH_ALIKE)))
