"""The decoder of native code gives the codec's pixels to the bit, of whatever it takes, and takes nothing damaged."""

from __future__ import annotations

import io
from collections import Counter
from random import Random
from typing import Any

import numpy as np
import PIL.Image
import pytest
import simplejpeg
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from benchmarks import fuzz_native
from loader_service.native import build
from loader_service.plan.resized_crop import Box
from loader_service.worker import decode, native_jpeg, part_decoder
from loader_service.worker.native_jpeg import NativeDecoder, Part, native_decoder, native_problem
from tests.native.jpeg_writer import FACTORS, Shape, write_jpeg
from tests.worker import jpegs

Pixels = NDArray[np.uint8]

#: Colour spaces of the codec, with channels, and whether red and blue are swapped.
SPACES = {"RGB": (3, False), "BGR": (3, True), "GRAY": (1, False)}


@pytest.fixture
def decoder() -> NativeDecoder:
    if native_problem() and (build.compiler() is None or native_problem() == "this processor has no AVX2"):
        pytest.skip(native_problem())
    found = native_decoder()
    assert found is not None, f"{native_problem()}; run `make native`"
    return found


def by_codec(jpeg: bytes, space: str = "RGB") -> Pixels:
    return np.asarray(simplejpeg.decode_jpeg(jpeg, space, fastdct=True, fastupsample=True, strict=True))


def decoded(decoder: NativeDecoder, jpeg: bytes, shape: tuple[int, ...], space: str = "RGB") -> Pixels | None:
    channels, swapped = SPACES[space]
    out = np.empty((shape[0], shape[1], channels), np.uint8)
    return out if decoder.decode(jpeg, out, swapped=swapped) else None


def encoded(pixels: Pixels, quality: int, subsampling: str) -> bytes:
    if subsampling == "Gray":
        return bytes(simplejpeg.encode_jpeg(np.ascontiguousarray(pixels[..., :1]), quality, "GRAY", "Gray"))
    return bytes(simplejpeg.encode_jpeg(pixels, quality, "RGB", subsampling))


def picture(height: int, width: int, kind: str, seed: int = 0) -> Pixels:
    """Return noise, or edges and slopes as photographs have them."""
    random = np.random.default_rng(seed)
    if kind == "noise":
        return random.integers(0, 256, (height, width, 3), dtype=np.uint8)
    rows, columns = np.mgrid[:height, :width].astype(np.float64)
    waves = [
        np.sin(rows / random.uniform(3, 40) + each) * 60 + np.cos(columns / random.uniform(3, 40)) * 60
        for each in range(3)
    ]
    edges = 40.0 * ((rows // 13 + columns // 17) % 2)
    return np.asarray(np.stack(waves, -1) + edges[..., None] + 110).clip(0, 255).astype(np.uint8)


SIZES = [(1, 1), (7, 9), (8, 8), (16, 16), (17, 33), (31, 48), (64, 95), (100, 7), (3, 130), (150, 161)]


@pytest.mark.parametrize("kind", ["noise", "smooth"])
@pytest.mark.parametrize("subsampling", FACTORS)
def test_every_size_and_quality_has_the_codecs_pixels(decoder: NativeDecoder, subsampling: str, kind: str) -> None:
    for height, width in SIZES:
        pixels = picture(height, width, kind)
        for quality in (25, 26, 40, 60, 75, 85, 95, 100):
            jpeg = encoded(pixels, quality, subsampling)
            for space in SPACES:
                got = decoded(decoder, jpeg, pixels.shape, space)
                assert got is not None, (height, width, quality)
                assert np.array_equal(got, by_codec(jpeg, space)), (height, width, quality, space)


def test_all_qualities_are_taken_whose_tables_have_8_bits(decoder: NativeDecoder) -> None:
    pixels = picture(40, 60, "smooth")
    for quality in range(1, 101):
        jpeg = encoded(pixels, quality, "420")
        got = decoded(decoder, jpeg, pixels.shape)
        assert (got is None) == (b"\xff\xdb\x00\x83" in jpeg or b"\xff\xdb\x00\xc3\x10" in jpeg), quality
        assert got is None or np.array_equal(got, by_codec(jpeg))


@pytest.mark.parametrize("subsampling", [0, 1, 2])
@pytest.mark.parametrize("options", [{"optimize": True}, {"restart_marker_rows": 1}, {"restart_marker_blocks": 3}])
def test_tables_made_for_a_picture_and_restart_markers_are_taken(
    decoder: NativeDecoder, options: dict[str, Any], subsampling: int
) -> None:
    for height, width in SIZES:
        written = io.BytesIO()
        image = PIL.Image.fromarray(picture(height, width, "noise"))
        image.save(written, "JPEG", quality=80, subsampling=subsampling, **options)
        got = decoded(decoder, written.getvalue(), (height, width))
        assert got is not None
        assert np.array_equal(got, by_codec(written.getvalue()))


@settings(max_examples=200)
@given(
    size=st.tuples(st.integers(1, 90), st.integers(1, 90)),
    subsampling=st.sampled_from(list(FACTORS)),
    space=st.sampled_from(list(SPACES)),
    quality=st.integers(30, 100),
    edges=st.tuples(*[st.integers(0, 2**32)] * 4),
    to_end=st.booleans(),
)
def test_any_part_has_the_codecs_pixels(size, subsampling, space, quality, edges, to_end) -> None:
    decoder = native_decoder()
    if decoder is None:
        pytest.skip(native_problem())
    pixels = picture(*size, "noise", seed=edges[0] % 7)
    jpeg = encoded(pixels, quality, subsampling)
    top, left = edges[0] % size[0], edges[1] % size[1]
    part = Box(top, left, 1 + edges[2] % (size[0] - top), 1 + edges[3] % (size[1] - left))
    channels, swapped = SPACES[space]
    guarded = np.full((part.height + 2, part.width, channels), 171, np.uint8)
    assert decoder.decode_part(jpeg, guarded[1:-1], Part(size, part, to_end=to_end), swapped=swapped)
    assert (guarded[0] == 171).all()
    assert (guarded[-1] == 171).all()
    expected = by_codec(jpeg, space)[top : top + part.height, left : left + part.width]
    assert np.array_equal(guarded[1:-1], expected)


def by_codec_at_half(jpeg: bytes, space: str, size: tuple[int, int]) -> Pixels:
    half = {"min_height": -(-size[0] // 2), "min_width": -(-size[1] // 2), "min_factor": 2}
    return np.asarray(simplejpeg.decode_jpeg(jpeg, space, fastdct=True, fastupsample=True, strict=True, **half))


def at_half(decoder: NativeDecoder, jpeg: bytes, size: tuple[int, int], space: str = "RGB") -> Pixels | None:
    channels, swapped = SPACES[space]
    box = Box(0, 0, -(-size[0] // 2), -(-size[1] // 2))
    out = np.empty((box.height, box.width, channels), np.uint8)
    return out if decoder.decode_part(jpeg, out, Part(size, box, half=True), swapped=swapped) else None


@pytest.mark.parametrize("kind", ["noise", "smooth"])
def test_at_half_its_size_a_picture_has_the_codecs_pixels(decoder: NativeDecoder, kind: str) -> None:
    for height, width in [(16, 16), (17, 33), (31, 48), (64, 95), (100, 7), (3, 130), (150, 161)]:
        for quality in (26, 75, 95, 100):
            jpeg = encoded(picture(height, width, kind), quality, "420")
            for space in SPACES:
                got = at_half(decoder, jpeg, (height, width), space)
                assert got is not None
                assert np.array_equal(got, by_codec_at_half(jpeg, space, (height, width))), (height, width, quality)


@pytest.mark.parametrize("subsampling", ["422", "444", "Gray"])
def test_other_subsamplings_at_half_are_left_to_the_codec(decoder: NativeDecoder, subsampling: str) -> None:
    assert at_half(decoder, encoded(picture(48, 64, "noise"), 80, subsampling), (48, 64)) is None


# --- coefficients that no encoder makes --------------------------------------------------------------------------


def wild_blocks(shape: Shape, random: np.random.Generator, most: int) -> NDArray[np.int64]:
    """Return coefficients up to `most`; some blocks are full, some end early, some have long runs of 0."""
    count = shape.mcus * len(shape.components)
    blocks = random.integers(-most, most + 1, (count, 64))
    kept = random.choice([0.0, 0.02, 0.1, 0.5, 1.0], (count, 1))
    blocks[:, 1:] *= random.random((count, 63)) < kept
    blocks[:, 63] = np.where(random.random(count) < 0.3, random.integers(1, most + 1, count), blocks[:, 63])
    blocks[:, 0] = random.integers(-min(most, 16383), min(most, 16383) + 1, count)
    return blocks


@pytest.mark.parametrize("subsampling", FACTORS)
@pytest.mark.parametrize("longest", [9, 12, 16])
def test_coefficients_that_overflow_wrap_around_as_the_codecs_do(
    decoder: NativeDecoder, subsampling: str, longest: int
) -> None:
    random = np.random.default_rng(longest)
    for most in (1, 3, 100, 1023, 4000, 32767):
        for steps, restart in ((1, 0), (255, 0), (16, 2)):
            shape = Shape(45, 70, subsampling, restart, longest, steps)
            jpeg = write_jpeg(shape, wild_blocks(shape, random, most))
            for space in SPACES:
                got = decoded(decoder, jpeg, (45, 70), space)
                assert got is not None, (most, steps)
                assert np.array_equal(got, by_codec(jpeg, space)), (most, steps)
                half = at_half(decoder, jpeg, (45, 70), space)
                assert (half is not None) == (subsampling == "420")
                assert half is None or np.array_equal(half, by_codec_at_half(jpeg, space, (45, 70))), (most, steps)


# --- what it leaves to the codec ---------------------------------------------------------------------------------

PLAIN = encoded(picture(48, 64, "noise"), 80, "420")
DECLINED = {
    "empty": b"",
    "progressive": jpegs.progressive_jpeg(48, 64),
    "four colours": jpegs.cmyk_jpeg(np.zeros((48, 64, 4), np.uint8)),
    "4:1:1": encoded(picture(48, 64, "noise"), 80, "411"),
    "4:4:0": encoded(picture(48, 64, "noise"), 80, "440"),
    "no end": PLAIN[:-2],
    "half an end": PLAIN[:-1],
    "a byte too many": PLAIN[:-2] + b"\0\xff\xd9",
    "a restart marker too many": PLAIN[:-2] + b"\xff\xd0\xff\xd9",
    "a fill byte before the end": PLAIN[:-2] + b"\xff\xff\xd9",
    "another version of JFIF": PLAIN.replace(b"JFIF\0\x01", b"JFIF\0\x02"),
    "Adobe's RGB": PLAIN[:2] + b"\xff\xee\0\x0eAdobe\0\x64\0\0\0\0\0" + PLAIN[2:],
    "a segment that no JPEG has": PLAIN[:2] + b"\xff\xf7\0\x04ab" + PLAIN[2:],
    "a fill byte between segments": PLAIN[:2] + b"\xff" + PLAIN[2:],
    "a scan of some coefficients": PLAIN.replace(b"\0\x3f\0", b"\0\x3e\0"),
}


@pytest.mark.parametrize("jpeg", DECLINED.values(), ids=DECLINED)
def test_what_is_not_plain_is_left_to_the_codec(decoder: NativeDecoder, jpeg: bytes) -> None:
    assert decoded(decoder, jpeg, (48, 64)) is None


@pytest.mark.parametrize(("height", "width"), [(47, 64), (48, 63), (49, 64), (48, 65), (24, 32)])
def test_another_size_than_that_of_the_memory_is_declined(decoder: NativeDecoder, height: int, width: int) -> None:
    assert decoded(decoder, PLAIN, (height, width)) is None


def test_memory_that_cannot_be_written_is_declined(decoder: NativeDecoder) -> None:
    out = np.empty((48, 128, 3), np.uint8)
    assert not decoder.decode(PLAIN, out[:, ::2], swapped=False)
    assert not decoder.decode(PLAIN, np.empty((48, 64, 3), np.int8), swapped=False)  # type: ignore[arg-type]
    read_only = np.empty((48, 64, 3), np.uint8)
    read_only.flags.writeable = False
    assert not decoder.decode(PLAIN, read_only, swapped=False)
    assert not decoder.decode(bytearray(PLAIN), np.empty((48, 64, 3), np.uint8), swapped=False)
    for part in (Box(0, 0, 49, 64), Box(-1, 0, 48, 64), Box(0, 1, 48, 64), Box(2**31 - 1, 0, 48, 64)):
        fits = np.empty((part.height, part.width, 3), np.uint8)
        assert not decoder.decode_part(PLAIN, fits, Part((48, 64), part), swapped=False)


def test_bytes_behind_the_end_are_passed_over_as_the_codec_does(decoder: NativeDecoder) -> None:
    got = decoded(decoder, PLAIN + bytes(50), (48, 64))
    assert got is not None
    assert np.array_equal(got, by_codec(PLAIN + bytes(50)))


@pytest.mark.parametrize("wrong", [1, 2, 3, 4])
def test_a_decoder_that_does_not_agree_with_the_codec_is_not_used(
    monkeypatch: pytest.MonkeyPatch, decoder: NativeDecoder, wrong: int
) -> None:
    right, calls = simplejpeg.decode_jpeg, iter(range(1, 9))

    def other(*given: Any, **options: Any) -> Any:
        return right(*given, **options) ^ np.uint8(next(calls) == wrong)

    assert native_jpeg.agrees(decoder)
    monkeypatch.setattr(simplejpeg, "decode_jpeg", other)
    assert not native_jpeg.agrees(decoder), f"call {wrong} gave other pixels"


# --- damage ------------------------------------------------------------------------------------------------------


def test_what_it_makes_of_damaged_jpegs_is_what_the_codec_makes_of_them(
    decoder: NativeDecoder, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The short form of `python -m benchmarks.fuzz_native`, which has sanitizers."""
    for module in (decode, part_decoder):
        monkeypatch.setattr(module, "native_decoder", lambda: None)
    monkeypatch.setattr(part_decoder, "turbo_library", lambda: None)
    sources, random = fuzz_native.sources(), Random(0)
    verdicts = Counter(fuzz_native.native_verdict(decoder, sources, random) for _ in range(4000))
    assert set(verdicts) == {"same pixels", "declined"}
    assert min(verdicts.values()) > 500, verdicts
