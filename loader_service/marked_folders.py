"""Marks folders of what can be made again, so that backups leave them out, and no other is taken for one of ours.

References
----------
https://bford.info/cachedir/: a file ``CACHEDIR.TAG`` that begins with a signature.
"""

from __future__ import annotations

import contextlib
import os

from loader_service.private_folders import Folder, NotOurs, is_own_file

_TAG = "CACHEDIR.TAG"
_SIGNATURE = b"Signature: 8a477f597d28d172789f06886806bc55\n"


def mark(folder: Folder, words: bytes, what: str = "") -> None:
    """Put a marker, which says some words, into a folder of this user's that is empty.

    Raises
    ------
    NotOurs
        When it holds things but no marker; `what` follows that in the error.
    """
    if folder.status_of(_TAG) is None and not folder.names():
        with contextlib.suppress(FileExistsError):  # another process was faster
            write_new(folder, _TAG, _SIGNATURE + words)
    tag = folder.status_of(_TAG)
    if tag is None or not is_own_file(tag):
        raise NotOurs(f"{str(folder.path)!r} is not empty and has no {_TAG}{what}; empty or rename it")


def write_new(folder: Folder, name: str, content: bytes) -> None:
    """Write a new file; nothing stays of one that cannot be written."""
    descriptor = folder.open_file(name, os.O_CREAT | os.O_EXCL | os.O_WRONLY)
    try:
        with os.fdopen(descriptor, "wb") as stream:
            stream.write(content)
    except OSError:
        folder.unlink(name)
        raise
