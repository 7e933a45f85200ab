"""The box of a resized crop: random area and aspect, as torchvision draws them. Pure; knows no pixel and no codec.

The same draws and the same size of frame give the same box, in every process and on every host. So no logarithm or
exponential of a C library is used: their last bits differ between versions and processors. Those of here are made of
operations that IEEE 754 rounds correctly, and of `decimal`.
"""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Iterator
from decimal import Context, Decimal
from typing import NamedTuple

from loader_service.plan.randomness import words_from

#: How often a box is drawn that does not fit into the frame, before the central one is taken: as torchvision has it.
TRIES = 10

#: Digits of a logarithm: four more than a float has.
_DIGITS = Context(prec=21)

#: The series of an exponential is summed to this power, for numbers of at most 1/8: what is left is below 2**-75.
_LAST_POWER, _SMALL = 12, 0.125


class Box(NamedTuple):
    """A part of a frame, in pixels."""

    top: int
    left: int
    height: int
    width: int


class BoxRange(NamedTuple):
    """Which boxes may be drawn: least and largest share of the frame's area, and aspect, width ÷ height."""

    scale: tuple[float, float]
    ratio: tuple[float, float]


def draw_box(wanted: BoxRange, frame: tuple[int, int], word: int, corner: tuple[int, int]) -> Box:
    """Return the box that some draws choose in a frame.

    Area and logarithm of the aspect are drawn evenly, and again while the box does not fit, `TRIES` times in all. Then
    the central box is taken that has the frame's own aspect, or the nearest allowed one.

    Parameters
    ----------
    wanted
        What may be drawn.
    frame
        ``(height, width)`` in pixels.
    word
        A number in [0, 2**64) that chooses area and aspect.
    corner
        Two of them, which choose where the box lies; each place that it may have has an equal share.

    References
    ----------
    ``torchvision.transforms.RandomResizedCrop``, whose distribution this is.
    """
    height, width = frame
    for area, aspect in itertools.islice(_shapes(wanted, word), TRIES):
        rows, columns = (
            round(math.sqrt(height * width * area / aspect)),
            round(math.sqrt(height * width * area * aspect)),
        )
        if 0 < rows <= height and 0 < columns <= width:
            return Box(
                (corner[0] * (height - rows + 1)) >> 64, (corner[1] * (width - columns + 1)) >> 64, rows, columns
            )
    return _central(wanted.ratio, frame)


def _shapes(wanted: BoxRange, word: int) -> Iterator[tuple[float, float]]:
    """Yield pairs of a share of the area and an aspect."""
    least, largest = wanted.scale
    words = words_from(word)
    for area, aspect in zip(words, words, strict=False):
        yield least + (largest - least) * _fraction(area), _aspect(wanted.ratio, _fraction(aspect))


def _fraction(word: int) -> float:
    """Return a word's upper 53 bits as a number in [0, 1)."""
    return (word >> 11) * 2.0**-53


def _aspect(ratio: tuple[float, float], share: float) -> float:
    least, largest = _logarithms(ratio)
    return exponential(least + (largest - least) * share)


def exponential(number: float) -> float:
    """Return e to the power of a number, to within 2**-44 of it; by additions, multiplications and divisions alone.

    A Taylor series of the number halved until it is small, squared as often again; 2 µs, `decimal` takes 16.
    """
    halvings = 0
    while abs(number) > _SMALL:
        number, halvings = number * 0.5, halvings + 1
    result = 1.0
    for power in range(_LAST_POWER, 0, -1):
        result = 1.0 + number * result / power
    for _ in range(halvings):
        result *= result
    return result


@functools.lru_cache(maxsize=64)
def _logarithms(ratio: tuple[float, float]) -> tuple[float, float]:
    return (float(Decimal(ratio[0]).ln(_DIGITS)), float(Decimal(ratio[1]).ln(_DIGITS)))


def _central(ratio: tuple[float, float], frame: tuple[int, int]) -> Box:
    height, width = frame
    aspect = width / height
    rows, columns = height, width
    if aspect < ratio[0]:
        rows = max(1, round(width / ratio[0]))
    elif aspect > ratio[1]:
        columns = max(1, round(height * ratio[1]))
    return Box((height - rows) // 2, (width - columns) // 2, rows, columns)
