"""Frames as texts in base64, a dataset of them for each video: a layout as somebody may add it, in one file."""

from __future__ import annotations

import base64
import binascii
from typing import TYPE_CHECKING, Any

import numpy as np

from loader_service.catalog.codecs import START_OF_IMAGE
from loader_service.catalog.hdf5.tree import ElementKind
from loader_service.catalog.layouts.layout import Candidates, Extents, FoundVideo, Layout, names_of

if TYPE_CHECKING:
    from loader_service.catalog.hdf5.file import HDF5File


class Base64Texts(Layout[FoundVideo]):
    """The position of a frame is the number of its text. No frame lies in the file as it is."""

    name = "base64"
    expected = "a dataset of base64 texts per video"
    kinds = frozenset({ElementKind.TEXT})

    def find(self, contents: Candidates) -> list[FoundVideo]:
        """Return a video for each dataset of texts that begins with a JPEG."""
        datasets = [
            info for info in contents.of_kind(ElementKind.TEXT, 1) if info.shape[0] and _is_jpeg(contents, info.path)
        ]
        names = names_of(datasets)
        return [FoundVideo(self, name, info.path, info.shape[0]) for info, name in zip(datasets, names, strict=True)]

    def plain(self, hdf5: HDF5File, video: FoundVideo) -> Extents:
        """Return the texts' numbers, and how long they are when decoded."""
        texts = hdf5.node(video.dataset_path)[()]
        return np.arange(len(texts)), np.array([len(base64.b64decode(text)) for text in texts], np.int64)

    def read(self, opened: Any, position: int, length: int) -> bytes:
        """Return one text, decoded."""
        return base64.b64decode(opened[position])


def _is_jpeg(contents: Candidates, path: str) -> bool:
    try:
        return base64.b64decode(contents.hdf5.node(path)[0], validate=True).startswith(START_OF_IMAGE)
    except binascii.Error:
        return False
