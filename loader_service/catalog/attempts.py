"""When a read that failed is tried again, how soon, and for how long; knows no file and no format.

Network file systems answer EIO or ESTALE, or give less than was asked for, while a server restarts or a path is lost;
a moment later the same read succeeds.
"""

from __future__ import annotations

import errno
import os
import re
import time
from typing import TYPE_CHECKING, Protocol, cast

from loader_service.stores.faults import StoreFault

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

#: Errors of the disk or the network that may pass. Others, such as a missing permission, are final.
TRANSIENT = frozenset(
    {
        errno.EIO,
        errno.ESTALE,
        errno.EREMOTEIO,
        errno.ETIMEDOUT,
        errno.ENOTCONN,
        errno.ECONNRESET,
        errno.ECONNABORTED,
        errno.ECONNREFUSED,
        errno.EHOSTDOWN,
        errno.EHOSTUNREACH,
        errno.ENETDOWN,
        errno.ENETUNREACH,
        errno.ESHUTDOWN,
    }
)

#: The pause before the second attempt; each is twice the one before, up to the longest. In seconds.
_FIRST_PAUSE_S, _LONGEST_PAUSE_S = 0.02, 2.0

#: How long a file is asked for, before it is read, in seconds.
_STAT_S = 10.0

#: How HDF5 spells the number of an error of the system, in the middle of a text.
_ERRNO = re.compile(r"errno = (\d+)")


class RangeReader(Protocol):
    """What reads bytes of something that is no local file."""

    @property
    def fetched_bytes(self) -> int:
        """How many bytes it has read so far."""

    def read_at(self, offset: int, length: int) -> bytes:
        """Return bytes; fewer than were asked for only at the end."""

    def read_each(self, offsets: Sequence[int], length: int) -> list[bytes]:
        """Return as many bytes of each of many places."""

    def expect(self, places: Iterable[int]) -> None:
        """Fetch what lies around some places at a time, for reads that follow."""


#: A descriptor of a file that is open for reading, or what stands for one.
ByteSource = int | RangeReader


class ShortRead(OSError):
    """A read gave less than was asked for, though the file is long enough."""


class Attempts:
    """The attempts at one read.

    Parameters
    ----------
    patience_s
        How long after the first one another may be made.
    """

    def __init__(self, patience_s: float) -> None:
        self._patience_s = patience_s
        self._began = time.monotonic()
        self._pause_s = _FIRST_PAUSE_S
        self.count = 0

    def again(self, error: BaseException) -> bool:
        """Count a failed attempt; wait, and return True, when another one may succeed and there is time for it."""
        self.count += 1
        left_s = self._began + self._patience_s - time.monotonic()
        if errno_of(error) not in TRANSIENT or left_s <= 0:
            return False
        time.sleep(min(self._pause_s, left_s))
        self._pause_s = min(2 * self._pause_s, _LONGEST_PAUSE_S)
        return True

    def describe(self, error: BaseException) -> str:
        """Return what went wrong, how often and for how long it was tried; for errors."""
        number = errno_of(error)
        name = errno.errorcode.get(number, "") if number else ""
        cause = f"{name} ({os.strerror(number)})" if name else str(error)
        if isinstance(error, ShortRead | StoreFault):
            cause = str(error.strerror)
        times = "once" if self.count == 1 else f"{self.count} times in {time.monotonic() - self._began:.1f} s"
        return f"{cause}, tried {times}"


def errno_of(error: BaseException) -> int:
    """Return the system's number of an error, also of one that HDF5 describes in words; 0 if it has none."""
    if isinstance(error, ShortRead):
        return errno.EIO
    number = error.errno if isinstance(error, OSError) else None
    if number is None:
        found = _ERRNO.search(str(error))
        number = int(found[1]) if found else 0
    return number


def pread_fully(descriptor: ByteSource, length: int, offset: int) -> bytes:
    """Return bytes of a file; fewer than were asked for only where the file gives no more, now."""
    if type(descriptor) is not int:  # for each piece, and in fewer calls than isinstance
        return cast("RangeReader", descriptor).read_at(offset, length)
    data = os.pread(descriptor, length, offset)
    if len(data) == length or not data:
        return data
    pieces = [data]
    done = len(data)
    while done < length and (data := os.pread(descriptor, length - done, offset + done)):
        pieces.append(data)
        done += len(data)
    return b"".join(pieces)


def stat_patiently(path: str) -> os.stat_result:
    """Return what the system says of a file; ask again for a while when the disk or the network fails.

    Raises
    ------
    OSError
        When there is no such file, or the fault has not passed.
    """
    attempts = Attempts(_STAT_S)
    while True:
        try:
            return os.stat(path)
        except OSError as error:
            if not attempts.again(error):
                raise
