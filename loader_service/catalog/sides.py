"""Shapes whose sides differ between videos: what they have in common, as columns. Pure arithmetic on shapes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from loader_service.catalog.dtypes import is_text
from loader_service.schema import ANY_SIDE

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from numpy.typing import NDArray

    from loader_service.catalog.columns import Int64s

Shape = tuple[int, ...]

#: Values that a pixel may have: grey, colours, colours with alpha.
CHANNELS = frozenset({1, 3, 4})


def common_shape(shapes: Iterable[Shape]) -> Shape:
    """Return what shapes of equally many axes have in common: each side, or 0 where it differs."""
    return tuple(sides[0] if len(set(sides)) == 1 else 0 for sides in zip(*shapes, strict=True))


def is_list(shape: Shape) -> bool:
    """Tell whether an array is a list, of one axis, or of two of which one is 1; it calls nothing, as all are asked."""
    return shape != () and shape[2:] == () and (shape[1:] in {(), (1,)} or shape[0] == 1)


def of_siblings(shape: Shape) -> Shape:
    """Return a shape as a schema says it for other files of the same writer too, in which a side may be another one.

    A last side that counts channels or coordinates stays, and so does 0, a side that differs already.
    """
    matrix = len(shape) > 1
    return tuple(
        side if side == 0 or (matrix and axis == len(shape) and side <= _MOST_CHANNELS) else ANY_SIDE
        for axis, side in enumerate(shape, 1)
    )


#: Red, green, blue and alpha; the numbers of a box, or of a quaternion.
_MOST_CHANNELS = 4


def can_differ(kind: str, dtype: str, shapes: Sequence[Shape]) -> bool:
    """Tell whether shapes may be those of one field: of equally many axes, of numbers, images of the same channels."""
    if len({len(shape) for shape in shapes}) > 1 or is_text(dtype):
        return len(set(shapes)) == 1
    return kind != "image" or len({shape[2:] for shape in shapes}) == 1


def fits(shape: Shape, found: Shape) -> bool:
    """Tell whether a shape is as expected, a side of 0 or `ANY_SIDE` standing for any."""
    return len(shape) == len(found) and all(
        side in {0, ANY_SIDE, other} for side, other in zip(shape, found, strict=True)
    )


def sides_column(shapes: Sequence[Shape]) -> Int64s:
    """Return shapes as a column: ``(videos, axes) int64``."""
    return np.array(shapes, np.int64).reshape(len(shapes), -1)


def filled_up(values: Sequence[Any], dtype: np.dtype[Any]) -> NDArray[Any]:
    """Return arrays of equally many axes as one, with zeros behind those that are smaller."""
    shapes = [np.shape(value) for value in values]
    whole = np.zeros((len(values), *map(max, zip(*shapes, strict=True))), dtype)
    for number, (value, shape) in enumerate(zip(values, shapes, strict=True)):
        place: tuple[Any, ...] = (number, *map(slice, shape))
        whole[place] = value
    return whole
