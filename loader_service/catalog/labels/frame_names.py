"""The names of datasets that are a frame of a video each, with the schema by which each is a video. Opens no file."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from loader_service.catalog.inner_paths import renumbered

if TYPE_CHECKING:
    from collections.abc import Iterator


class FrameNames(NamedTuple):
    """Datasets that numbers tell apart, each a frame of one video; a tuple, as there may be a million of them.

    Attributes
    ----------
    first
        Path of the first one.
    digits
        At which letter of it the number begins.
    stride
        The step between numbers.
    frames
        How many there are.
    schema
        What makes each of them a video of its own, for people; empty where that is not known to work.
    """

    first: str
    digits: int
    stride: int
    frames: int
    schema: str

    def paths(self) -> Iterator[str]:
        """Yield the paths of all of them."""
        return (renumbered(self.first, self.digits, step * self.stride) for step in range(self.frames))
