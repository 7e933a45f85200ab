"""Memory that the daemon shares with its workers, with a place for each; knows no meaning of what is written there."""

from __future__ import annotations

import mmap
import os
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from typing_extensions import Self

#: Workers that have a place of their own at a time; numbers are never used twice, and there are never so many at once.
PLACES = 4096


class WorkerBoard:
    """The memory; a context manager. Made by the daemon, and written by the workers.

    Parameters
    ----------
    name
        Of the memory, as tools that list processes show it.
    place_bytes
        What each worker has of it.
    """

    def __init__(self, name: str, place_bytes: int) -> None:
        #: Given to each worker at its start.
        self.descriptor = os.memfd_create(name, os.MFD_CLOEXEC)
        os.ftruncate(self.descriptor, PLACES * place_bytes)
        self.memory = mmap.mmap(self.descriptor, PLACES * place_bytes)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.memory.close()
        os.close(self.descriptor)


def shared_memory_of(descriptor: int, place_bytes: int) -> mmap.mmap:
    """Return the memory of a board that a worker was given, whose descriptor is closed."""
    memory = mmap.mmap(descriptor, PLACES * place_bytes)
    os.close(descriptor)
    return memory
