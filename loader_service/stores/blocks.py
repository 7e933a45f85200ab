"""An object as a file that HDF5 reads: in aligned blocks, of which some are kept. Knows no HDF5."""

from __future__ import annotations

import io
import threading
from collections import OrderedDict
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any, NamedTuple

from loader_service.stores.asking_again import until_it_comes
from loader_service.stores.faults import StoreFault

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

#: HDF5 reads its metadata in pieces of some hundred bytes, which lie near each other.
BLOCK_BYTES = 16 * 2**10

#: Ranges that are fetched at a time; so few are fetched one after the other.
_AT_A_TIME, _FEW = 64, 2

#: Longer reads that are kept.
_MOST_READS = 32


class BlockSizes(NamedTuple):
    """In which pieces a file is fetched, and how many of them are kept.

    Attributes
    ----------
    block_bytes
        What is fetched at least.
    in_a_row
        Where one fetch begins behind the one before, twice as many blocks are fetched each time, up to so many.
    kept
        Blocks that are kept.
    data_bytes
        Longer reads are data: they are fetched as they are asked for, and a few are kept.
    """

    block_bytes: int
    in_a_row: int
    kept: int
    data_bytes: int


#: For files that are read as HDF5 does: keeps 32 MiB.
OF_METADATA = BlockSizes(BLOCK_BYTES, 8, 2048, 4 * 2**10)

#: For scans, which come back to the indexes of chunks of some thousand datasets: keeps 64 MiB.
OF_SCANS = OF_METADATA._replace(kept=4096)

#: For files that are read from begin to end: fetches up to 8 MiB at once, keeps 24 MiB, and has no other data.
OF_STREAMS = BlockSizes(256 * 2**10, 32, 96, 2**63)


class BlockFile(io.RawIOBase):
    """A file to read; keeps what was read last.

    Parameters
    ----------
    read_at
        Reads bytes, ``(offset, length)``; raises StoreFault.
    size_bytes
        Of the file.
    sizes
        In which pieces it is fetched.
    ahead
        Returns bytes that were fetched ahead, ``(offset, length)``; None where they were not.

    Attributes
    ----------
    size_bytes
        As given.
    fault
        The latest fault that lasted, since HDF5 swallows what a file raises; None without one.
    fetched_bytes, requests
        What was read.
    """

    def __init__(
        self,
        read_at: Callable[[int, int], bytes],
        size_bytes: int,
        sizes: BlockSizes = OF_METADATA,
        ahead: Callable[[int, int], bytes | None] = lambda *_: None,
    ) -> None:
        super().__init__()
        self._read_at = read_at
        self._ahead = ahead
        self.size_bytes = size_bytes
        self._sizes = sizes
        self._place = 0
        self._blocks: OrderedDict[int, bytes] = OrderedDict()
        self._reads: OrderedDict[int, bytes] = OrderedDict()
        self._row, self._behind = 1, -1  # blocks that were fetched last, and the one behind them
        self.fault: StoreFault | None = None
        self._lock = threading.Lock()
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
        base = {io.SEEK_SET: 0, io.SEEK_CUR: self._place, io.SEEK_END: self.size_bytes}[whence]
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
        end = min(offset + length, self.size_bytes)
        if offset >= end:
            return b""
        fetched = self._ahead(offset, end - offset)
        if fetched is not None:
            return fetched
        block_bytes = self._sizes.block_bytes
        first, last = offset // block_bytes, (end - 1) // block_bytes
        begin = first * block_bytes
        if end - offset > self._sizes.data_bytes:  # after its head, which HDF5 reads first, the rest and no more
            kept = next((number for number in range(first, last + 1) if number not in self._blocks), last + 1)
            there = b"".join(self._block(number) for number in range(first, kept))[offset - begin :][: end - offset]
            left = end - offset - len(there)
            return there + self._data(end - left, left) if left else there
        data = b"".join(self._block(number) for number in range(first, last + 1))
        return data[offset - begin : end - begin]

    def expect(self, places: Iterable[int]) -> None:
        """Fetch the blocks that places lie in, many at a time; raises as `read_at` does."""
        numbers = {place // self._sizes.block_bytes for place in places if 0 <= place < self.size_bytes}
        rows: list[list[int]] = []
        for number in sorted(numbers - self._blocks.keys()):
            if rows and number == rows[-1][-1] + 1 and len(rows[-1]) < self._sizes.in_a_row:
                rows[-1].append(number)
            else:
                rows.append([number])
        for row, data in zip(rows, self.fetch_each([self._range_of(row[0], len(row)) for row in rows]), strict=True):
            self._keep(row[0], data)

    def _block(self, number: int) -> bytes:
        if number not in self._blocks:
            self._row = min(2 * self._row, self._sizes.in_a_row) if number == self._behind else 1
            self._behind = number + self._row
            self._keep(number, self.fetch(*self._range_of(number, self._row)))
        self._blocks.move_to_end(number)
        return self._blocks[number]

    def _range_of(self, number: int, count: int) -> tuple[int, int]:
        begin = number * self._sizes.block_bytes
        return begin, min(count * self._sizes.block_bytes, self.size_bytes - begin)

    def _keep(self, number: int, data: bytes) -> None:
        size = self._sizes.block_bytes
        for each in range(-(-len(data) // size)):
            self._blocks[number + each] = data[each * size : (each + 1) * size]
        while len(self._blocks) > self._sizes.kept:
            self._blocks.popitem(last=False)

    def _data(self, offset: int, length: int) -> bytes:
        """Return a longer piece; the scan reads some frames twice, through HDF5 and past it."""
        for begin, data in self._reads.items():
            if begin <= offset and offset + length <= begin + len(data):
                return data[offset - begin : offset - begin + length]
        data = self._reads[offset] = self.fetch(offset, length)
        if len(self._reads) > _MOST_READS or length > self._sizes.kept * self._sizes.block_bytes:
            self._reads.popitem(last=False)
        return data

    def fetch(self, offset: int, length: int) -> bytes:
        """Return bytes that are not kept, asked for until they come; in any thread. Raises as `read_at` does."""
        try:
            data = until_it_comes(lambda: self._read_at(offset, length))
        except StoreFault as fault:
            self.fault = fault
            raise
        with self._lock:
            self.requests += 1
            self.fetched_bytes += len(data)
        return data

    def fetch_each(self, ranges: Sequence[tuple[int, int]]) -> list[bytes]:
        """Return the bytes of many ranges, fetched at a time and not kept; raises as `read_at` does."""
        if len(ranges) < _FEW:
            return [self.fetch(*each) for each in ranges]
        with ThreadPoolExecutor(_AT_A_TIME) as threads:
            return list(threads.map(lambda each: self.fetch(*each), ranges))
