"""The file of one form: its header, the stamps that tell which frames are whole, and their pixels. Knows no budget.

A frame is written before its stamp, and its stamp is read before it. Both are in the kernel's page cache in that order,
whatever becomes of the process that writes; a machine that loses its power may have the stamp alone on its disk, which
the sum in it tells. Who cuts the file counts up a number in the header first, and readers look at it before and after.
"""

from __future__ import annotations

import errno
import os
import secrets
import struct
import time
import zlib
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from loader_service import failpoints
from loader_service.frame_cache.cells import BLOCK_FRAMES, HEADER_BYTES, STAMP_BYTES, Cells, FrameRun
from loader_service.frame_cache.pixel_sum import pixel_sum, word_of

_MAGIC = b"LSFRAMES"
_FORMAT = 1

#: Magic, format, frames of a block, key, frames, bytes of a frame, words for people; then a CRC of that.
_FIXED = struct.Struct("<8sII32sQQ128s")
_CRC = struct.Struct("<I")

#: Where the number of blocks that are kept stands, and how often there were fewer than before; then a CRC of both.
_EXTENT_AT = 2048
_EXTENT = struct.Struct("<QQ")
_EXTENT_BYTES = _EXTENT.size + _CRC.size

#: In place of the second word of a stamp: nothing was written there; or something else was.
EMPTY, OTHER = -1, -2

#: How long after a write that failed nothing is written, in seconds.
_FULL_S = 10.0

_NO_ROOM = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.ENOMEM)


class DamagedHeader(Exception):
    """The header of a file of frames is not what was written there."""


class ForeignFile(Exception):
    """A file under the name of a form is none that was made here."""


class FormHeader(NamedTuple):
    """What a file of frames says of itself."""

    key: bytes
    cells: Cells
    title: str  # for people


def write_header(descriptor: int, header: FormHeader) -> None:
    """Make a file one of a form that keeps nothing yet; raises OSError."""
    cells, title = header.cells, header.title.encode("utf-8", "replace")[:128]
    fixed = _FIXED.pack(_MAGIC, _FORMAT, BLOCK_FRAMES, header.key, cells.frames, cells.frame_bytes, title)
    os.ftruncate(descriptor, 0)
    os.ftruncate(descriptor, HEADER_BYTES)
    # Not from 0: who reads meanwhile must see another number than before.
    write_extent(descriptor, 0, secrets.randbits(62))
    os.pwrite(descriptor, fixed + _CRC.pack(zlib.crc32(fixed)), 0)


def read_header(descriptor: int) -> FormHeader:
    """Return the header of a file of frames.

    Raises
    ------
    ForeignFile
        When it is none.
    DamagedHeader
        When it was one, or is of another version.
    OSError
        When it cannot be read.
    """
    data = os.pread(descriptor, _FIXED.size + _CRC.size, 0)
    if data[: len(_MAGIC)] != _MAGIC:
        raise ForeignFile
    if len(data) < _FIXED.size + _CRC.size or zlib.crc32(data[: _FIXED.size]) != _CRC.unpack(data[_FIXED.size :])[0]:
        raise DamagedHeader
    _, form, block_frames, key, frames, frame_bytes, title = _FIXED.unpack(data[: _FIXED.size])
    if (form, block_frames) != (_FORMAT, BLOCK_FRAMES) or not 0 < frames < 2**48 or not 0 < frame_bytes < 2**40:
        raise DamagedHeader
    return FormHeader(key, Cells(frames, frame_bytes), title.rstrip(b"\0").decode("utf-8", "replace"))


def write_extent(descriptor: int, blocks: int, shrinks: int) -> None:
    """Say how many blocks are kept, and how often there were fewer than before; raises OSError."""
    data = _EXTENT.pack(blocks, shrinks)
    os.pwrite(descriptor, data + _CRC.pack(zlib.crc32(data)), _EXTENT_AT)


def read_extent(descriptor: int) -> tuple[int, int]:
    """Return how many blocks are kept, and how often there were fewer than before.

    Raises
    ------
    DamagedHeader
        When that was not written there.
    OSError
        When it cannot be read.
    """
    data = os.pread(descriptor, _EXTENT_BYTES, _EXTENT_AT)
    if len(data) < _EXTENT_BYTES or zlib.crc32(data[: _EXTENT.size]) != _CRC.unpack(data[_EXTENT.size :])[0]:
        raise DamagedHeader
    blocks, shrinks = _EXTENT.unpack(data[: _EXTENT.size])
    return blocks, shrinks


class FormFile:
    """Reads and writes frames of one form; used by one thread.

    Parameters
    ----------
    descriptor
        Of the file, whose header is sound; closed by `close`, and with it the lock that says that the form is used.
    path
        For messages.
    cells
        As the header has them.
    is_in_memory
        Whether what was found whole once stays so until the machine ends.
    complain
        Told a line when the file system fails; of each kind once.
    """

    def __init__(
        self, descriptor: int, path: str, cells: Cells, complain: Callable[[str], object], *, is_in_memory: bool
    ) -> None:
        self.cells = cells
        self.users = 0  # streams that have it open; counted by the folder
        self._descriptor = descriptor
        self._path = path
        self._complain = complain
        self._kept = 0
        self._shrinks = -1
        self._is_in_memory = is_in_memory
        self._whole = np.zeros(cells.frames, np.bool_)  # frames whose sum was right
        self._stamps = np.empty((BLOCK_FRAMES, 2), np.uint64)
        self._full_until = 0.0
        self._said: set[str] = set()

    def close(self) -> None:
        """Close the file; harmless when it is closed."""
        descriptor, self._descriptor = self._descriptor, -1
        if descriptor >= 0:
            os.close(descriptor)

    def begin(self) -> None:
        """Look at how much is kept, before stamps and frames are read."""
        try:
            self._kept, shrinks = read_extent(self._descriptor)
            if shrinks != self._shrinks:  # what was whole may have been cut off meanwhile
                self._shrinks = shrinks
                self._whole[:] = False
        except DamagedHeader:
            self._kept, self._shrinks = 0, -1
            self._say("damaged", "is damaged at its front; it is made anew when a stream opens that uses it")
        except OSError as error:
            self._failed("read", error)

    def is_unchanged(self) -> bool:
        """Tell whether all that was read since `begin` was there all the time."""
        try:
            return self._shrinks >= 0 and read_extent(self._descriptor)[1] == self._shrinks
        except (DamagedHeader, OSError):
            return False

    def stamps(self, run: FrameRun, tag: int) -> list[int]:
        """Return the second word of each frame's stamp; `EMPTY` or `OTHER` where the frame of this file is not there.

        Parameters
        ----------
        run
            The frames.
        tag
            Stands for their file as it is now; not 0.
        """
        if not self._keeps(run):
            return [EMPTY] * run.length
        stamps: Any = self._stamps[: run.length]
        try:
            got = os.preadv(self._descriptor, [stamps], self.cells.stamp_at(run.place, run.begin))
        except OSError as error:
            self._failed("read", error)
            got = 0
        if got != stamps.nbytes:  # a file is longer for each frame that is written
            return [EMPTY] * run.length
        return [word if first == tag else (OTHER if first or word else EMPTY) for first, word in stamps.tolist()]

    def read(self, run: FrameRun, frame: int, words: list[int], tag: int, out: NDArray[np.uint8]) -> bool:
        """Fill memory with frames that are there; False when they are not whole.

        Parameters
        ----------
        run
            The frames.
        frame
            Number of the first one in the form.
        words
            As `stamps` has given them; none is negative.
        tag
            As `stamps` took it.
        out
            ``(frames, bytes) uint8``, C-order; undefined when the answer is False.
        """
        at, size = self.cells.frame_at(run.place, run.begin), out.shape[1]
        frames: Any = out  # mypy: NumPy's arrays are no buffers before Python 3.12
        try:
            if size == self.cells.frame_bytes or run.length == 1:
                got = os.preadv(self._descriptor, [frames.reshape(-1)], at)
            else:
                got = sum(
                    os.preadv(self._descriptor, [each], at + number * self.cells.frame_bytes)
                    for number, each in enumerate(frames)
                )
        except OSError as error:
            self._failed("read", error)
            return False
        if got != out.nbytes:
            return False
        whole = self._whole[frame : frame + run.length]
        if self._is_in_memory and whole.all():
            return True
        whole[:] = [
            word_of(pixel_sum(pixels), tag, frame + number) == word
            for number, (pixels, word) in enumerate(zip(out, words, strict=True))
        ]
        return bool(whole.all())

    def write(self, run: FrameRun, frame: int, word: int, tag: int, pixels: NDArray[np.uint8]) -> bool:
        """Keep a frame; return whether it is kept now.

        Parameters
        ----------
        run
            The frame alone.
        frame, tag
            As for `read`.
        word
            What `stamps` has said of it.
        pixels
            ``(bytes,) uint8``.
        """
        if not self._keeps(run) or time.monotonic() < self._full_until:
            return False
        stamp_at = self.cells.stamp_at(run.place, run.begin)
        try:
            if word != EMPTY:  # or a stamp of what was there before would stand over a part of this
                self._put(bytes(STAMP_BYTES), stamp_at)
            self._put(pixels, self.cells.frame_at(run.place, run.begin))
            failpoints.passing("worker.frame_kept")
            stamp = tag.to_bytes(8, "little") + word_of(pixel_sum(pixels), tag, frame).to_bytes(8, "little")
            self._put(stamp, stamp_at)
        except OSError as error:
            self._full_until = time.monotonic() + _FULL_S
            self._failed("write", error)
            return False
        self._whole[frame] = True
        return True

    # ---- inside

    def _keeps(self, run: FrameRun) -> bool:
        return run.place < self._kept

    def _put(self, data: Any, at: int) -> None:
        size = len(data)
        done = os.pwrite(self._descriptor, data, at)
        if done != size:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    def _failed(self, what: str, error: OSError) -> None:
        if what == "write" and error.errno in _NO_ROOM:
            self._say(what, f"finds no room ({error.strerror}); free some there, or start with a smaller --cache")
        else:
            self._say(what, f"cannot be {'read' if what == 'read' else 'written'} ({error.strerror}); see to the disk")

    def _say(self, kind: str, words: str) -> None:
        if kind not in self._said:
            self._said.add(kind)
            self._complain(f"the cache {self._path!r} {words}; what it lacks is decoded each time")
