"""The cache of decoded frames as the daemon has it: claimed for one service, checked for room, told of in `status`."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

from loader_service.config import ServiceConfig
from loader_service.control_groups import ROOT
from loader_service.daemon.room import memory_rooms
from loader_service.errors import ConfigError
from loader_service.frame_cache.cache_counts import CountsBoard
from loader_service.frame_cache.frame_folder import (
    FolderTaken,
    claim,
    form_sizes,
    is_in_memory,
    open_frames,
    taken_bytes,
)
from loader_service.private_folders import Folder
from loader_service.protocol import messages as m
from loader_service.sizes import size_text

#: What of free memory the cache may take at most, in quarters: batches lie in memory too.
_MOST_QUARTERS = 3


class ClaimedFrames:
    """The folder of frames of one service.

    Parameters
    ----------
    folder
        Open and claimed; stays the caller's.
    board
        What workers count.
    budget_bytes
        That frames may take.
    """

    def __init__(self, folder: Folder, board: CountsBoard, budget_bytes: int) -> None:
        self._folder = folder
        self.board = board
        self.budget_bytes = budget_bytes

    @property
    def memory_to_come_bytes(self) -> int:
        """Memory that it will take beside what it has."""
        return max(0, self.budget_bytes - taken_bytes(self._folder)) if is_in_memory(self._folder) else 0

    def status(self) -> m.FrameCacheStatus:
        """Return how much is kept, and how often that helped."""
        hits, misses, kept = self.board.totals()
        return m.FrameCacheStatus(
            folder=str(self._folder.path),
            budget_bytes=self.budget_bytes,
            frames_found=hits,
            frames_decoded=misses,
            frames_added=kept,
            forms=tuple(m.CachedForm(*each) for each in form_sizes(self._folder)),
        )


@contextmanager
def claimed_frames(config: ServiceConfig, endpoint: str) -> Iterator[ClaimedFrames | None]:
    """Have the folder of frames that a configuration names, for as long as the service runs; None without one.

    Raises
    ------
    ConfigError
        When it cannot be used, has no room, or is another service's.
    """
    place, budget_bytes = config.frames_place
    if not place:
        yield None
        return
    with ExitStack() as stack:
        try:
            folder = stack.enter_context(open_frames(place))
            stack.enter_context(claim(folder, f"the service at {endpoint} (pid {os.getpid()})"))
            _check_room(folder, budget_bytes, config)
        except FolderTaken as taken:
            raise ConfigError(
                f"cache={config.cache!r}: {str(folder.path)!r} is in use by {taken}; stop that one, or give this one "
                "a folder of its own: --cache SIZE:FOLDER"
            ) from taken
        except OSError as error:
            raise ConfigError(
                f"cache={config.cache!r}: {error}; give a folder of your own that can be written to"
            ) from error
        yield ClaimedFrames(folder, stack.enter_context(CountsBoard()), budget_bytes)


def _check_room(folder: Folder, budget_bytes: int, config: ServiceConfig) -> None:
    """Make sure that there is room for the frames; raises ConfigError."""
    found = os.statvfs(folder.fileno())
    taken = taken_bytes(folder)
    free = [found.f_bavail * found.f_frsize] if found.f_blocks else []
    where = f"in {str(folder.path)!r}"
    if is_in_memory(folder):
        free += [room.left_bytes for room in memory_rooms(0, ROOT)]
        most = (max(0, min(free)) + taken) * _MOST_QUARTERS // 4
        where += ", which is memory: a quarter of what is free is left to batches"
    else:
        most = min(free, default=budget_bytes) + taken
    if budget_bytes > most:
        raise ConfigError(
            f"cache={config.cache!r}: {size_text(budget_bytes)} are asked for, and {size_text(most)} can be had "
            f"{where}; ask for less, or give a folder on another disk: --cache SIZE:FOLDER"
        )
