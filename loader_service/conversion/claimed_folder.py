"""The folder of what is unfinished, in or beside the place of a conversion: one process has it, and no other user.

`unpack` fills a place with many files, so its folder lies in there under one name; `pack` makes a file or some with one
beginning, among those of others, so its folder lies beside them under that.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from loader_service.errors import ConfigError
from loader_service.flocks import Lock, lock
from loader_service.private_folders import Folder, NotOurs, open_folder


@contextmanager
def claimed_folder(place: Path, name: str) -> Iterator[tuple[Folder, Folder]]:
    """Keep a folder for this process alone until the end of the context; give the place and it, both open.

    Parameters
    ----------
    place
        A folder that is there.
    name
        Of the folder in it; made, with mode 0700, when it is not there. A link is not followed.

    Raises
    ------
    ConfigError
        When another process has it, or it is a link, no folder or somebody else's.
    OSError
        When it cannot be made or opened.
    """
    with ExitStack() as stack:
        try:
            parent = stack.enter_context(open_folder(place))
            folder = stack.enter_context(parent.private(name))
        except NotOurs as error:
            raise ConfigError(f"{error}: write to another place") from error
        if lock(folder.fileno(), parent, name) in (Lock.TAKEN, Lock.GONE):
            raise ConfigError(f"another conversion is at work in {str(folder.path)!r}; wait for its end, or stop it")
        yield parent, folder


def write_whole(path: Path, aside: Path, content: Iterable[bytes]) -> None:
    """Write a file that is there whole, and on disk, or not at all; it takes the place of an older one.

    Parameters
    ----------
    path
        Of the file.
    aside
        Where it is written first: in the folder of what is unfinished.
    content
        Its bytes, in pieces.

    Raises
    ------
    OSError
        When there is no room.
    """
    with aside.open("wb") as file:
        file.writelines(content)
        file.flush()
        os.fsync(file.fileno())
    aside.replace(path)
