"""An object as a file that HDF5 reads: in aligned blocks, of which some are kept. Knows no HDF5."""

from __future__ import annotations

import io
import time
from collections import OrderedDict
from typing import TYPE_CHECKING, Any

from loader_service.stores.faults import LastingFault, StoreFault

if TYPE_CHECKING:
    from collections.abc import Callable

#: HDF5 reads its metadata in pieces of some hundred bytes, which lie near each other. Where one fetch begins behind
#: the one before, twice as many blocks are fetched each time, up to so many.
BLOCK_BYTES, _IN_A_ROW = 16 * 2**10, 8

#: Longer reads are data: they are fetched as they are asked for, and a few are kept.
_DATA_BYTES, _MOST_READS = 4 * 2**10, 32

#: Blocks that are kept: 32 MiB.
_MOST_BLOCKS = 2048

#: How long a read is tried again, in seconds, and the pauses between.
_PATIENCE_S, _FIRST_PAUSE_S, _LONGEST_PAUSE_S = 15.0, 0.05, 2.0


class BlockFile(io.RawIOBase):
    """A file to read; keeps what was read last.

    Parameters
    ----------
    read_at
        Reads bytes, ``(offset, length)``; raises StoreFault.
    size_bytes
        Of the file.

    Attributes
    ----------
    fault
        The latest fault that lasted, since HDF5 swallows what a file raises; None without one.
    fetched_bytes, requests
        What was read.
    """

    def __init__(self, read_at: Callable[[int, int], bytes], size_bytes: int) -> None:
        super().__init__()
        self._read_at = read_at
        self._size = size_bytes
        self._place = 0
        self._blocks: OrderedDict[int, bytes] = OrderedDict()
        self._reads: OrderedDict[int, bytes] = OrderedDict()
        self._row, self._behind = 1, -1  # blocks that were fetched last, and the one behind them
        self.fault: StoreFault | None = None
        self.fetched_bytes = self.requests = 0

    def readable(self) -> bool:
        """Tell that it can be read."""
        return True

    def seekable(self) -> bool:
        """Tell that any place of it can be read."""
        return True

    def tell(self) -> int:
        """Return where the next read begins."""
        return self._place

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        """Go to a place; return where that is."""
        base = {io.SEEK_SET: 0, io.SEEK_CUR: self._place, io.SEEK_END: self._size}[whence]
        self._place = max(0, base + offset)
        return self._place

    def readinto(self, out: Any) -> int:
        """Fill memory from the present place on; return how many bytes there were."""
        view = memoryview(out).cast("B")
        data = self.read_at(self._place, len(view))
        view[: len(data)] = data
        self._place += len(data)
        return len(data)

    def read_at(self, offset: int, length: int) -> bytes:
        """Return bytes; fewer than were asked for only at the end.

        Raises
        ------
        StoreFault
            When they do not come, however often they are asked for.
        """
        end = min(offset + length, self._size)
        if offset >= end:
            return b""
        first, last = offset // BLOCK_BYTES, (end - 1) // BLOCK_BYTES
        begin = first * BLOCK_BYTES
        if end - offset > _DATA_BYTES:  # after its head, which HDF5 reads first, the rest and no more
            kept = next((number for number in range(first, last + 1) if number not in self._blocks), last + 1)
            there = b"".join(self._block(number) for number in range(first, kept))[offset - begin :][: end - offset]
            left = end - offset - len(there)
            return there + self._data(end - left, left) if left else there
        data = b"".join(self._block(number) for number in range(first, last + 1))
        return data[offset - begin : end - begin]

    def _block(self, number: int) -> bytes:
        if number not in self._blocks:
            begin = number * BLOCK_BYTES
            self._row = min(2 * self._row, _IN_A_ROW) if number == self._behind else 1
            data = self.fetch(begin, min(self._row * BLOCK_BYTES, self._size - begin))
            self._behind = number + self._row
            for each in range(-(-len(data) // BLOCK_BYTES)):
                self._blocks[number + each] = data[each * BLOCK_BYTES : (each + 1) * BLOCK_BYTES]
            while len(self._blocks) > _MOST_BLOCKS:
                self._blocks.popitem(last=False)
        self._blocks.move_to_end(number)
        return self._blocks[number]

    def _data(self, offset: int, length: int) -> bytes:
        """Return a longer piece; the scan reads some frames twice, through HDF5 and past it."""
        for begin, data in self._reads.items():
            if begin <= offset and offset + length <= begin + len(data):
                return data[offset - begin : offset - begin + length]
        data = self._reads[offset] = self.fetch(offset, length)
        if len(self._reads) > _MOST_READS or length > _MOST_BLOCKS * BLOCK_BYTES:
            self._reads.popitem(last=False)
        return data

    def fetch(self, offset: int, length: int) -> bytes:
        """Return bytes that are not kept, asked for until they come; in any thread. Raises as `read_at` does."""
        deadline, pause_s = time.monotonic() + _PATIENCE_S, _FIRST_PAUSE_S
        while True:
            try:
                data = self._read_at(offset, length)
            except StoreFault as fault:
                if isinstance(fault, LastingFault) or time.monotonic() > deadline:
                    self.fault = fault
                    raise
                time.sleep(pause_s)
                pause_s = min(2 * pause_s, _LONGEST_PAUSE_S)
            else:
                self.requests += 1
                self.fetched_bytes += len(data)
                return data
