"""What ``--cache SIZE[:FOLDER]`` says. Opens nothing."""

from __future__ import annotations

import os
from typing import NamedTuple

from loader_service.errors import ConfigError
from loader_service.given_paths import local_path


class CacheOption(NamedTuple):
    """How much room decoded frames may take, and where."""

    size: str  # as it was given
    folder: str  # absolute; "" for the shared memory that batches lie in

    def __str__(self) -> str:
        return f"{self.size}:{self.folder}" if self.folder else self.size


def parse_cache_option(text: str) -> CacheOption:
    """Return the parts of ``SIZE[:FOLDER]``; the folder may begin with a home.

    Raises
    ------
    ConfigError
        When the size is missing, or a colon has no folder behind it, or the folder is a URL.
    """
    size, colon, folder = text.partition(":")
    if not size or (colon and not folder):
        raise ConfigError(f"cache={text!r}; give SIZE or SIZE:FOLDER, such as 20G or 200G:/nvme/frames")
    return CacheOption(size, os.path.abspath(local_path(folder)) if folder else "")
