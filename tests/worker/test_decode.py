"""The codec refuses what is unsafe before it decodes, names what is wrong, and writes the plain path's bytes."""

from __future__ import annotations

from collections.abc import Callable

import cv2
import numpy as np
import pytest
import simplejpeg
from hypothesis import given
from hypothesis import strategies as st

from loader_service.catalog.unused_segments import BAD_PROFILE
from loader_service.errors import ConfigError, DecodeError
from loader_service.worker import decode
from loader_service.worker.decode import DecodeLimits, check_header, decode_into, reduced_shape
from tests.worker import jpegs

LIMITS = DecodeLimits()
GUARD = 0xA5


def plain(data: bytes, colorspace: str = "RGB") -> np.ndarray:
    return np.asarray(simplejpeg.decode_jpeg(data, colorspace, fastdct=True, fastupsample=True))


# --- what is decoded ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("subsampling", ["444", "422", "420", "440", "411", "Gray"])
@pytest.mark.parametrize(("channels", "colorspace"), [(3, "RGB"), (1, "GRAY")])
def test_pixels_equal_a_plain_decode(subsampling: str, channels: int, colorspace: str) -> None:
    data = jpegs.jpeg(33, 47, subsampling=subsampling)
    out = np.full((33, 47, channels), GUARD, np.uint8)
    decode_into(data, out)
    assert np.array_equal(out, plain(data, colorspace))


def test_pixels_are_those_of_the_picture_in_rgb_order() -> None:
    out = np.empty((40, 56, 3), np.uint8)
    decode_into(jpegs.jpeg(40, 56, subsampling="444"), out)
    difference = np.abs(out.astype(int) - jpegs.picture(40, 56).astype(int))
    assert difference.mean() < 2


def test_decoding_writes_only_into_out() -> None:
    batch = np.full((3, 32, 48, 3), GUARD, np.uint8)
    decode_into(jpegs.jpeg(32, 48), batch[1])
    assert (batch[0] == GUARD).all()
    assert (batch[2] == GUARD).all()
    assert np.array_equal(batch[1], plain(jpegs.jpeg(32, 48)))


def test_one_channel_is_the_luma() -> None:
    out = np.empty((32, 48, 1), np.uint8)
    decode_into(jpegs.jpeg(32, 48, subsampling="444"), out)
    red, green, blue = np.moveaxis(jpegs.picture(32, 48).astype(float), 2, 0)
    assert np.abs(out[:, :, 0] - (0.299 * red + 0.587 * green + 0.114 * blue)).mean() < 2


def test_grey_jpeg_gives_three_equal_channels() -> None:
    out = np.empty((32, 48, 3), np.uint8)
    decode_into(jpegs.grey_jpeg(32, 48), out)
    assert np.array_equal(out[:, :, 0], out[:, :, 1])
    assert np.array_equal(out[:, :, 0], out[:, :, 2])
    assert np.array_equal(out, plain(jpegs.grey_jpeg(32, 48)))


@pytest.mark.parametrize(
    ("inks", "colour"),
    [((255, 255, 255, 255), (255, 255, 255)), ((255, 0, 0, 255), (255, 0, 0)), ((9, 9, 9, 0), (0, 0, 0))],
)
def test_cmyk_jpeg_is_converted_to_rgb(inks: tuple[int, ...], colour: tuple[int, ...]) -> None:
    data = jpegs.cmyk_jpeg(np.full((16, 16, 4), inks, np.uint8))
    out = np.empty((16, 16, 3), np.uint8)
    assert check_header(data, LIMITS) == (16, 16)
    decode_into(data, out)
    assert np.abs(out.astype(int) - colour).max() <= 2


def test_exif_orientation_is_ignored() -> None:
    data = jpegs.jpeg(32, 48)
    turned = jpegs.with_segment(data, 0xE1, jpegs.exif(orientation=6))
    out = np.empty((32, 48, 3), np.uint8)
    assert check_header(turned, LIMITS) == (32, 48)
    decode_into(turned, out)
    assert np.array_equal(out, plain(data))


def test_progressive_jpeg_is_decoded() -> None:
    data = jpegs.progressive_jpeg(64, 80)
    out = np.empty((64, 80, 3), np.uint8)
    assert check_header(data, LIMITS) == (64, 80)
    decode_into(data, out)
    assert np.array_equal(out, plain(data))


@pytest.mark.parametrize("encode", [jpegs.jpeg, jpegs.progressive_jpeg])
@pytest.mark.parametrize("numbers", [(1, 2), (1, 1), (0, 1)])
def test_a_damaged_colour_profile_is_no_damage_of_the_picture(
    encode: Callable[[int, int], bytes], numbers: tuple[int, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = encode(64, 80)
    data = jpegs.with_segment(whole, 0xE2, b"ICC_PROFILE\0" + bytes(numbers) + bytes(40))
    if numbers == (1, 1):
        data = jpegs.with_segment(data, 0xE2, b"ICC_PROFILE\0" + bytes(numbers) + bytes(40))
    with pytest.raises(ValueError, match=BAD_PROFILE):
        simplejpeg.decode_jpeg(data)
    found = np.empty((2, 64, 80, 3), np.uint8)
    assert check_header(data, LIMITS) == (64, 80)
    decode_into(data, found[0])
    monkeypatch.setattr(decode, "native_decoder", lambda: None)
    decode_into(data, found[1])
    assert np.array_equal(found[0], plain(whole))
    assert np.array_equal(found[0], found[1])


def test_bytes_after_the_end_of_the_image_are_ignored() -> None:
    data = jpegs.jpeg(32, 48) + bytes(100)
    out = np.empty((32, 48, 3), np.uint8)
    decode_into(data, out)
    assert np.array_equal(out, plain(jpegs.jpeg(32, 48)))


@given(st.integers(1, 300), st.integers(1, 300), st.integers(1, 330), st.integers(1, 330))
def test_reduced_shape_is_what_the_codec_chooses(height: int, width: int, least_height: int, least_width: int) -> None:
    data = jpegs.with_size(jpegs.jpeg(8, 8), height, width)
    least = (least_height, least_width)
    chosen = simplejpeg.decode_jpeg_header(data, min_height=least[0], min_width=least[1], min_factor=2.0)[:2]
    assert reduced_shape((height, width), least) == chosen
    assert all(got >= min(side, wanted) for got, side, wanted in zip(chosen, (height, width), least, strict=True))


def test_reduced_decode_is_close_to_a_full_decode_scaled_down() -> None:
    data = jpegs.jpeg(128, 160, subsampling="444")
    out = np.empty((64, 80, 3), np.uint8)
    decode_into(data, out, at_least=(60, 80))
    reference = cv2.resize(plain(data), (80, 64), interpolation=cv2.INTER_AREA)
    assert np.abs(out.astype(int) - reference.astype(int)).mean() < 1.5


# --- what is refused before decoding -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "is empty, expected a JPEG"),
        (bytes(64), "64 zero bytes"),
        (b"\x89PNG\r\n\x1a\n" + bytes(40), "a PNG image"),
        (b"GIF89a" + bytes(40), "a GIF image"),
        (b"RIFF\0\0\0\0WEBPVP8 ", "WebP"),
        (b"hello, I am text", r"16 bytes that begin with b'hello, I'"),
        (b"\xff\xd8\xff", "header is damaged"),
        (b"\xff\xd8" + bytes(40), "header is damaged"),
    ],
)
def test_what_is_no_jpeg_is_named(data: bytes, message: str) -> None:
    with pytest.raises(DecodeError, match=message):
        check_header(data, LIMITS)


def test_real_png_is_named() -> None:
    done, png = cv2.imencode(".png", jpegs.picture(16, 16))
    assert done
    with pytest.raises(DecodeError, match="is a PNG image, expected a JPEG image; store frames as JPEG"):
        check_header(png.tobytes(), LIMITS)


@pytest.mark.parametrize("size", [(65_500, 65_500), (16_385, 1), (1, 16_385), (16_384, 16_384), (32_768, 43_691)])
def test_bomb_is_refused_from_its_header(size: tuple[int, int]) -> None:
    with pytest.raises(DecodeError, match=rf"{size[0]} x {size[1]} pixels .*16384"):
        check_header(jpegs.with_size(jpegs.jpeg(8, 8), *size), LIMITS)


def test_progressive_bomb_is_refused_from_its_header() -> None:
    data = jpegs.progressive_jpeg(16, 16).replace(b"\x08\x00\x10\x00\x10\x03", b"\x08\xff\xdc\xff\xdc\x03")
    with pytest.raises(DecodeError, match="65500 x 65500"):
        check_header(data, LIMITS)


@pytest.mark.parametrize(
    ("data", "found"),
    [
        (jpegs.lossless_jpeg(64, 80), "lossless"),
        (jpegs.jpeg(64, 80).replace(b"\xff\xc0\x00\x11\x08", b"\xff\xc1\x00\x11\x0c"), "of 12 bits"),
    ],
)
def test_what_the_codec_does_not_scale_is_refused_from_its_header(data: bytes, found: str) -> None:
    assert simplejpeg.decode_jpeg_header(data)[:2] == (64, 80)
    with pytest.raises(DecodeError, match=f"the JPEG is {found}, expected one of 8 bits, baseline or progressive"):
        check_header(data, LIMITS)


def test_too_many_bytes_are_refused() -> None:
    data = jpegs.jpeg(32, 48)
    with pytest.raises(DecodeError, match=f"has {len(data)} bytes, at most 100"):
        check_header(data, DecodeLimits(max_bytes=100))


def test_progressive_jpeg_of_thousands_of_scans_is_refused() -> None:
    data = jpegs.progressive_jpeg(64, 80)
    last_scan = data[data.rindex(b"\xff\xda") : -2]
    with pytest.raises(DecodeError, match=r"has 20\d\d scans, at most 100"):
        check_header(data[:-2] + last_scan * 2000 + jpegs.END_OF_IMAGE, LIMITS)


def test_baseline_jpeg_of_thousands_of_scans_is_refused() -> None:
    with pytest.raises(DecodeError, match="has 2000 scans, at most 100"):
        check_header(jpegs.with_empty_scans(jpegs.jpeg(64, 80), 2000), LIMITS)


def test_limits_that_the_codec_cannot_count_are_refused() -> None:
    with pytest.raises(ConfigError, match="max_pixels=1073741824 is more"):
        DecodeLimits(max_pixels=2**30)


# --- damaged data ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kept", [0.7, 0.8, 0.95])
def test_truncated_data_is_an_error(kept: float) -> None:
    data = jpegs.jpeg(64, 80)
    with pytest.raises(DecodeError, match=r"damaged.*Premature end"):
        decode_into(data[: int(len(data) * kept)], np.empty((64, 80, 3), np.uint8))


def test_missing_end_marker_is_an_error() -> None:
    with pytest.raises(DecodeError, match="Premature end"):
        decode_into(jpegs.jpeg(64, 80)[:-2], np.empty((64, 80, 3), np.uint8))


@pytest.mark.parametrize("shape", [(32, 47, 3), (31, 48, 3), (48, 32, 3), (64, 96, 3), (1, 1, 3)])
def test_another_size_than_that_of_out_is_an_error(shape: tuple[int, int, int]) -> None:
    batch = np.full((3, *shape), GUARD, np.uint8)
    with pytest.raises(DecodeError, match="size"):
        decode_into(jpegs.jpeg(32, 48), batch[1])
    assert (batch[0] == GUARD).all()
    assert (batch[2] == GUARD).all()


def test_strided_out_is_refused() -> None:
    with pytest.raises(ValueError, match="C-contiguous"):
        decode_into(jpegs.jpeg(32, 48), np.empty((32, 96, 3), np.uint8)[:, ::2])


def test_read_only_out_is_refused() -> None:
    out = np.empty((32, 48, 3), np.uint8)
    out.flags.writeable = False
    with pytest.raises(ValueError, match="writable"):
        decode_into(jpegs.jpeg(32, 48), out)


# --- the fast header equals the plain one ------------------------------------------------------------------------


def plain_size(data: bytes) -> tuple[int, int]:
    height, width, _, _ = simplejpeg.decode_jpeg_header(data)
    return height, width


@pytest.mark.parametrize("marker", [0xE0, 0xE1, 0xEE, 0xFE])
def test_camera_jpegs_take_the_fast_header(marker: int) -> None:
    thumbnail = jpegs.jpeg(8, 8)
    data = jpegs.with_segment(jpegs.jpeg(32, 48), marker, b"x" + thumbnail)
    assert decode._one_scan_size(data) == plain_size(data) == (32, 48)


def test_progressive_and_many_scan_jpegs_do_not_take_the_fast_header() -> None:
    assert decode._one_scan_size(jpegs.progressive_jpeg(32, 48)) is None
    assert decode._one_scan_size(jpegs.with_empty_scans(jpegs.jpeg(32, 48), 1)) is None


HEADER_BYTES = jpegs.jpeg(32, 48).index(b"\xff\xda") + 14


@given(st.lists(st.tuples(st.integers(0, HEADER_BYTES - 1), st.integers(0, 255)), min_size=1, max_size=6))
def test_fast_header_never_differs_from_the_codec(changes: list[tuple[int, int]]) -> None:
    data = bytearray(jpegs.jpeg(32, 48))
    for at, value in changes:
        data[at] = value
    fast = decode._one_scan_size(bytes(data))
    if fast is None:
        return
    try:
        expected = plain_size(bytes(data))
    except (ValueError, KeyError):  # the codec refuses what the fast header lets through: decoding will name it
        return
    assert fast == expected


@given(st.binary(max_size=200), st.integers(0, HEADER_BYTES))
def test_any_bytes_are_a_size_within_limits_or_a_decode_error(junk: bytes, at: int) -> None:
    valid = jpegs.jpeg(32, 48)
    data = valid[:at] + junk + valid[at + len(junk) :]
    limits = DecodeLimits(max_pixels=2**20)
    try:
        height, width = check_header(data, limits)
        out = np.empty((height, width, 3), np.uint8)
        decode_into(data, out)
    except DecodeError:
        return
    assert height * width <= limits.max_pixels
