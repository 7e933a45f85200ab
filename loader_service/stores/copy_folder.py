"""The folder that keeps fetched blocks of objects on a local disk: who may use it, and how much it holds.

It is a marked folder of this user's below the one that was named, and nothing in it is touched that could not have been
made here. All processes of this user share it. How much is taken is a number in a file, changed under the folder's
lock; it may be too high after a kill, never too low, and is counted anew by the first process that opens the folder.
"""

from __future__ import annotations

import contextlib
import fcntl
import logging
import os
import re
import threading
import time
from pathlib import Path

from loader_service.flocks import Lock, lock, locked
from loader_service.marked_folders import mark
from loader_service.private_folders import NotOurs, is_own_file, open_folder

_LOG = logging.getLogger(__name__)

_MARK = b"""# loader-service keeps here what it fetched from stores. It can be removed while no service runs; see
# https://bford.info/cachedir/
"""

#: Holds how many bytes are taken, as 8 bytes; who uses the folder has a shared lock on it.
_TAKEN = "taken"

_BLOCKS = re.compile(r"[0-9a-f]{32}\.blocks\Z")

#: How long an object must have gone unused to make room for others, in seconds. Shorter than an epoch, and the objects
#: of a training that do not fit would take each other's place.
UNUSED_S = 3600.0

#: How long is waited for another process that changes the number, in seconds; what is not kept is fetched again.
_LOCK_S = 2.0


#: Room that a process takes ahead at most, so that it seldom needs the lock; and as a share of what there is.
_AHEAD_BYTES, _AHEAD_SHARE = 4 * 2**20, 1 / 1024

#: While it is full, how often room is looked for, in seconds.
_FULL_S = 10.0


class CopyCounts:
    """How many blocks came from the local disk, and how many from the store; of one process, in any thread."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self.kept = self.fetched = self.damaged = self.kept_bytes = 0
        self._told = (0, 0, 0)

    def add(self, *, kept: int = 0, fetched: int = 0, damaged: int = 0, kept_bytes: int = 0) -> None:
        """Count blocks; a damaged one is also fetched."""
        with self._lock:
            self.kept += kept
            self.kept_bytes += kept_bytes
            self.fetched += fetched
            self.damaged += damaged

    def news(self) -> tuple[int, int, int] | None:
        """Return the blocks kept and fetched and the bytes of those kept since this was last asked; None for none."""
        with self._lock:
            now, before = (self.kept, self.fetched, self.kept_bytes), self._told
            self._told = now
        return None if now == before else (now[0] - before[0], now[1] - before[1], now[2] - before[2])

    def __str__(self) -> str:
        damaged = f", of which {self.damaged} were damaged here" if self.damaged else ""
        return f"{self.kept} blocks of 64 KiB came from the local copy, {self.fetched} from the store{damaged}"


class CopyFolder:
    """An open folder of copies; used by any number of threads.

    Parameters
    ----------
    folder
        In which it is, or is made.
    most_bytes
        That it may take.

    Attributes
    ----------
    counts
        What was read by way of it.

    Raises
    ------
    NotOurs
        When it is a link, somebody else's, or holds things but no marker.
    OSError
        When it cannot be made or opened.
    """

    def __init__(self, folder: str | Path, most_bytes: int) -> None:
        self._most_bytes = most_bytes
        self._lock = threading.Lock()
        self._full_until = 0.0
        self._ahead = 0  # bytes that are taken and not used yet
        self._keeps_no_more = False
        self.counts = CopyCounts()
        with open_folder(folder, make=True) as above:
            self._folder = above.private(f"loader-service-copy-{os.geteuid()}")
        try:
            self._taken = self._begin()
        except OSError:
            self._folder.close()
            raise

    @property
    def path(self) -> Path:
        """Where it is."""
        return self._folder.path

    def close(self) -> None:
        """Close it; objects that were opened in it stay open, and keep nothing more."""
        if self._taken >= 0:
            self._give_back()
            os.close(self._taken)
            self._taken = -1
        self._folder.close()

    def open_object(self, key: str) -> int:
        """Return a descriptor of the file of an object, which nobody removes until it is closed; raises OSError."""
        name = f"{key}.blocks"
        while True:
            descriptor = self._folder.open_file(name, os.O_RDWR | os.O_CREAT)
            found = lock(descriptor, self._folder, name, shared=True)
            if found in (Lock.HAD, Lock.UNSUPPORTED):
                with contextlib.suppress(PermissionError):
                    os.utime(descriptor)  # it was used now
                return descriptor
            os.close(descriptor)
            if found is Lock.TAKEN:
                raise NotOurs(f"{str(self.path / name)!r} is being removed")

    def take(self, size_bytes: int) -> bool:
        """Take room for bytes that will be written; False when there is none now. Raises OSError."""
        with self._lock:
            if self._keeps_no_more or self._taken < 0:
                return False
            if size_bytes <= self._ahead:
                self._ahead -= size_bytes
                return True
            if time.monotonic() < self._full_until:
                return False
            try:
                with locked(self._folder, _LOCK_S):
                    return self._take_locked(size_bytes)
            except NotOurs:  # somebody is long at it
                self._full_until = time.monotonic() + _FULL_S
                return False

    def keep_no_more(self, error: OSError) -> None:
        """Keep nothing more, since that failed; what is here is read."""
        with self._lock:
            is_known, self._keeps_no_more = self._keeps_no_more, True
        if not is_known:
            _LOG.warning("cannot keep more in %r: %s; what it lacks is fetched each time", str(self.path), error)

    # ---- inside

    def _begin(self) -> int:
        with locked(self._folder, _LOCK_S):
            mark(self._folder, _MARK)
            self._taken = self._folder.open_file(_TAKEN, os.O_RDWR | os.O_CREAT)
            if lock(self._taken, self._folder, _TAKEN) is Lock.HAD or os.fstat(self._taken).st_size != 8:
                self._write_taken(sum(each.st_blocks * 512 for _, each in self._copies()))
            fcntl.flock(self._taken, fcntl.LOCK_SH | fcntl.LOCK_NB)
        return self._taken

    def _take_locked(self, size_bytes: int) -> bool:
        taken = self._read_taken() + size_bytes
        if taken > self._most_bytes:
            taken -= self._make_room(taken - self._most_bytes)
        fits = taken <= self._most_bytes
        if fits:
            ahead = min(_AHEAD_BYTES, int(_AHEAD_SHARE * self._most_bytes), self._most_bytes - taken)
            self._ahead += ahead
            self._write_taken(taken + ahead)
        else:
            self._write_taken(taken - size_bytes)
            if not self._full_until:
                _LOG.warning("the local copy %r is full; what it lacks is fetched each time", str(self.path))
            self._full_until = time.monotonic() + _FULL_S
        return fits

    def _give_back(self) -> None:
        with self._lock:
            ahead, self._ahead, self._keeps_no_more = self._ahead, 0, True
            # Without the lock in time it stays taken, until somebody counts anew.
            with contextlib.suppress(NotOurs), locked(self._folder, _LOCK_S):
                self._write_taken(self._read_taken() - ahead)

    def _copies(self) -> list[tuple[str, os.stat_result]]:
        return [(name, each) for name, each in self._folder.entries() if _BLOCKS.match(name) and is_own_file(each)]

    def _read_taken(self) -> int:
        return int.from_bytes(os.pread(self._taken, 8, 0), "little")

    def _write_taken(self, taken: int) -> None:
        os.pwrite(self._taken, max(0, taken).to_bytes(8, "little"), 0)

    def _make_room(self, size_bytes: int) -> int:
        """Remove objects that went unused for long, the longest first; return how many bytes that gave."""
        os.utime(self._taken)  # the clock of the file system, which set the other times too
        freed, before = 0, os.fstat(self._taken).st_mtime - UNUSED_S
        for name, status in sorted(self._copies(), key=lambda copy: copy[1].st_mtime):
            if freed >= size_bytes or status.st_mtime > before:
                break
            descriptor = self._folder.open_file(name, os.O_RDWR)
            try:
                if lock(descriptor, self._folder, name) is Lock.HAD:
                    freed += os.fstat(descriptor).st_blocks * 512
                    self._folder.unlink(name)
            finally:
                os.close(descriptor)
        return freed
