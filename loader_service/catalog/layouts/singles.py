"""Images in datasets of their own that are a video of one frame each: their names are names, and do not count."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from loader_service.catalog.inner_paths import to_bytes
from loader_service.catalog.layouts.datasets import Datasets, DatasetsVideo, find_images, lengths_of, read_whole
from loader_service.catalog.layouts.layout import Candidates, Extents

if TYPE_CHECKING:
    import h5py

    from loader_service.catalog.hdf5.file import HDF5File


class Singles(Datasets):
    """The position of the only frame is 0."""

    name = "single"
    expected = "a dataset of bytes per image"
    in_group = False

    def find(self, contents: Candidates) -> list[DatasetsVideo]:
        """Return a video for each dataset that is an image."""
        singles, images = find_images(contents)
        filled = [info for info in singles if info.path in images and info.size_bytes]
        return [
            DatasetsVideo(self, info.path, info.path, 1, codec=images[info.path], members=(info,)) for info in filled
        ]

    def plain(self, hdf5: HDF5File, video: DatasetsVideo) -> Extents:
        """Return the dataset's size."""
        return np.zeros(1, np.int64), lengths_of(hdf5, video)

    def open(self, file: h5py.File, path: str) -> Any:
        """Return the dataset."""
        return file[to_bytes(path)]

    def read(self, opened: Any, position: int, length: int) -> bytes:  # noqa: ARG002
        """Return the dataset."""
        return read_whole(opened, length)
