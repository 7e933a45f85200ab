"""Collects the encoded frames of one video, in memory or in a file without a name; knows no source and no shard."""

from __future__ import annotations

import os
import tempfile
import time
import zlib
from collections.abc import Callable
from typing import Any

import numpy as np

from loader_service.catalog.codecs import DEPTH, JPEG, Codec
from loader_service.catalog.videos.beside.flat_lists import BOUNDS_ENDING
from loader_service.conversion.write_remedies import output_error
from loader_service.errors import PackError
from loader_service.pack.records import Beside, PackedDataset

#: Bytes of one field's frames that are kept in memory; more go to a file that has no name, beside the output.
_IN_MEMORY = 64 * 2**20

#: Bytes that are moved at once.
_PIECE_BYTES = 4 * 2**20

#: In memory, and on disk where it is too large.
_File = tempfile.SpooledTemporaryFile[bytes]

#: What the frames of a field are, where they are no numbers; of the second form they are served as numbers.
PICTURES = "JPEG or PNG"

#: How often a reader gives a sign of life, in seconds.
_SIGN_S = 1.0


class FrameSink:
    """Takes the frames of one video as they are read; a context manager.

    Parameters
    ----------
    folder
        Where a file without a name may lie.
    alive
        Called about once a second with the number of frames so far.

    Attributes
    ----------
    turned
        How many frames their EXIF data asks to be turned, and that pass as they are.
    """

    def __init__(self, folder: str, alive: Callable[[int], object] = lambda _: None) -> None:
        self._folder = folder
        self._alive = alive
        self._streams: dict[str, tuple[_File, list[int]]] = {}
        self.turned = 0
        self._codecs: dict[str, Codec] = {}
        self._said = time.monotonic()

    def __enter__(self) -> FrameSink:
        return self

    def __exit__(self, *_: object) -> None:
        for spool, _lengths in self._streams.values():
            spool.close()

    @property
    def forms(self) -> dict[str, str]:
        """What the frames of each field are, of all videos alike."""
        return {stream: codec.name if codec is DEPTH else PICTURES for stream, codec in self._codecs.items()}

    def add(self, encoded: bytes, stream: str = "frames", codec: Codec = JPEG) -> None:
        """Take the next frame of a field of images.

        Raises
        ------
        PackError
            When it is of another format than the first.
        OutputError
            When there are many bytes, and they cannot be kept in a file.
        """
        first = self._codecs.setdefault(stream, codec)
        if first is not codec:
            alike = "write them alike" if DEPTH in (first, codec) else "make all of them JPEGs by --quality"
            raise PackError(
                f"frame {len(self._streams[stream][1])} of {stream!r} is {codec.name}, and those before it "
                f"{first.name}; a field of a video has one of them: leave it out, or {alike}"
            )
        if stream not in self._streams:
            spool: _File = tempfile.SpooledTemporaryFile(_IN_MEMORY, dir=self._folder)  # noqa: SIM115 - `__exit__`
            self._streams[stream] = spool, []
        file, lengths = self._streams[stream]
        try:
            file.write(encoded)
        except OSError as error:
            raise output_error(self._folder, error) from error
        lengths.append(len(encoded))
        now = time.monotonic()
        if now - self._said > _SIGN_S:
            self._said = now
            self._alive(len(lengths))

    def frame_counts(self) -> dict[str, int]:
        """Return how many frames each field has so far."""
        return {name: len(lengths) for name, (_, lengths) in self._streams.items()}

    def finish(self, beside: Beside, where: str) -> FrameBlob:
        """Return all that was taken, and what lies beside it, as the bytes of a shard.

        Raises
        ------
        PackError
            When there is nothing, or fields have different numbers of frames.
        """
        columns = {name: len(column) + (name in beside.between) for name, column in beside.columns.items()}
        counts = self.frame_counts() | columns | {name: len(bounds) - 1 for name, (_, bounds) in beside.lists.items()}
        if not counts or not max(counts.values()):
            raise PackError(f"{where}: it has no frames; leave it out")
        if len(set(counts.values())) > 1:
            found = ", ".join(f"{count} of {name!r}" for name, count in counts.items())
            raise PackError(f"{where}: expected as many entries of each field, found {found}; correct the source")
        return FrameBlob(self, beside, next(iter(counts.values())))

    def pieces(self, beside: Beside) -> tuple[list[PackedDataset], list[_File | bytes]]:
        """Return the datasets of the video, and the bytes of each in turn."""
        datasets: list[PackedDataset] = []
        parts: list[_File | bytes] = []
        for name, (file, lengths) in self._streams.items():
            try:
                file.flush()
            except OSError as error:
                raise output_error(self._folder, error) from error
            bounds = np.concatenate([[0], np.cumsum(lengths, dtype=np.int64)]).astype(np.int64)
            datasets += [
                PackedDataset(name, "|u1", (int(bounds[-1]),)),
                PackedDataset(f"{name}_offsets" if name != "frames" else "offsets", "<i8", bounds.shape),
            ]
            parts += [file, bounds.tobytes()]
        lists = {
            key: array
            for name, (entries, bounds) in beside.lists.items()
            for key, array in ((name, entries), (name + BOUNDS_ENDING, bounds))
        }
        for name, column in (*beside.columns.items(), *lists.items(), *beside.whole.items()):
            whole = np.ascontiguousarray(column)
            whole = whole.astype(whole.dtype.newbyteorder("<"), copy=False)
            datasets.append(PackedDataset(name, whole.dtype.str, whole.shape))
            parts.append(whole.tobytes())
        return datasets, parts


class FrameBlob:
    """The bytes of one video as they lie in a shard.

    Attributes
    ----------
    frames
        How many frames it has.
    datasets
        In the order of their bytes.
    size_bytes, crc32
        Of all bytes.
    """

    def __init__(self, sink: FrameSink, beside: Beside, frames: int) -> None:
        self._sink = sink
        self.frames = frames
        self.datasets, self._parts = sink.pieces(beside)
        self.size_bytes = self.crc32 = 0
        for piece in self._pieces():
            self.size_bytes += len(piece)
            self.crc32 = zlib.crc32(piece, self.crc32)

    def write(self, descriptor: int, offset: int) -> None:
        """Write all bytes to a place of a file; raises OSError when there is no room."""
        for piece in self._pieces():
            done = 0
            while done < len(piece):
                done += os.pwrite(descriptor, piece[done:], offset + done)
            offset += len(piece)

    def close(self) -> None:
        """Forget the bytes."""
        self._sink.__exit__()

    def _pieces(self) -> Any:
        for part in self._parts:
            if isinstance(part, bytes):
                yield memoryview(part)
                continue
            part.seek(0)
            while piece := part.read(_PIECE_BYTES):
                yield memoryview(piece)
