"""How much is kept and where, as ``--local-copy SIZE:FOLDER`` and ``--cache SIZE[:FOLDER]`` say it. Opens nothing."""

from __future__ import annotations

import os
from typing import NamedTuple

from loader_service.errors import ConfigError
from loader_service.given_paths import local_path


class KeptPlace(NamedTuple):
    """How much may be kept, and where."""

    size: str  # as it was given
    folder: str  # absolute; "" where none was given

    def __str__(self) -> str:
        return f"{self.size}:{self.folder}" if self.folder else self.size


def parse_local_copy(text: str) -> KeptPlace:
    """Return how much is kept of what is fetched from stores, and in which folder, which may begin with a home.

    Raises
    ------
    ConfigError
        When the size or the folder is missing, or the folder is a URL.
    """
    size, _, folder = text.partition(":")
    if not size or not folder:
        raise ConfigError(f"local_copy={text!r}; give SIZE:FOLDER, such as 200G:/scratch/copy")
    return KeptPlace(size, os.path.abspath(local_path(folder)))


def parse_cache(text: str) -> KeptPlace:
    """Return how much room decoded frames may take, and in which folder, by default where batches lie.

    Raises
    ------
    ConfigError
        When the size is missing, or a colon has no folder behind it, or the folder is a URL.
    """
    size, colon, folder = text.partition(":")
    if not size or (colon and not folder):
        raise ConfigError(f"cache={text!r}; give SIZE or SIZE:FOLDER, such as 20G or 200G:/nvme/frames")
    return KeptPlace(size, os.path.abspath(local_path(folder)) if folder else "")
