"""JPEGs made for tests of the codec: pictures, odd encodings and broken ones; knows nothing of the tested code."""

from __future__ import annotations

import io
import struct
from fractions import Fraction
from typing import Any

import av
import cv2
import numpy as np
import simplejpeg
from numpy.typing import NDArray
from PIL import Image as PillowImage

START_OF_FRAME = b"\xff\xc0"
END_OF_IMAGE = b"\xff\xd9"


def picture(height: int, width: int, seed: int = 0) -> NDArray[np.uint8]:
    """Return smooth colours, ``(height, width, 3) uint8``: survives JPEG nearly unchanged."""
    rng = np.random.default_rng(seed)
    coarse = rng.integers(0, 256, (4, 5, 3), dtype=np.uint8)
    return np.asarray(cv2.resize(coarse, (width, height), interpolation=cv2.INTER_LINEAR), np.uint8)


def jpeg(height: int, width: int, seed: int = 0, subsampling: str = "420") -> bytes:
    return bytes(simplejpeg.encode_jpeg(picture(height, width, seed), quality=95, colorsubsampling=subsampling))


def grey_jpeg(height: int, width: int, seed: int = 0) -> bytes:
    grey = np.ascontiguousarray(picture(height, width, seed)[:, :, :1])
    return bytes(simplejpeg.encode_jpeg(grey, quality=95, colorspace="GRAY", colorsubsampling="Gray"))


def cmyk_jpeg(inks: NDArray[np.uint8]) -> bytes:
    return bytes(simplejpeg.encode_jpeg(inks, quality=100, colorspace="CMYK"))


def pillow_jpeg(height: int, width: int, **options: Any) -> bytes:
    """Return what Pillow writes; ``keep_rgb=True`` stores colours as they are, and says so in Adobe's segment."""
    written = io.BytesIO()
    PillowImage.fromarray(picture(height, width)).save(written, "JPEG", quality=80, **options)
    return written.getvalue()


def film_jpeg(height: int, width: int, pixels: str) -> bytes:
    """Return a frame of Motion JPEG, as FFmpeg writes it."""
    codec = av.VideoCodecContext.create("mjpeg", "w")
    codec.height, codec.width, codec.pix_fmt, codec.time_base = height, width, pixels, Fraction(1, 25)
    frame = av.VideoFrame.from_ndarray(picture(height, width), "rgb24").reformat(format=pixels)
    return bytes([*codec.encode(frame), *codec.encode(None)][0])


def progressive_jpeg(height: int, width: int, seed: int = 0) -> bytes:
    done, encoded = cv2.imencode(".jpg", picture(height, width, seed)[:, :, ::-1], [cv2.IMWRITE_JPEG_PROGRESSIVE, 1])
    assert done
    return encoded.tobytes()


def lossless_jpeg(height: int, width: int) -> bytes:
    """Return a picture that is grey all over: each row of differences is zeros, which take a bit each."""
    codes = struct.pack(">BBHB16sB", 0xFF, 0xC4, 20, 0, bytes([1]) + bytes(15), 0)
    components = b"".join(bytes([name, 0x11, 0]) for name in b"RGB")
    frame = struct.pack(">BBHBHHB", 0xFF, 0xC3, 17, 8, height, width, 3) + components
    scan = struct.pack(">BBHB", 0xFF, 0xDA, 12, 3) + b"".join(bytes([name, 0]) for name in b"RGB") + bytes([1, 0, 0])
    return b"\xff\xd8" + codes + frame + scan + bytes(-(-height * width * 3 // 8)) + END_OF_IMAGE


def with_size(data: bytes, height: int, width: int) -> bytes:
    """Return the JPEG with another size in its header, as a bomb or a damaged file has it."""
    at = data.index(START_OF_FRAME) + 5
    return data[:at] + struct.pack(">HH", height, width) + data[at + 4 :]


def with_segment(data: bytes, marker: int, body: bytes) -> bytes:
    """Return the JPEG with one more segment right after its first marker."""
    return data[:2] + struct.pack(">BBH", 0xFF, marker, len(body) + 2) + body + data[2:]


def with_empty_scans(data: bytes, count: int) -> bytes:
    """Return a baseline JPEG whose only scan is replaced by many empty ones of its first component."""
    scan = struct.pack(">HHBBBBBB", 0xFFDA, 8, 1, 1, 0x00, 0, 63, 0)
    return data[: data.index(b"\xff\xda")] + scan * count + END_OF_IMAGE


def exif(orientation: int) -> bytes:
    """Return the body of an EXIF segment that holds one entry, the orientation."""
    entry = struct.pack(">HHIHH", 0x0112, 3, 1, orientation, 0)
    return b"Exif\0\0" + b"MM\0*" + struct.pack(">IH", 8, 1) + entry + struct.pack(">I", 0)
