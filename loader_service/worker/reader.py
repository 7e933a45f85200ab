"""Reads encoded frames, and arrays, from the files of a catalog. Knows no picture, no batch and no client."""

from __future__ import annotations

import os
from collections import OrderedDict
from typing import TYPE_CHECKING, Any

import numpy as np

from loader_service.catalog.columns import Access, Catalog, FileStat
from loader_service.errors import CatalogChanged, CatalogError, ConfigError, DecodeError

if TYPE_CHECKING:
    from collections.abc import Sequence

    import h5py
    from numpy.typing import NDArray

    from loader_service.catalog.arrays import ArrayReader
    from loader_service.catalog.plain import PlainReader


class Reader:
    """Reads frames; one per worker, used by one thread.

    Most frames are read by `os.pread` where the catalog says they lie. h5py takes longer to import than the rest of a
    worker, so it is only loaded for the first video that needs it.

    Parameters
    ----------
    catalog
        Stays the caller's, and open for as long as the reader is used.
    max_open_files
        How many files are kept open at most; the one used longest ago is closed first.

    Raises
    ------
    ConfigError
        When `max_open_files` is less than 1.
    """

    def __init__(self, catalog: Catalog, max_open_files: int = 64) -> None:
        if max_open_files < 1:
            raise ConfigError(f"max_open_files={max_open_files!r} leaves no file to read from; give 1 or more")
        self._catalog = catalog
        self._max_open_files = max_open_files
        self._open_files: OrderedDict[int, _OpenFile] = OrderedDict()

    def read(self, video: int, frames: Sequence[int], field: str = "frames") -> list[bytes]:
        """Return the encoded bytes of some frames of one video, in the order asked for.

        Parameters
        ----------
        video
            Its number in the catalog.
        frames
            Frame numbers; one that is given several times is read once.
        field
            Of JPEGs: `Catalog.is_encoded` says whether it is.

        Raises
        ------
        CatalogChanged
            When the file is no longer the one that was scanned.
        CatalogError
            When it cannot be opened or read.
        DecodeError
            When a frame is empty, or HDF5 cannot give its bytes.
        IndexError
            When the catalog has no such video or frame.
        """
        file = self._open_file_of(video)
        offsets, lengths = self._catalog.extents(video, field)
        direct = self._catalog.access(video, field) is Access.RAW
        data: dict[int, bytes] = {}
        for frame in dict.fromkeys(frames):
            if not 0 <= frame < len(offsets):
                raise IndexError(f"reading {self._describe(video, frame)}: the video has {len(offsets)} frames")
            offset, length = int(offsets[frame]), int(lengths[frame])
            if not length:
                raise DecodeError(
                    f"reading {self._describe(video, frame)}: expected a JPEG, got 0 bytes; write it again"
                )
            if direct:
                data[frame] = self._read_direct(file, (video, frame), offset, length)
            else:
                data[frame] = self._read_through_hdf5(file, (video, frame, field), offset, length)
        return [data[frame] for frame in frames]

    def read_array(self, video: int, field: str, first: int, out: NDArray[Any], stride: int = 1) -> None:
        """Read numbers, or raw pixels, of some frames of one video into memory.

        Parameters
        ----------
        video
            Its number in the catalog.
        field
            An array field, or an image field that is not encoded.
        first, stride
            The frames read are ``first``, ``first + stride``, … up to the length of `out`.
        out
            ``(frames, *shape)`` of the field's dtype, C-order, writable; usually a view into a slot, and not kept. Its
            content is undefined after an error.

        Raises
        ------
        CatalogChanged
            When the file is no longer the one that was scanned.
        CatalogError
            When it cannot be opened or read.
        DecodeError
            When a frame was never written, or HDF5 cannot give it.
        IndexError
            When the catalog has no such video or frame.
        """
        file = self._open_file_of(video)
        count = int(self._catalog.frame_counts[video])
        last = first + (len(out) - 1) * stride
        if not len(out):
            return
        if first < 0 or last >= count:
            raise IndexError(f"reading frames {first} to {last} of video {video}: the video has {count} frames")
        address = self._catalog.address(video, field)
        if address < 0:
            self._read_rows(file, (video, first, field), out, stride)
        elif stride == 1:
            row_bytes = out.nbytes // len(out)
            self._read_into(file, (video, first), address + first * row_bytes, out)
        else:
            row_bytes = out.nbytes // len(out)
            for place, frame in enumerate(range(first, last + 1, stride)):
                self._read_into(file, (video, frame), address + frame * row_bytes, out[place : place + 1])

    def descriptor(self, video: int) -> int:
        """Return a descriptor of a video's file, which is still the one scanned; valid until the reader's next call.

        Raises
        ------
        CatalogChanged, CatalogError, IndexError
            As `read_array` does.
        """
        return self._open_file_of(video).descriptor

    def close(self) -> None:
        """Close all files; a later `read` opens them again."""
        while self._open_files:
            self._open_files.popitem()[1].close()

    def _open_file_of(self, video: int) -> _OpenFile:
        if not 0 <= video < self._catalog.video_count:
            raise IndexError(f"video {video!r}: the catalog has {self._catalog.video_count}")
        return self._open(int(self._catalog.video_file[video]))

    def _open(self, number: int) -> _OpenFile:
        path, expected = self._catalog.file_path(number), self._catalog.file_stat(number)
        # By path and at every read: besides a file that was cut off or written to under its readers, this also finds
        # one that another file has replaced, which a descriptor opened before would never show.
        _check_unchanged(path, expected, _stat(path))
        file = self._open_files.get(number)
        if file is None:
            while len(self._open_files) >= self._max_open_files:
                self._open_files.popitem(last=False)[1].close()
            file = self._open_files[number] = _OpenFile(path, expected)
        self._open_files.move_to_end(number)
        return file

    def _read_direct(self, file: _OpenFile, place: tuple[int, int], offset: int, length: int) -> bytes:
        try:
            data = os.pread(file.descriptor, length, offset)
        except OSError as error:
            raise CatalogError(f"reading {self._describe(*place)}: {error.strerror}; check the disk") from error
        if len(data) != length:
            raise CatalogError(
                f"reading {self._describe(*place)}: expected {length} bytes at byte {offset}, got {len(data)}; "
                "the file was cut off while it was read: restore it and start again"
            )
        return data

    def _read_into(self, file: _OpenFile, place: tuple[int, int], offset: int, out: NDArray[Any]) -> None:
        """Fill `out` from one place of the file, without a copy on the way."""
        memory: Any = out.reshape(-1).view(np.uint8)
        done = 0
        while done < len(memory):
            try:
                got = os.preadv(file.descriptor, [memory[done:]], offset + done)
            except OSError as error:
                raise CatalogError(f"reading {self._describe(*place)}: {error.strerror}; check the disk") from error
            if not got:
                raise CatalogError(
                    f"reading {self._describe(*place)}: expected {len(memory)} bytes at byte {offset}, got {done}; "
                    "the file was cut off while it was read: restore it and start again"
                )
            done += got

    def _read_rows(self, file: _OpenFile, place: tuple[int, int, str], out: NDArray[Any], stride: int) -> None:
        video, first, field = place
        path, address = self._catalog.dataset_path(video, field), self._catalog.address(video, field)
        rows = range(first, first + len(out) * stride, stride)
        try:
            unwritten = file.arrays().read(path, -2 - address, rows, out)
        except Exception as error:  # h5py has many kinds for damaged data; all are this clip's
            if len(rows) > 1:  # one of them is the bad one: find its number
                for number, frame in enumerate(rows):
                    self._read_rows(file, (video, frame, field), out[number : number + 1], stride)
            raise DecodeError(
                f"reading {field!r}, {self._describe(video, first)}: HDF5 cannot give its bytes: {error}"
            ) from error
        if unwritten is not None:
            raise DecodeError(
                f"reading {field!r}, {self._describe(video, unwritten)}: its part of the dataset {path!r} was never "
                "written; write it, or leave the video out"
            )

    def _read_through_hdf5(self, file: _OpenFile, place: tuple[int, int, str], offset: int, length: int) -> bytes:
        video, frame, field = place
        plain = file.plain()
        try:
            data = plain.read(
                self._catalog.access(video, field), self._catalog.dataset_path(video, field), offset, length
            )
        except Exception as error:  # h5py has many kinds for damaged data; all are this frame's
            raise DecodeError(f"reading {self._describe(video, frame)}: HDF5 cannot give its bytes: {error}") from error
        if len(data) != length:
            raise DecodeError(f"reading {self._describe(video, frame)}: expected {length} bytes, got {len(data)}")
        return data

    def _describe(self, video: int, frame: int) -> str:
        name = self._catalog.name(video).decode("utf-8", "surrogateescape")
        path = self._catalog.file_path(int(self._catalog.video_file[video]))
        return f"frame {frame} of video {name!r} in {path!r}"


class _OpenFile:
    """One file of the catalog, open as a descriptor and, once it was needed, through h5py."""

    def __init__(self, path: str, expected: FileStat) -> None:
        self._path = path
        self._hdf5: h5py.File | None = None
        self._plain: PlainReader | None = None
        self._arrays: ArrayReader | None = None
        try:
            self.descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
        except OSError as error:
            raise CatalogError(
                f"opening {path!r}: {error.strerror}; check its mode, and the limit of open files (`ulimit -n`)"
            ) from error
        try:
            _check_unchanged(path, expected, FileStat.of(os.fstat(self.descriptor)))
        except CatalogChanged:
            self.close()
            raise

    def plain(self) -> PlainReader:
        """Return what reads encoded frames through HDF5."""
        if self._plain is None:
            # Here, not above: most workers never need h5py, and it doubles their memory and start-up time.
            from loader_service.catalog.plain import PlainReader  # noqa: PLC0415

            self._plain = PlainReader(self._through_hdf5())
        return self._plain

    def arrays(self) -> ArrayReader:
        """Return what reads arrays through HDF5."""
        if self._arrays is None:
            from loader_service.catalog.arrays import ArrayReader  # noqa: PLC0415

            self._arrays = ArrayReader(self._through_hdf5())
        return self._arrays

    def _through_hdf5(self) -> h5py.File:
        if self._hdf5 is None:
            import h5py  # noqa: PLC0415

            from loader_service.catalog.plain import CHUNK_CACHE_BYTES  # noqa: PLC0415

            try:
                self._hdf5 = h5py.File(os.fsencode(self._path), "r", rdcc_nbytes=CHUNK_CACHE_BYTES)
            except OSError as error:
                raise CatalogError(f"opening {self._path!r}: {error}") from error
        return self._hdf5

    def close(self) -> None:
        os.close(self.descriptor)
        if self._hdf5 is not None:
            self._plain = self._arrays = None
            self._hdf5.close()


def _stat(path: str) -> FileStat | None:
    try:
        return FileStat.of(os.stat(path))
    except OSError:
        return None  # reported as a change: it was there when the catalog was made


def _check_unchanged(path: str, expected: FileStat, got: FileStat | None) -> None:
    if got != expected:
        raise CatalogChanged(
            f"{path!r} is not the file that was scanned: expected {expected!r}, got {got or 'no file'!r}; "
            "restore it, or stop the service and start it again to scan the new one"
        )
