"""Tells by their first bytes what an encoded frame is, and how large its picture. Decodes no pixel, opens no file.

Names and types say where bytes lie; what they are is said by the bytes alone.
"""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING, Literal, NamedTuple

from loader_service.protocol.image_options import MAX_IMAGE_SIDE
from loader_service.record_class import record

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable

#: The two bytes that every JPEG begins with (ITU-T T.81, B.1.1.3: start of image).
START_OF_IMAGE = b"\xff\xd8"
END_OF_IMAGE = b"\xff\xd9"
START_OF_SCAN = b"\xff\xda"

#: The eight bytes that every PNG begins with, and its last chunk, without content, with its checksum (PNG 5.2, 11.2.5).
PNG_SIGNATURE = b"\x89PNG\r\n\x1a\n"
END_OF_PNG = b"IEND\xaeB`\x82"

#: Bytes of the beginning of a frame that are enough to name what it is.
LOOK_BYTES = 64

#: Height times width, in pixels, of the largest picture that is decoded: an 8K frame twice over, 200 MB of RGB.
MAX_PIXELS = 2**26

_SOURCE = "a Python source of your own (--source package.module:Name)"

#: What helps where paths of images are found.
PATHS_REMEDY = f"write what they name as vlen uint8, or read it in {_SOURCE}"

#: What helps, by what was found.
_REMEDIES = {
    "image": f"write it as JPEG or 8-bit PNG, or decode it in {_SOURCE}",
    "video": (
        "write its bytes as a file and give that to `loader-service pack`, write its frames as JPEG, an element for "
        f"each frame, or decode it in {_SOURCE}"
    ),
    "sound": f"write the samples as numbers, and name other fields with --schema FILE, or decode it in {_SOURCE}",
    "text": f"write the decoded bytes, as vlen uint8, or decode it in {_SOURCE}",
    "data": f"write what it holds as datasets, or read it in {_SOURCE}",
    "raw": (
        "if it is pixels, write them with their shape, as (frames, height, width, channels) uint8, or give them one in "
        f"{_SOURCE}"
    ),
    "nothing": f"write the frames again, leave the file out, or take what is meant from {_SOURCE}",
}


@record(frozen=True)
class Codec:
    """What some bytes are.

    Attributes
    ----------
    name
        For messages, such as ``"JPEG"``.
    kind
        Of what is not served: what sort of remedy there is. ``"served"``: images, or, as `DEPTH`, arrays.
    """

    name: str
    kind: Literal["served", "image", "video", "sound", "text", "data", "raw", "nothing"] = "image"

    @property
    def served(self) -> bool:
        """Whether workers decode it."""
        return self.kind == "served"

    @property
    def named(self) -> bool:
        """Whether it is a known format, so that it cannot be a damaged frame of another."""
        return self.kind not in {"raw", "nothing"}

    @property
    def remedy(self) -> str:
        """What to do about bytes that are not served."""
        return _REMEDIES.get(self.kind, "store frames of one format")


def fault_of_size(codec: Codec, height: int, width: int, longest: int = MAX_IMAGE_SIDE) -> str:
    """Say what a picture of a size that is not decoded was expected to be, and is; empty for any other."""
    if max(height, width) <= longest and height * width <= MAX_PIXELS:
        return ""
    return (
        f"expected sides of at most {longest} and at most {MAX_PIXELS} pixels in all, found a {codec.name} that "
        f"declares {height} x {width} (height x width); write it again in a smaller size"
    )


JPEG = Codec("JPEG", "served")
PNG = Codec("PNG", "served")
#: Grey, of 16 bits: numbers such as millimetres, and no picture to look at.
DEPTH = Codec("16-bit grey PNG", "served")
COLOUR_16 = Codec("16-bit colour PNG", "image")
#: Bytes of one channel or three, of which a header of ours says the shape; no file has that.
PIXELS = Codec("raw pixels", "served")
#: What such frames end with.
END_MARKERS = {JPEG.name: END_OF_IMAGE, PNG.name: END_OF_PNG, DEPTH.name: END_OF_PNG}
RAW_BYTES = Codec("raw bytes", "raw")
ZEROS = Codec("zero bytes", "nothing")
EMPTY = Codec("empty", "nothing")

#: What workers decode; columns of a catalog hold the place in here.
SERVED = (JPEG, PNG, DEPTH, PIXELS)

#: Before raw pixels: these eight bytes, and height, width and channels; then the pixels, in C-order.
_PIXELS_MAGIC = b"\x89PIXELS\n"
_SHAPE = struct.Struct(">III")
PIXELS_HEADER_BYTES = len(_PIXELS_MAGIC) + _SHAPE.size

#: Bytes at the beginning, and what begins with them.
_MAGIC = (
    (_PIXELS_MAGIC, PIXELS),
    (START_OF_IMAGE, JPEG),
    (b"GIF8", Codec("GIF")),
    (b"II*\0", Codec("TIFF")),
    (b"MM\0*", Codec("TIFF")),
    (b"\0\0\0\x0cjP  ", Codec("JPEG 2000")),
    (b"\xff\x4f\xff\x51", Codec("JPEG 2000")),
    (b"\0\0\0\x0cJXL ", Codec("JPEG XL")),
    (b"v/1\x01", Codec("OpenEXR")),
    (b"FLV\x01", Codec("FLV", "video")),
    (b"\0\0\x01\xba", Codec("MPEG", "video")),
    (b"\0\0\x01\xb3", Codec("MPEG", "video")),
    (b"\0\0\0\x01\x67", Codec("H.264", "video")),
    (b"ID3", Codec("MP3", "sound")),
    (b"OggS", Codec("Ogg", "sound")),
    (b"fLaC", Codec("FLAC", "sound")),
    (b"/9j/", Codec("base64 text of a JPEG", "text")),
    (b"iVBORw0KGgo", Codec("base64 text of a PNG", "text")),
    (b"data:image/", Codec("base64 text of an image", "text")),
    (b"\x93NUMPY", Codec("NumPy (.npy)", "data")),
    (b"PK\x03\x04", Codec("zip, or NumPy (.npz)", "data")),
    (b"\x1f\x8b\x08", Codec("gzip", "data")),
    (b"\x89HDF\r\n\x1a\n", Codec("HDF5", "data")),
)
_RIFF = {b"WEBP": Codec("WebP"), b"AVI ": Codec("AVI", "video"), b"WAVE": Codec("WAV", "sound")}
_FILE_TYPES = {
    b"qt  ": Codec("MOV", "video"),
    **dict.fromkeys((b"avif", b"avis"), Codec("AVIF")),
    **dict.fromkeys((b"heic", b"heix", b"heim", b"heis", b"hevc", b"hevx", b"mif1", b"msf1"), Codec("HEIC")),
    b"M4A ": Codec("M4A", "sound"),
}
_EBML = b"\x1aE\xdf\xa3"
_BITMAP_HEADERS = frozenset({12, 40, 52, 56, 64, 108, 124})


def formats_differ(codecs: Iterable[Collection[Codec]]) -> bool:
    """Tell whether each of some collections has frames of one format, and they have not all the same."""
    formats = [set(each) for each in codecs]
    return all(len(each) == 1 for each in formats) and len(set[Codec]().union(*formats)) > 1


def codec_of(data: bytes) -> Codec:
    """Return what begins with these bytes, of which `LOOK_BYTES` are enough; fewer only if there are no more."""
    for magic, codec in _MAGIC:
        if data.startswith(magic):
            return codec
    return _by_structure(data) or (RAW_BYTES if data.strip(b"\0") else ZEROS if data else EMPTY)


def _by_structure(data: bytes) -> Codec | None:
    """Return the format of which the first bytes alone do not tell."""
    if data.startswith(PNG_SIGNATURE):
        return _png(data)
    if data.startswith(b"RIFF"):
        return _RIFF.get(data[8:12])
    if data[4:8] == b"ftyp":
        return _FILE_TYPES.get(data[8:12], Codec("MP4", "video"))
    if data.startswith(_EBML):
        return Codec("WebM" if b"webm" in data[:LOOK_BYTES] else "Matroska", "video")
    if data.startswith(b"BM") and data[6:10] == bytes(4) and int.from_bytes(data[14:18], "little") in _BITMAP_HEADERS:
        return Codec("BMP")
    return None


def _png(data: bytes) -> Codec:
    """Return which PNG it is, from its header: width, height, bits of a sample, colour type (PNG, 11.2.1)."""
    if data[24:25] != b"\x10":
        return PNG
    return COLOUR_16 if data[25:26] != b"\0" else DEPTH


class PictureHeader(NamedTuple):
    """What a picture declares of itself.

    Attributes
    ----------
    size
        ``(height, width)`` in pixels; None where it declares none.
    unusual
        Of a JPEG: what keeps the decoder from decoding it, bits of a sample or its process; else empty.
    """

    size: tuple[int, int] | None
    unusual: str = ""


def picture_size(data: bytes) -> tuple[int, int] | None:
    """Return ``(height, width)`` in pixels as a JPEG or PNG declares them, or None if there is no such header."""
    return header_of(data).size


def header_of(data: bytes) -> PictureHeader:
    """Return what a JPEG or PNG declares of itself."""
    return read_header(lambda position, size: data[position : position + size])


def read_header(read: Callable[[int, int], bytes]) -> PictureHeader:
    """Return what `header_of` does of bytes that are read piece by piece: a few of each segment of a JPEG.

    Parameters
    ----------
    read
        Takes a position and a number of bytes, and gives them; fewer where there are no more.
    """
    data = read(0, 24)
    if data.startswith(PNG_SIGNATURE):
        width, height = int.from_bytes(data[16:20], "big"), int.from_bytes(data[20:24], "big")
        return PictureHeader((height, width) if data[12:16] == b"IHDR" and height and width else None)
    if data.startswith(_PIXELS_MAGIC):
        shape = pixels_shape(data)
        return PictureHeader(None if shape is None or 0 in shape else shape[:2])
    return _jpeg_header(read) if data.startswith(START_OF_IMAGE) else PictureHeader(None)


def pixels_header(height: int, width: int, channels: int) -> bytes:
    """Return what stands before raw pixels, `PIXELS_HEADER_BYTES` bytes."""
    return _PIXELS_MAGIC + _SHAPE.pack(height, width, channels)


def pixels_shape(data: bytes) -> tuple[int, int, int] | None:
    """Return ``(height, width, channels)`` that a header says; None where there is none."""
    if not data.startswith(_PIXELS_MAGIC) or len(data) < PIXELS_HEADER_BYTES:
        return None
    height, width, channels = _SHAPE.unpack_from(data, len(_PIXELS_MAGIC))
    return height, width, channels


def goes_on(data: bytes) -> bool:
    """Tell whether a second picture follows where a JPEG ends, as where frames lie one after the other.

    The first picture must be whole in `data`; a file of several pictures by itself (MPO) is one.

    References
    ----------
    ITU-T T.81, B.1.1.2: no marker occurs within entropy-coded data. CIPA DC-007: Multi-Picture Format.
    """
    scan = data.find(START_OF_SCAN) if data.startswith(START_OF_IMAGE) else -1
    end = data.find(END_OF_IMAGE, scan) if scan >= 0 else -1
    return end >= 0 and data.startswith(START_OF_IMAGE + b"\xff", end + 2) and b"MPF\0" not in data[:scan]


def describe_bytes(data: bytes) -> str:
    """Return in words what some bytes are, for messages that say that they are not what was expected."""
    codec = codec_of(data)
    if codec is RAW_BYTES:
        return f"{len(data)!r} bytes that begin with {data[:8]!r}"
    if codec is ZEROS:
        return f"{len(data)!r} zero bytes"
    return {"served": f"a {codec.name} image", "image": f"a {codec.name} image", "text": f"a {codec.name}"}.get(
        codec.kind, codec.name
    )


# Start-of-frame markers: C0 to CF without DHT (C4), JPG (C8) and DAC (CC).
_START_OF_FRAME = frozenset(range(0xC0, 0xD0)) - {0xC4, 0xC8, 0xCC}
#: Bits of a sample that the decoder takes.
SAMPLE_BITS = 8
#: Processes that it does not take, by marker (T.81, table B.1).
_NOT_DECODED = {
    **dict.fromkeys((0xC3, 0xCB), "lossless"),
    **dict.fromkeys((0xC5, 0xC6, 0xC7, 0xCD, 0xCE, 0xCF), "hierarchical"),
}
# Markers that stand alone: TEM, RST0 to RST7, SOI.
_NO_LENGTH = frozenset({0x01, *range(0xD0, 0xD9)})
# Before the first scan or the end of the image a frame header must have come.
_TOO_LATE = frozenset({0xD9, 0xDA})


#: Bytes of a segment that are read: marker, length, and of a frame header its precision, height and width.
_SEGMENT_BYTES = 9


def _jpeg_header(read: Callable[[int, int], bytes]) -> PictureHeader:
    """Return what a JPEG's frame header declares."""
    header = _frame_header(read)
    if header is None:
        return PictureHeader(None)
    marker, bits = header[1], header[4]
    height, width = int.from_bytes(header[5:7], "big"), int.from_bytes(header[7:9], "big")
    unusual = f"of {bits} bits" if bits != SAMPLE_BITS else _NOT_DECODED.get(marker, "")
    return PictureHeader((height, width) if height and width else None, unusual)


def _frame_header(read: Callable[[int, int], bytes]) -> bytes | None:
    """Return how a JPEG's frame header begins, `_SEGMENT_BYTES` bytes, if all of it is there.

    References
    ----------
    ITU-T T.81, B.1.1 (markers may be preceded by fill bytes FF) and B.2.2 (frame header).
    """
    position = 2
    while (head := read(position, _SEGMENT_BYTES))[3:] and head[0] == 0xFF:
        marker = head[1]
        if marker == 0xFF:
            position += 1
        elif marker in _NO_LENGTH:
            position += 2
        elif marker in _START_OF_FRAME:
            return head if len(head) == _SEGMENT_BYTES else None
        elif marker in _TOO_LATE:
            return None
        else:
            position += 2 + (head[2] << 8) + head[3]
    return None
