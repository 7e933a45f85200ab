"""Where the frames of an array are in its file, for whoever reads them through HDF5. Reads nothing."""

from __future__ import annotations

from typing import NamedTuple

from loader_service.catalog.inner_paths import renumbered


class RowsPlace(NamedTuple):
    """Where the frames of an array are in its file.

    Attributes
    ----------
    path
        Of the dataset; of the first frame's, where each frame is a dataset.
    element
        Of a vlen dataset, or of one ``(videos, frames, …)``: which of its elements the frames lie in; negative: they
        are rows of the dataset itself.
    first
        The row of the first frame; where each frame is a dataset, how many come before.
    digits
        Where each frame is a dataset: at which letter of the path its number begins; else negative.
    stride
        By how much that number grows from frame to frame.
    """

    path: str
    element: int = -1
    first: int = 0
    digits: int = -1
    stride: int = 1

    def path_of(self, frame: int) -> str:
        """Return the path of the dataset that a frame lies in."""
        if self.digits < 0:
            return self.path
        return renumbered(self.path, self.digits, (self.first + frame) * self.stride)
