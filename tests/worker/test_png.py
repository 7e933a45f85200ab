"""PNGs become the pixels that Pillow finds in them, with all options of an image; what is damaged is an error."""

from __future__ import annotations

import io
import struct
import zlib

import cv2
import numpy as np
import pytest
from PIL import Image as Picture

from loader_service.catalog.codecs import PNG
from loader_service.errors import DecodeError
from loader_service.plan.image_draws import ImageDraws
from loader_service.protocol.spec import Image
from loader_service.worker.decode import DecodeLimits
from loader_service.worker.image import ImageWriter
from loader_service.worker.png import decode_depth, decode_png
from tests.support.videos import frame_image

LIMITS = DecodeLimits()
STILL = ImageDraws()
RGB = frame_image(0, 40, 60)


def png(picture: Picture.Image, **options: object) -> bytes:
    stream = io.BytesIO()
    picture.save(stream, "PNG", **options)
    return stream.getvalue()


def written(frame: bytes, shape: tuple[int, int, int], image: Image, draws: ImageDraws = STILL) -> np.ndarray:
    out = np.full(shape, 0xA5, np.uint8)
    ImageWriter(image, shape).write(frame, out, draws, PNG)
    return out


def with_alpha(mode: str) -> tuple[bytes, np.ndarray]:
    plain = Picture.fromarray(RGB).convert("RGB" if mode == "RGBA" else "L")
    picture = plain.copy()
    picture.putalpha(Picture.fromarray(RGB[:, :, 0]))
    return png(picture), np.asarray(plain.convert("RGB"))


@pytest.mark.parametrize("mode", ["RGB", "L", "P", "1"])
def test_a_png_is_what_pillow_makes_of_it(mode):
    picture = Picture.fromarray(RGB).convert(mode)
    out = written(png(picture), (40, 60, 3), Image())
    np.testing.assert_array_equal(out, np.asarray(picture.convert("RGB")))


@pytest.mark.parametrize("mode", ["RGB", "L"])
@pytest.mark.parametrize("beside", [True, False])
def test_an_animated_png_is_the_picture_of_decoders_without_animations(mode, beside):
    first = Picture.fromarray(RGB).convert(mode)
    others = [Picture.fromarray(RGB[::-1, :, ::-1]).convert(mode), first.rotate(180)]
    frame = png(first, save_all=True, append_images=others, default_image=beside)
    assert b"acTL" in frame
    np.testing.assert_array_equal(written(frame, (40, 60, 3), Image()), np.asarray(first.convert("RGB")))


@pytest.mark.parametrize("mode", ["RGBA", "LA"])
def test_an_alpha_channel_is_dropped(mode):
    frame, expected = with_alpha(mode)
    np.testing.assert_array_equal(written(frame, (40, 60, 3), Image()), expected)


def test_a_palette_of_two_bits_is_spread():
    picture = Picture.fromarray(RGB).convert("P", palette=Picture.Palette.ADAPTIVE, colors=4)
    out = written(png(picture, bits=2), (40, 60, 3), Image())
    np.testing.assert_array_equal(out, np.asarray(picture.convert("RGB")))


def test_colours_become_the_luma_of_stored_pixels():
    out = written(png(Picture.fromarray(RGB)), (40, 60, 1), Image(channels=1))
    np.testing.assert_array_equal(out[:, :, 0], cv2.cvtColor(RGB, cv2.COLOR_RGB2GRAY))


@pytest.mark.parametrize(
    ("image", "shape", "draws"),
    [
        (Image(size=(20, 30)), (20, 30, 3), STILL),
        (Image(size=(30, 30), crop="center"), (30, 30, 3), STILL),
        (Image(flip=True), (40, 60, 3), ImageDraws(flip=True)),
        (Image(colors="bgr"), (40, 60, 3), STILL),
        (Image(size=(80, 90), crop="none"), (80, 90, 3), STILL),
        (Image(size=(30, 30), channels=1), (30, 30, 1), STILL),
    ],
)
def test_options_do_to_a_png_what_they_do_to_its_pixels(image, shape, draws):
    expected = np.zeros(shape, np.uint8)
    ImageWriter(image, shape).write_pixels(RGB, expected, draws)
    np.testing.assert_array_equal(written(png(Picture.fromarray(RGB)), shape, image, draws), expected)


@pytest.mark.parametrize("mode", ["RGB", "RGBA", "P"])
def test_an_opencv_that_knows_no_rgb_gives_the_same_pixels(mode, monkeypatch):
    frame = png(Picture.fromarray(RGB).convert(mode))
    expected = decode_png(frame, LIMITS)
    monkeypatch.delattr(cv2, "IMREAD_COLOR_RGB", raising=False)
    np.testing.assert_array_equal(decode_png(frame, LIMITS), expected)
    np.testing.assert_array_equal(expected, np.asarray(Picture.fromarray(RGB).convert(mode).convert("RGB")))


@pytest.mark.parametrize("cut", [8, 20, 33, 60, 1000, -1, -12, -30])
def test_a_png_that_is_cut_off_is_an_error(cut):
    with pytest.raises(DecodeError, match=r"damaged|expected a PNG image"):
        decode_png(png(Picture.fromarray(RGB))[:cut], LIMITS)


@pytest.mark.parametrize("place", [60, 500, -20, -14])
def test_a_png_whose_data_was_changed_is_an_error(place):
    data = bytearray(png(Picture.fromarray(RGB)))
    data[place] ^= 0x40
    with pytest.raises(DecodeError, match="damaged"):
        decode_png(bytes(data), LIMITS)


def chunk(kind: bytes, content: bytes) -> bytes:
    return struct.pack(">I", len(content)) + kind + content + struct.pack(">I", zlib.crc32(kind + content))


@pytest.mark.parametrize("size", [(16_385, 1), (1, 16_385), (16_384, 16_384), (2**31 - 1, 2**31 - 1)])
def test_a_bomb_is_refused_from_its_header(size):
    header = chunk(b"IHDR", struct.pack(">IIBBBBB", size[1], size[0], 8, 2, 0, 0, 0))
    bomb = b"\x89PNG\r\n\x1a\n" + header + chunk(b"IDAT", zlib.compress(bytes(1000))) + chunk(b"IEND", b"")
    with pytest.raises(DecodeError, match=rf"{size[0]} x {size[1]} pixels .*16384"):
        decode_png(bomb, LIMITS)


def depth(seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).integers(0, 2**16, (20, 30)).astype(np.uint16)


def depth_png(values: np.ndarray) -> bytes:
    return bytes(cv2.imencode(".png", values)[1].tobytes())


def test_a_depth_map_keeps_its_numbers():
    out = np.zeros((20, 30), np.uint16)
    decode_depth(depth_png(depth()), out, LIMITS)
    np.testing.assert_array_equal(out, depth())


def test_a_frame_of_another_format_or_size_is_named():
    colours = png(Picture.fromarray(RGB))
    with pytest.raises(DecodeError, match=r"is a PNG image, expected a 16-bit grey PNG image"):
        decode_depth(colours, np.zeros((40, 60), np.uint16), LIMITS)
    with pytest.raises(DecodeError, match=r"is a 16-bit grey PNG image, expected a PNG image"):
        decode_png(depth_png(depth()), LIMITS)
    with pytest.raises(DecodeError, match=r"has \(20, 30\) pixels .*expected \(20, 31\)"):
        decode_depth(depth_png(depth()), np.zeros((20, 31), np.uint16), LIMITS)
