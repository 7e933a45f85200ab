"""Says what helps where a file could not be written, by the number of the error; opens nothing."""

from __future__ import annotations

import errno

_FULL = frozenset({errno.ENOSPC, errno.EDQUOT})
_FORBIDDEN = frozenset({errno.EACCES, errno.EPERM, errno.EROFS})


def write_remedy(number: int | None) -> str:
    """Return what to do about an error of the system; in words that end before "and run the same command again"."""
    if number in _FULL:
        return "free some space"
    if number in _FORBIDDEN:
        return "name a place where you may write"
    if number == errno.EFBIG:
        return "write smaller files (--shard-size), or raise the limit of their size (ulimit -f)"
    if number == errno.EIO:
        return "look after the disk (dmesg), or name a place on another"
    return "name a place where files can be made"
