"""How much memory this process and its workers have of their own, read from the kernel; decides nothing about them."""

from __future__ import annotations

import ctypes
import os
from pathlib import Path

#: What the daemon may grow by after its start: a hundred clients with all their messages take a tenth of that.
GROWTH_BYTES = 256 * 2**20

_PAGE_BYTES = os.sysconf("SC_PAGE_SIZE")


def own_bytes(pid: int) -> int:
    """Return the memory of a process that it shares with no file and no other process; 0 when it has ended.

    References
    ----------
    proc(5), ``/proc/[pid]/statm``: resident minus shared pages. Segments and mapped columns are shared pages.
    """
    try:
        fields = Path(f"/proc/{pid}/statm").read_bytes().split()
    except (FileNotFoundError, ProcessLookupError):
        return 0
    return (int(fields[1]) - int(fields[2])) * _PAGE_BYTES


class MemoryGuard:
    """Tells when this process has grown by more than it should.

    Growth counts from the least that the process had since `rest`: what is freed takes a while to go, and must not
    become the measure of the next growth.

    Parameters
    ----------
    limit_bytes
        Growth that is normal.
    """

    def __init__(self, limit_bytes: int) -> None:
        self._limit_bytes = limit_bytes
        self._first_bytes = self._least_bytes = own_bytes(os.getpid())

    def grown_bytes(self) -> int:
        """Return the growth when it is above the limit, else 0."""
        now = self._look()
        self._least_bytes = min(self._least_bytes, now)
        grown = now - self._least_bytes
        return grown if grown > self._limit_bytes else 0

    def rest(self) -> None:
        """Take what is in use now as normal: something is about to be freed."""
        self._least_bytes = self._look()

    def _look(self) -> int:
        now = own_bytes(os.getpid())
        if now - self._first_bytes <= self._limit_bytes:
            return now
        _give_back_freed()
        return own_bytes(os.getpid())


def _give_back_freed() -> None:
    """Have the C library return freed memory to the kernel, where it can: glibc keeps what lies between used pieces."""
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
    if trim is not None:
        trim(0)
