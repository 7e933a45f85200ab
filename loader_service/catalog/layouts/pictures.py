"""Looks at frames where they have been located: which format a video has, and how large its pictures are."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

from loader_service.catalog.codecs import (
    DEPTH,
    END_MARKERS,
    JPEG,
    LOOK_BYTES,
    SAMPLE_BITS,
    START_OF_SCAN,
    Codec,
    PictureHeader,
    codec_of,
    fault_of_size,
    goes_on,
    read_header,
)
from loader_service.catalog.columns import RAW
from loader_service.catalog.hdf5.plain import HDF5_ERRORS
from loader_service.catalog.layouts.extents import Located, read_frame
from loader_service.catalog.layouts.layout import first_middle_last, spread
from loader_service.errors import CatalogError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from loader_service.catalog.hdf5.file import HDF5File
    from loader_service.catalog.layouts.layout import FoundVideo

#: Bytes of a first frame that are read: the frame header of most JPEGs ends with the 177th; a longer one is followed.
_HEADER_BYTES = 192

#: Videos of a file whose middle and last frames are looked at, besides the first: those are 64 bytes each where frames
#: lie in the file as they are, and a chunk each where HDF5 has to decompress them. With what `Candidates.images` reads
#: that is below 64 KB for a file of 128 videos; each more takes `_HEADER_BYTES`.
_MOST_VIDEOS = {RAW: 48}
_MOST_THROUGH_HDF5 = 8

#: Frames of a file's only sequence that are looked at, if it is a longer one: it may be a collection of pictures.
_FRAMES_OF_ONE, _LONG = 9, 32


#: Bytes in which the first picture of a file, and the beginning of a second one, are looked for.
_PICTURE_BYTES, _MOST_PICTURE_BYTES = 2**15, 2**20


class OddFrames(NamedTuple):
    """What looks have found that is served as it is: a frame is a bad sample when it is asked for.

    Attributes
    ----------
    without_end
        Frames that do not end as their format does, in words for a line.
    no_pictures
        Paths of the videos of which each frame that was looked at is no picture.
    too_large
        JPEGs that declare a size that is not decoded, in words for a line.
    """

    without_end: list[str]
    no_pictures: list[str]
    too_large: list[str]


class Looks(NamedTuple):
    """What a look at a file's videos has found.

    Attributes
    ----------
    codecs
        Of each video.
    sizes
        Height and width of its first readable picture; (0, 0) if none is, or they are known to differ.
    are_mixed
        Whether some video has pictures of several sizes among those that were looked at.
    """

    codecs: list[Codec]
    sizes: list[tuple[int, int]]
    are_mixed: bool


def look_at(hdf5: HDF5File, videos: Sequence[FoundVideo], located: Sequence[Located], odd: OddFrames) -> Looks:
    """Return each video's format, and how large its pictures are.

    What is odd is added to `odd`. The first frame of each video is read, and the last and one in the middle of some.

    Raises
    ------
    CatalogError
        When frames of one video have different formats, or one that workers do not decode; when a PNG, or each JPEG,
        declares a size that is not decoded; when a JPEG is lossless or of more than 8 bits; when no header says a size.
    """
    codecs, sizes, are_mixed, has_sizes = [], [], False, False
    for number, (video, places) in enumerate(zip(videos, located, strict=True)):
        every = -(-len(videos) // _MOST_VIDEOS.get(places.way, _MOST_THROUGH_HDF5))
        all_frames = range(len(places.offsets))
        is_long = len(videos) == 1 and len(all_frames) >= _LONG
        frames = spread(all_frames, _FRAMES_OF_ONE) if is_long else first_middle_last(all_frames)
        codec, found = _look_at_one(hdf5, video, places, odd, frames if number % every == 0 else None)
        if number == 0 and codec is JPEG and all_frames:
            _check_one_picture(hdf5, video, places, *(found or [(0, 0)])[0])
        codecs.append(codec)
        sizes.append((0, 0) if video.sizes_differ or not found else found[0])
        are_mixed |= len(set(found)) > 1
        has_sizes |= bool(found)
    if not has_sizes and any(len(places.offsets) for places in located):
        if odd.too_large:
            raise CatalogError(f"{odd.too_large[0]}, or leave the file out")
        raise CatalogError(
            f"{videos[0].dataset_path!r}: expected pictures whose headers say how large they are, found none among the "
            "frames that were looked at; write them again, or leave the file out"
        )
    return Looks(codecs, sizes, are_mixed)


def _check_one_picture(hdf5: HDF5File, video: FoundVideo, located: Located, height: int, width: int) -> None:
    """Refuse frames of which the first is several JPEGs: nothing says where they begin.

    Of one with more bytes than its picture has pixels and colours, more is looked at, if they are no long header.
    """
    data = _read(hdf5, video, located, 0, _PICTURE_BYTES)
    if int(located.lengths[0]) > 3 * height * width > 0 and START_OF_SCAN in data:
        data = _read(hdf5, video, located, 0, _MOST_PICTURE_BYTES)
    if goes_on(data):
        raise CatalogError(
            f"{video.dataset_path!r}, frame 0: expected one image, found several one after the other, and no list is "
            "called as those that say where each begins; write the images as vlen uint8, an element for each, or those "
            "of a video in a dataset of its own with one called 'offsets' beside it, (images,), of the first byte of "
            "each"
        )


def _look_at_one(
    hdf5: HDF5File, video: FoundVideo, located: Located, odd: OddFrames, frames: Sequence[int] | None
) -> tuple[Codec, list[tuple[int, int]]]:
    """Return a video's format, and the sizes of some pictures; `frames`: those looked at; None: the first readable."""
    found: tuple[int, Codec] | None = None
    sizes: list[tuple[int, int]] = []
    readable = False
    for frame in first_middle_last(range(len(located.offsets))) if frames is None else frames:
        if found and sizes and frames is None:
            break
        try:
            data = _read(hdf5, video, located, frame, _HEADER_BYTES)
        except HDF5_ERRORS as error:
            # A damaged chunk is a bad frame when it is asked for; if nothing can be read, the file is bad.
            if getattr(error, "errno", None) or (frame == len(located.offsets) - 1 and not readable):
                raise
            continue
        readable = True
        codec = codec_of(data)
        if not codec.named:
            continue  # a damaged frame is a bad sample when it is asked for
        where = f"{video.dataset_path or '/'!r}, frame {located.first + frame}"
        if not codec.served:
            beside = f"; frame {found[0]} is {found[1].name}" if found else ""
            raise CatalogError(f"{where}: expected JPEG or PNG images, found {codec.name}{beside}; {codec.remedy}")
        if found and codec is not found[1]:
            raise CatalogError(
                f"{where}: expected {found[1].name}, as in frame {found[0]}, found {codec.name}; write them again "
                "in one format, or leave the file out"
            )
        found = found or (located.first + frame, codec)
        if frames is not None and _is_cut(hdf5, located, frame, codec, data):
            odd.without_end.append(where)
        header = read_header(_following(hdf5, located, frame, data))
        if header.unusual:
            raise _unusual(where, header)
        size = header.size or (0, 0)
        if size not in sizes and (fault := fault_of_size(codec, *size)):
            if codec is not JPEG:
                raise CatalogError(f"{where}: {fault}, or leave the file out")
            odd.too_large.append(f"{where}: {fault}")
        else:
            sizes += [size] * (size != (0, 0))
    if readable and not found:
        odd.no_pictures.append(video.dataset_path)
    codec = found[1] if found else video.codec
    if (codec is DEPTH) != (video.codec is DEPTH):
        raise CatalogError(
            f"{video.dataset_path!r}: expected {video.codec.name}, as in datasets of such names, found {codec.name}; "
            "name one of them with --frames PATTERN, or declare both with --schema FILE"
        )
    return codec, sizes


def _read(hdf5: HDF5File, video: FoundVideo, located: Located, frame: int, size: int) -> bytes:
    """Return how a frame begins; all of it where HDF5 has to read it."""
    offset, length = int(located.offsets[frame]), int(located.lengths[frame])
    if located.way == RAW:
        return hdf5.read_at(offset, min(length, size))
    return read_frame(hdf5, located.way, video.dataset_path, offset, length)


def _is_cut(hdf5: HDF5File, located: Located, frame: int, codec: Codec, data: bytes) -> bool:
    """Tell whether a JPEG or PNG lacks its end; zeros, or a few bytes of something else, may follow that."""
    end = END_MARKERS.get(codec.name)
    if located.way == RAW:
        offset, length = int(located.offsets[frame]), int(located.lengths[frame])
        tail = min(length, LOOK_BYTES)
        data = hdf5.read_at(offset + length - tail, tail)
    data = data[-LOOK_BYTES:]
    return end is not None and end not in data and bool(data.strip(b"\0"))


def _following(hdf5: HDF5File, located: Located, frame: int, data: bytes) -> Callable[[int, int], bytes]:
    """Return what gives pieces of a frame, of which the beginning was read: a long header is followed, not read."""
    offset, length = int(located.offsets[frame]), int(located.lengths[frame])
    known = len(data) if located.way == RAW else math.inf

    def read(position: int, size: int) -> bytes:
        if position + size <= known:
            return data[position : position + size]
        return hdf5.read_at(offset + position, max(0, min(size, length - position)))

    return read


def _unusual(where: str, header: PictureHeader) -> CatalogError:
    return CatalogError(
        f"{where}: expected a JPEG of {SAMPLE_BITS} bits, baseline or progressive, found one {header.unusual}; "
        "write it as such or as PNG, or decode it in a Python source of your own (--source package.module:Name)"
    )
