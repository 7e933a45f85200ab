"""How much of an array whose sides may differ a batch has room for, as clients ask for it. Knows no file."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

from loader_service.errors import ConfigError
from loader_service.protocol.near_names import tells_near_names
from loader_service.protocol.numbers import whole_number

Cut = Literal["start", "center", "random"]

#: Bounds, since a window comes from a socket.
MAX_WINDOW_SIDE = 2**31
MAX_WINDOW_AXES = 8


@tells_near_names
@dataclass(frozen=True)
class Window:
    """The part of each entry of an array field, or of a value of many numbers, that goes into a batch.

    An entry that is smaller is followed by zeros; the field ``<name>_length`` or ``<name>_shape`` says what is real.

    Parameters
    ----------
    field
        Its name.
    size
        One number for each axis of an entry: ``(112, 112, 80)`` of a volume, ``(50, 4)`` of a list of boxes. None
        leaves an axis as it is.
    crop
        Which part of a larger entry: ``"start"``, its beginning; ``"center"``; ``"random"``, drawn for each sample and
        epoch, at the same share of what is left over in all fields with a random window, so that an image and its mask
        are cut alike. All frames of a clip are cut at the same place.

    Raises
    ------
    ConfigError
        When a value is out of range.
    """

    field: str
    size: tuple[int | None, ...]
    crop: Cut = "start"

    def __post_init__(self) -> None:
        if not isinstance(self.field, str) or not self.field:
            raise ConfigError(f"Window.field={self.field!r} is no name; give that of a field, such as 'image'")
        size = (self.size,) if isinstance(self.size, int) else self.size
        if not isinstance(size, (tuple, list)) or not 1 <= len(size) <= MAX_WINDOW_AXES:
            raise ConfigError(
                f"Window.size={self.size!r} of {self.field!r}; give 1 to {MAX_WINDOW_AXES} numbers, one for each axis"
            )
        sides = tuple(None if side is None else whole_number("Window.size", side, 1, MAX_WINDOW_SIDE) for side in size)
        object.__setattr__(self, "size", sides)
        if self.crop not in get_args(Cut):
            raise ConfigError(
                f"Window.crop={self.crop!r} is unknown; choose one of {', '.join(map(repr, get_args(Cut)))}"
            )
