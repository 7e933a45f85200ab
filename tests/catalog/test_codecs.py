"""First bytes tell what an encoded frame is, and headers how large it is."""

from __future__ import annotations

import base64
import io

import cv2
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image

from loader_service.catalog import codecs
from tests.support.videos import frame_image, frame_jpeg


def encoded(mode: str, kind: str) -> bytes:
    stream = io.BytesIO()
    Image.fromarray(frame_image(0, 20, 30)).convert(mode).save(stream, kind)
    return stream.getvalue()


def png_of_16_bits(*channels: int) -> bytes:
    return bytes(cv2.imencode(".png", np.full((20, 30, *channels), 3000, np.uint16))[1].tobytes())


@pytest.mark.parametrize(
    ("data", "name"),
    [
        (frame_jpeg(0), "JPEG"),
        *((encoded(mode, "PNG"), "PNG") for mode in ("RGB", "RGBA", "L", "LA", "P", "1")),
        (png_of_16_bits(), "16-bit grey PNG"),
        (png_of_16_bits(3), "16-bit colour PNG"),
        (png_of_16_bits(4), "16-bit colour PNG"),
        *((encoded("RGB", kind), kind) for kind in ("GIF", "BMP", "TIFF")),
        (encoded("RGB", "WEBP"), "WebP"),
        (b"\0\0\0\x20ftypisom", "MP4"),
        (b"\0\0\0\x14ftypqt  ", "MOV"),
        (b"\0\0\0\x1cftypavif", "AVIF"),
        (b"\0\0\0\x2cftypavis", "AVIF"),
        (b"\0\0\0\x18ftypheix", "HEIC"),
        (b"\0\0\0\x18ftyphevc", "HEIC"),
        (b"\x1aE\xdf\xa3\x9fB\x86\x81\1B\x82\x84webm", "WebM"),
        (b"\x1aE\xdf\xa3\xa3B\x86\x81\1B\x82\x88matroska", "Matroska"),
        (b"RIFF\0\0\0\0AVI LIST", "AVI"),
        (b"RIFF\0\0\0\0WAVEfmt ", "WAV"),
        (b"ID3\4", "MP3"),
        (b"OggS", "Ogg"),
        (b"fLaC", "FLAC"),
        (b"\x1f\x8b\x08", "gzip"),
        (b"PK\3\4", "zip, or NumPy (.npz)"),
        (b"\x93NUMPY\1", "NumPy (.npy)"),
        (base64.b64encode(frame_jpeg(0)), "base64 text of a JPEG"),
        (base64.b64encode(encoded("L", "PNG")), "base64 text of a PNG"),
        (bytes(90), "zero bytes"),
        (b"", "empty"),
        (b"BM, a text", "raw bytes"),
        (b"RIFFRAFF", "raw bytes"),
        (bytes(range(1, 90)), "raw bytes"),
    ],
)
def test_the_beginning_of_a_frame_tells_its_format(data, name):
    assert codecs.codec_of(data[: codecs.LOOK_BYTES]).name == name


@given(st.binary(max_size=100))
def test_any_bytes_have_a_codec_and_what_is_not_served_has_a_remedy(data):
    codec = codecs.codec_of(data)
    assert codec.served == (codec in codecs.SERVED)
    assert codec.remedy
    assert codecs.describe_bytes(data)
    assert codecs.picture_size(data) is None or min(codecs.picture_size(data)) > 0


@pytest.mark.parametrize("data", [frame_jpeg(0, 20, 30), encoded("RGB", "PNG"), encoded("1", "PNG"), png_of_16_bits()])
def test_headers_tell_height_and_width(data):
    assert codecs.picture_size(data) == (20, 30)
