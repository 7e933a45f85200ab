"""How an array of any sides goes into its place in a batch: what is cut out of it, and what is left zero. Pure."""

from __future__ import annotations

from loader_service.errors import ConfigError
from loader_service.protocol.fields import CatalogField
from loader_service.protocol.spec import Spec
from loader_service.protocol.windows import Cut, Window

#: Sides of an array.
Sides = tuple[int, ...]


def window_of(spec: Spec, name: str) -> Window | None:
    """Return the window that a spec has for a field, if it has one."""
    return next((each for each in spec.windows if each.field == name), None)


def shape_in_batch(field: CatalogField, spec: Spec) -> Sides:
    """Return the shape that one entry of an array or a value takes in a batch.

    Raises
    ------
    ConfigError
        When its window has another number of axes.
    """
    sides, window = field.most or field.shape, window_of(spec, field.name)
    if window is None:
        return sides
    if len(window.size) != len(sides):
        raise ConfigError(
            f"Window({field.name!r}, {window.size!r}): the field has entries of shape {field.shape!r}, so a window has "
            f"{len(sides)} numbers, one for each axis; None leaves an axis as it is"
        )
    return tuple(wanted or side for wanted, side in zip(window.size, sides, strict=True))


def corner(sides: Sides, room: Sides, crop: Cut, draws: tuple[int, ...]) -> Sides:
    """Return where the part of an array begins that goes into a batch.

    Parameters
    ----------
    sides
        Of the array.
    room
        Of its place in the batch; where it is larger, all of the array goes in, from 0 on.
    crop
        As in `Window`.
    draws
        For ``"random"``: a number in [0, 2**64) for each axis, or more of them. Mapped as `image_shape.crop_corner`
        maps its draws.
    """
    spare = [max(0, side - space) for side, space in zip(sides, room, strict=True)]
    if crop == "random":
        return tuple((draw * (free + 1)) >> 64 for free, draw in zip(spare, draws, strict=False))
    return tuple(free // 2 for free in spare) if crop == "center" else (0,) * len(sides)
