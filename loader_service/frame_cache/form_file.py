"""The frames of one form in their file: the stamps that tell which are whole, and their pixels. Knows no budget.

A frame is written before its stamp, and its stamp is read before it. Both are in the kernel's page cache in that order,
whatever becomes of the process that writes; a machine that loses its power may have the stamp alone on its disk, which
the sum in it tells. Files in memory are mapped: that saves a third of the time, and they have no disk that may fail.
"""

from __future__ import annotations

import errno
import math
import mmap
import os
import time
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from loader_service import failpoints
from loader_service.frame_cache.cells import BLOCK_FRAMES, STAMP_BYTES, Cells, FrameRun
from loader_service.frame_cache.form_header import EXTENT_AT, EXTENT_BYTES, DamagedHeader, parse_extent
from loader_service.frame_cache.pixel_sum import pixel_sum, word_of
from loader_service.native.copies import copy

#: In place of the second word of a stamp: nothing was written there; or something else was.
EMPTY, OTHER = -1, -2

#: How long after a write that failed nothing is written, in seconds.
_FULL_S = 10.0

_NO_ROOM = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.ENOMEM)


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
        Whether the file is memory. Then it is mapped, and what was found whole once is taken to be so. One that cannot
        be mapped is read, as those on disks are; none is ever written through a mapping.
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
        self._bytes = cells.file_bytes(cells.blocks)
        self._map = _mapped(descriptor, self._bytes) if is_in_memory else None
        self._extent = b""  # as it was read last
        self._kept = 0
        self._whole = np.zeros(cells.frames, np.bool_)  # frames whose sum was right
        self._stamps = np.empty((BLOCK_FRAMES, 2), np.uint64)
        self._full_until = 0.0
        self._said: set[str] = set()

    def close(self) -> None:
        """Close the file; harmless when it is closed."""
        self._map = None
        descriptor, self._descriptor = self._descriptor, -1
        if descriptor >= 0:
            os.close(descriptor)

    def begin(self) -> None:
        """Look at how much is kept, before stamps and frames are read."""
        extent = self._read_extent()
        if extent == self._extent:
            return
        self._extent = extent
        self._whole = np.zeros(self.cells.frames, np.bool_)  # what was whole may have been freed meanwhile
        try:
            self._kept = parse_extent(extent)[0]
        except DamagedHeader:
            self._kept = 0
            self._say("damaged", "is damaged; it is made anew when a stream opens that uses it")

    def is_unchanged(self) -> bool:
        """Tell whether all that was read since `begin` was there all the time."""
        return self._read_extent() == self._extent

    def stamps(self, run: FrameRun, tag: int) -> list[int]:
        """Return the second word of each frame's stamp; `EMPTY` or `OTHER` where the frame of this file is not there.

        Parameters
        ----------
        run
            The frames.
        tag
            Stands for their file as it is now; not 0.
        """
        if run.place >= self._kept:
            return [EMPTY] * run.length
        at = self.cells.stamp_at(run.place, run.begin)
        stamps: Any = self._stamps[: run.length]
        # Read, never mapped: nothing may have been written there, and memory gives a page to who looks at such a place
        # through a mapping, or ends the process with a SIGBUS where it is full.
        if not self._fill(stamps, at):
            return [EMPTY] * run.length
        words = stamps.tolist()
        return [word if first == tag and tag else (OTHER if first or word else EMPTY) for first, word in words]

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
        if size != self.cells.frame_bytes and run.length > 1:
            each = [FrameRun(0, 1, run.place, run.begin + number) for number in range(run.length)]
            return all(
                self.read(each[number], frame + number, [word], tag, out[number : number + 1])
                for number, word in enumerate(words)
            )
        flat = out.reshape(-1)
        if self._map is not None:
            copy(flat, self._map[at : at + len(flat)])
        elif not self._fill(flat, at):
            return False
        return self._are_whole(frame, words, tag, out)

    def views(
        self, run: FrameRun, frame: int, words: list[int], tag: int, shape: tuple[int, ...]
    ) -> NDArray[np.uint8] | None:
        """Return frames where they are kept, ``(frames, *shape) uint8``; None when they are not mapped, or not whole.

        Parameters
        ----------
        run, frame, words, tag
            As for `read`.
        shape
            Of each frame.
        """
        if self._map is None:
            return None
        at, size = self.cells.frame_at(run.place, run.begin), math.prod(shape)
        strides = (self.cells.frame_bytes, size // shape[0], shape[2], 1)
        found: NDArray[np.uint8] = np.ndarray((run.length, *shape), np.uint8, self._map.data, at, strides)
        whole = self._whole[frame : frame + run.length]
        if not whole.all() and not self._are_whole(frame, words, tag, found):
            return None
        return found

    def view(self, run: FrameRun, frame: int, word: int, tag: int, room: NDArray[np.uint8]) -> NDArray[np.uint8] | None:
        """Return a frame that is there, ``(bytes,) uint8``: where it is kept, or in `room`; None when it is not whole.

        Parameters
        ----------
        run, frame, word, tag
            As for `read`, of one frame.
        room
            Memory for the frame.
        """
        pixels = room
        at = self.cells.frame_at(run.place, run.begin)
        if self._map is not None:
            pixels = self._map[at : at + len(room)]
        elif not self._fill(room, at):
            return None
        return pixels if self._are_whole(frame, [word], tag, pixels.reshape(1, -1)) else None

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
        if run.place >= self._kept or time.monotonic() < self._full_until:
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

    def _read_extent(self) -> bytes:
        """Return what the header says of how much is kept; nothing where that cannot be read."""
        try:
            if os.fstat(self._descriptor).st_size < self._bytes:
                return b""
            if self._map is not None:
                return self._map[EXTENT_AT : EXTENT_AT + EXTENT_BYTES].tobytes()
            return os.pread(self._descriptor, EXTENT_BYTES, EXTENT_AT)
        except OSError as error:
            self._failed("read", error)
            return b""

    def _are_whole(self, frame: int, words: list[int], tag: int, pixels: NDArray[np.uint8]) -> bool:
        whole = self._whole[frame : frame + len(words)]
        if self._map is not None and whole.all():
            return True
        for number, word in enumerate(words):
            if self._map is not None and whole[number]:
                continue
            whole[number] = word_of(pixel_sum(pixels[number].reshape(-1)), tag, frame + number) == word
        return bool(whole.all())

    def _fill(self, out: Any, at: int) -> bool:
        try:
            return bool(os.preadv(self._descriptor, [out], at) == out.nbytes)
        except OSError as error:
            self._failed("read", error)
            return False

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


def _mapped(descriptor: int, size: int) -> NDArray[np.uint8] | None:
    """Return the file in memory; None where that cannot be had: some file systems map nothing, and addresses end."""
    try:
        return np.frombuffer(mmap.mmap(descriptor, size, prot=mmap.PROT_READ), np.uint8)
    except (OSError, ValueError):
        return None
