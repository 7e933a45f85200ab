"""One object whose blocks are kept on a local disk once they were fetched: a block that is not whole does not count.

Its file holds the blocks where they lie in the object, and behind them a digest of each. A digest also stands for the
object's URL, size and ETag and the block's number, and is written after its block. So whatever is lost when a process
or a machine ends, and whatever else is written there, is found out by reading, and fetched again.
"""

from __future__ import annotations

import hashlib
import logging
import os
import threading
import zlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from loader_service.stores.copy_folder import CopyFolder
    from loader_service.stores.object_version import ObjectVersion


_LOG = logging.getLogger(__name__)

#: What is kept, or not, as one.
BLOCK_BYTES = 64 * 2**10

_DIGEST_BYTES = 16

#: What a file system takes beside a block: a page of digests.
_PAGE_BYTES = 4096


class ObjectCopy:
    """Reads an object, and keeps what it fetched; used by any number of threads.

    Parameters
    ----------
    fetch
        Reads bytes of the object, ``(offset, length)``; raises what `read_at` shall raise.
    url, version
        Which object, and which version of it `fetch` reads.
    folder
        Where blocks are kept; its counts are added to.
    """

    def __init__(
        self,
        fetch: Callable[[int, int], bytes],
        url: str,
        version: ObjectVersion,
        folder: CopyFolder,
    ) -> None:
        self._fetch = fetch
        self._size = version.size_bytes
        self._folder = folder
        self._counts = folder.counts
        identity = "\0".join((url, str(version.size_bytes), version.tag)).encode("utf-8", "surrogateescape")
        self._key = hashlib.blake2b(identity, digest_size=16)
        self._table = -(-self._size // BLOCK_BYTES) * BLOCK_BYTES
        self._lock = threading.Lock()
        self._readers = 0
        self._is_closed = False
        self._descriptor = -1
        try:
            self._descriptor = folder.open_object(self._key.hexdigest())
        except OSError as error:
            self._give_up(error)

    def close(self) -> None:
        """Close it; a later read goes to the store."""
        with self._lock:
            self._is_closed = True
            self._close_unused()

    def read_at(self, offset: int, length: int) -> bytes:
        """Return bytes of the object; fewer than were asked for only at its end. Raises what `fetch` raises."""
        end = min(offset + length, self._size)
        if offset >= end:
            return b""
        with self._lock:
            is_usable = self._descriptor >= 0 and not self._is_closed
            self._readers += is_usable
        if not is_usable:
            return self._fetch(offset, end - offset)
        try:
            return self._read(offset, end)
        finally:
            with self._lock:
                self._readers -= 1
                self._close_unused()

    # ---- inside

    def _read(self, offset: int, end: int) -> bytes:
        first, last = offset // BLOCK_BYTES, (end - 1) // BLOCK_BYTES
        blocks, damaged = self._kept(first, last)
        missing = [number for number in range(first, last + 1) if number not in blocks]
        kept_bytes = sum(map(len, blocks.values()))
        if missing:
            # One request also where some between are here: a second one takes longer than its bytes.
            begin = missing[0] * BLOCK_BYTES
            data = memoryview(self._fetch(begin, min((missing[-1] + 1) * BLOCK_BYTES, self._size) - begin))
            fetched = {number: data[number * BLOCK_BYTES - begin :][:BLOCK_BYTES] for number in missing}
            self._keep(fetched, damaged)
            blocks.update(fetched)
        kept = last + 1 - first - len(missing)
        self._counts.add(kept=kept, fetched=len(missing), kept_bytes=kept_bytes)
        begin = first * BLOCK_BYTES
        blocks[last] = blocks[last][: end - last * BLOCK_BYTES]
        blocks[first] = blocks[first][offset - begin :]
        return b"".join(blocks[number] for number in range(first, last + 1))

    def _kept(self, first: int, last: int) -> tuple[dict[int, memoryview], set[int]]:
        """Return the blocks that are here and whole, by number; and the numbers of those that are here and damaged."""
        begin, count = first * BLOCK_BYTES, last + 1 - first
        found: dict[int, memoryview] = {}
        damaged: set[int] = set()
        try:
            digests = os.pread(self._descriptor, count * _DIGEST_BYTES, self._table + first * _DIGEST_BYTES)
            if not any(digests):
                return found, damaged
            data = memoryview(os.pread(self._descriptor, min(begin + count * BLOCK_BYTES, self._size) - begin, begin))
        except OSError as error:
            self._give_up(error)
            return found, damaged
        for place in range(count):
            digest = digests[place * _DIGEST_BYTES : (place + 1) * _DIGEST_BYTES]
            block = data[place * BLOCK_BYTES : (place + 1) * BLOCK_BYTES]
            if any(digest):
                if digest == self._digest(first + place, block):
                    found[first + place] = block
                else:
                    damaged.add(first + place)
        self._counts.add(damaged=len(damaged))
        return found, damaged

    def _keep(self, blocks: dict[int, memoryview], damaged: set[int]) -> None:
        try:
            for number, block in blocks.items():
                place, digest = self._table + number * _DIGEST_BYTES, self._digest(number, block)
                there = os.pread(self._descriptor, _DIGEST_BYTES, place)
                if there == digest and number not in damaged:
                    continue  # another worker was faster
                if not any(there) and not self._folder.take(len(block) + _PAGE_BYTES):
                    return
                _write(self._descriptor, block, number * BLOCK_BYTES)
                _write(self._descriptor, digest, place)
        except OSError as error:
            self._folder.keep_no_more(error)

    def _digest(self, number: int, block: memoryview) -> bytes:
        key = self._key.digest() + number.to_bytes(8, "little")
        # Against damage, not against malice: two checksums take a third of the time of a hash of all bytes.
        sums = zlib.crc32(block).to_bytes(4, "little") + zlib.adler32(block).to_bytes(4, "little")
        return hashlib.blake2b(sums, digest_size=_DIGEST_BYTES, key=key).digest()

    def _give_up(self, error: OSError) -> None:
        """Read the object from the store alone from now on: a copy saves time, and costs no training."""
        _LOG.warning("the local copy in %r cannot be used: %s; reading the store alone", str(self._folder.path), error)
        with self._lock:
            self._is_closed = True

    def _close_unused(self) -> None:
        if self._is_closed and not self._readers and self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1


def _write(descriptor: int, data: bytes | memoryview, offset: int) -> None:
    done = 0
    while done < len(data):
        done += os.pwrite(descriptor, data[done:], offset + done)
