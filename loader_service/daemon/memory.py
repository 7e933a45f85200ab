"""How much memory this process and its workers have of their own, read from the kernel; decides nothing about them."""

from __future__ import annotations

import ctypes
import os

#: What the daemon may grow by after its start: a hundred clients with all their messages take a tenth of that.
GROWTH_BYTES = 256 * 2**20

_PAGE_BYTES = os.sysconf("SC_PAGE_SIZE")

#: More than the line that the kernel gives.
_LINE_BYTES = 256


class OwnMemory:
    """The memory of a process that it shares with no file and no other process.

    The kernel's file about it is opened once: a look must not fail in the very moment when no descriptor is left.

    Parameters
    ----------
    pid
        The process; one that has ended is not taken for another that has its number since.

    Raises
    ------
    OSError
        When there is no such process, or no descriptor left.

    References
    ----------
    proc(5), ``/proc/[pid]/statm``: resident minus shared pages. Segments and mapped columns are shared pages.
    """

    def __init__(self, pid: int) -> None:
        self._descriptor = os.open(f"/proc/{pid}/statm", os.O_RDONLY | os.O_CLOEXEC)

    def bytes_now(self) -> int:
        """Return how much it has; 0 when it has ended."""
        try:
            fields = os.pread(self._descriptor, _LINE_BYTES, 0).split()
        except ProcessLookupError:
            return 0
        return (int(fields[1]) - int(fields[2])) * _PAGE_BYTES

    def close(self) -> None:
        """Close the kernel's file."""
        os.close(self._descriptor)


def tree_bytes(pid: int) -> int:
    """Return how much memory a process has of its own, together with all that it has started; 0 when it has ended."""
    total, found = 0, [pid]
    while found:
        each = found.pop()
        try:
            memory = OwnMemory(each)
            total += memory.bytes_now()
            memory.close()
            for thread in os.listdir(f"/proc/{each}/task"):
                with open(f"/proc/{each}/task/{thread}/children", encoding="ascii") as children:
                    found += map(int, children.read().split())
        except OSError:
            continue  # it has ended meanwhile
    return total


class MemoryGuard:
    """Tells when a process has grown by more than it should.

    Growth counts from the least that the process had since `rest`: what is freed takes a while to go, and must not
    become the measure of the next growth.
    """

    def __init__(self, memory: OwnMemory, limit_bytes: int) -> None:
        self._memory = memory
        self._limit_bytes = limit_bytes
        self._first_bytes = self._least_bytes = memory.bytes_now()

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
        now = self._memory.bytes_now()
        if now - self._first_bytes <= self._limit_bytes:
            return now
        _give_back_freed()
        return self._memory.bytes_now()


def _give_back_freed() -> None:
    """Have the C library return freed memory to the kernel, where it can: glibc keeps what lies between used pieces."""
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
    if trim is not None:
        trim(0)
