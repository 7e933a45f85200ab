"""What ``--local-copy SIZE:FOLDER`` says. Opens nothing."""

from __future__ import annotations

import os
from typing import NamedTuple

from loader_service.errors import ConfigError
from loader_service.given_paths import local_path


class CopyOption(NamedTuple):
    """How much is kept of what is fetched from stores, and where."""

    size: str  # as it was given
    folder: str  # absolute

    def __str__(self) -> str:
        return f"{self.size}:{self.folder}"


def parse_copy_option(text: str) -> CopyOption:
    """Return the parts of ``SIZE:FOLDER``; the folder may begin with a home.

    Raises
    ------
    ConfigError
        When one of them is missing, or the folder is a URL.
    """
    size, colon, folder = text.partition(":")
    if not colon or not size or not folder:
        raise ConfigError(f"local_copy={text!r}; give SIZE:FOLDER, such as 200G:/scratch/copy")
    return CopyOption(size, os.path.abspath(local_path(folder)))
