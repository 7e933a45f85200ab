"""What is decoded in part equals the part of what is decoded whole, in pixels and verdict, with the library or not."""

from __future__ import annotations

import itertools
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import simplejpeg
from hypothesis import given, settings
from hypothesis import strategies as st

from loader_service.errors import DecodeError
from loader_service.native import build
from loader_service.plan.image_draws import ImageDraws
from loader_service.plan.resized_crop import Box
from loader_service.protocol.spec import Image
from loader_service.worker import decode, native_jpeg, part_decoder, turbo_library
from loader_service.worker.decode import DecodeLimits, check_header, decode_into, eighths_shape
from loader_service.worker.image import ImageWriter
from loader_service.worker.jpeg_layout import jpeg_layout
from loader_service.worker.part_decoder import PartDecoder, part_of
from loader_service.worker.routes import Route
from tests.worker import jpegs

SUBSAMPLINGS = ["420", "422", "444", "440", "411", "Gray"]


@pytest.fixture(params=["native", "library", "codec alone"])
def decoder(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Have parts decoded by native code where that can be, by the library, whatever the cost, or by the codec alone."""
    if request.param == "native":
        assert not native_jpeg.native_problem() or build.compiler() is None, "run `make native`"
        return "native"
    without_native(monkeypatch)
    library = turbo_library.turbo_library()
    assert library is not None, "install the extra [windows]"
    chosen = library if request.param == "library" else None
    monkeypatch.setattr(part_decoder, "turbo_library", lambda: chosen)
    monkeypatch.setattr(part_decoder, "_pays", lambda *_: True)
    return str(request.param)


def without_native(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(part_decoder, "native_decoder", lambda: None)
    monkeypatch.setattr(decode, "native_decoder", lambda: None)


def part_decoder_of(channels: int = 3, *, exact: bool = False, strict: bool = True) -> PartDecoder:
    return PartDecoder(channels, swapped=False, exact=exact, strict=strict)


def noisy_jpeg(height: int, width: int, subsampling: str = "420", seed: int = 0) -> bytes:
    """Return a JPEG whose neighbours differ, so that a column or a row too few shows."""
    picture = np.random.default_rng(seed).integers(0, 256, (height, width, 3), dtype=np.uint8)
    if subsampling == "Gray":
        grey = np.ascontiguousarray(picture[..., :1])
        return bytes(simplejpeg.encode_jpeg(grey, 80, colorspace="GRAY", colorsubsampling="Gray"))
    return bytes(simplejpeg.encode_jpeg(picture, 80, colorsubsampling=subsampling))


def whole(jpeg: bytes, eighths: int = 8, channels: int = 3, exact: bool = False) -> np.ndarray:
    """Return all pixels as the codec makes them."""
    out = np.empty((*eighths_shape(check_header(jpeg, DecodeLimits()), eighths), channels), np.uint8)
    with pytest.MonkeyPatch.context() as patched:
        without_native(patched)
        decode_into(jpeg, out, at_least=out.shape[:2], exact=exact)
    return out


def route_of(jpeg: bytes, cut: Box, eighths: int = 8) -> Route:
    size = check_header(jpeg, DecodeLimits())
    return Route(size, eighths_shape(size, eighths), cut, (cut.height, cut.width), (0, 0))


def cuts(height: int, width: int) -> list[Box]:
    """Return parts at all sorts of edges."""
    tops, lefts = (0, 1, 15, 16, height // 2), (0, 7, 8, 17, width // 2)
    inside = [Box(top, left, max(1, (height - top) // 2), max(1, (width - left) // 2))
              for top, left in itertools.product(tops, lefts) if top < height and left < width]  # fmt: skip
    return [*inside, Box(0, 0, height, 1), Box(height - 1, width - 1, 1, 1), Box(0, 0, 1, width)]


@pytest.mark.parametrize("strict", [True, False])
@pytest.mark.parametrize("exact", [False, True])
@pytest.mark.parametrize("channels", [1, 3])
@pytest.mark.parametrize("subsampling", SUBSAMPLINGS)
def test_a_part_has_the_pixels_of_the_whole(
    decoder: str, subsampling: str, channels: Any, exact: bool, strict: bool
) -> None:
    parts = part_decoder_of(channels, exact=exact, strict=strict)
    for height, width in ((67, 93), (96, 64)):
        jpeg = noisy_jpeg(height, width, subsampling)
        for eighths in (1, 2, 3, 4, 8):
            expected = whole(jpeg, eighths, channels, exact)
            for cut in cuts(*expected.shape[:2]):
                got = parts.decode(jpeg, route_of(jpeg, cut, eighths))
                assert np.array_equal(got, part_of(expected, cut)), (height, eighths, cut)


ODD = {
    "progressive": jpegs.progressive_jpeg(64, 80),
    "an interval of no restarts": noisy_jpeg(64, 80)[:2] + b"\xff\xdd\x00\x04\x00\x00" + noisy_jpeg(64, 80)[2:],
    "restart markers": jpegs.pillow_jpeg(64, 80, restart_marker_blocks=3),
    "restart markers, progressive": jpegs.pillow_jpeg(64, 80, restart_marker_rows=1, progressive=True),
    "tables made for it": jpegs.pillow_jpeg(64, 80, optimize=True, subsampling="4:2:2"),
    "colours stored as RGB": jpegs.pillow_jpeg(64, 80, keep_rgb=True),
    "markers in a profile": jpegs.pillow_jpeg(64, 80, icc_profile=b"\xff\xda\xff\xd9" * 20_000),
    "a film's frame, 4:2:0": jpegs.film_jpeg(64, 80, "yuvj420p"),
    "a film's frame, 4:2:2": jpegs.film_jpeg(64, 80, "yuvj422p"),
    "cmyk": jpegs.cmyk_jpeg(np.random.default_rng(0).integers(0, 256, (64, 80, 4), dtype=np.uint8)),
    "thumbnail": jpegs.with_segment(noisy_jpeg(64, 80), 0xE1, b"x" + noisy_jpeg(16, 16)),
    "bytes behind it": noisy_jpeg(64, 80) + bytes(50),
}


@pytest.mark.parametrize("strict", [True, False])
@pytest.mark.parametrize("jpeg", ODD.values(), ids=ODD)
def test_unusual_jpegs_are_cut_alike(decoder: str, jpeg: bytes, strict: bool) -> None:
    cut = Box(9, 21, 20, 30)
    got = part_decoder_of(strict=strict).decode(jpeg, route_of(jpeg, cut))
    assert np.array_equal(got, part_of(whole(jpeg), cut))


@pytest.mark.parametrize(
    ("jpeg", "block"),
    [
        (noisy_jpeg(64, 80, "420"), (16, 16)),
        (noisy_jpeg(64, 80, "422"), (8, 16)),
        (noisy_jpeg(64, 80, "440"), (16, 8)),
        (noisy_jpeg(64, 80, "411"), (8, 32)),
        (noisy_jpeg(64, 80, "444"), (8, 8)),
        (noisy_jpeg(64, 80, "Gray"), (8, 8)),
        (jpegs.progressive_jpeg(64, 80), None),
        (ODD["cmyk"], None),
        (jpegs.with_empty_scans(noisy_jpeg(64, 80), 2), None),
        (noisy_jpeg(64, 80)[:2] + b"\xff\xdd\x00\x04\x00\x05" + noisy_jpeg(64, 80)[2:], None),
    ],
)
def test_the_layout_is_that_of_the_header(jpeg: bytes, block: tuple[int, int] | None) -> None:
    layout = jpeg_layout(jpeg)
    assert (layout and layout.block) == block


# --- damage ------------------------------------------------------------------------------------------------------

PICTURE = noisy_jpeg(96, 80)
UPPER = Box(3, 20, 20, 30)  # in the first two rows of blocks; there are six


def verdict(jpeg: bytes, strict: bool, way: str) -> bytes | str:
    """Return the pixels of a part that is decoded one of three ways, or the error's words."""
    library = turbo_library.turbo_library() if way == "library" else None
    with pytest.MonkeyPatch.context() as patched:
        if way != "native":
            without_native(patched)
        patched.setattr(part_decoder, "turbo_library", lambda: library)
        patched.setattr(part_decoder, "_pays", lambda *_: True)
        try:
            return part_decoder_of(strict=strict).decode(jpeg, route_of(jpeg, UPPER)).tobytes()
        except DecodeError as error:
            return str(error)


def damaged(jpeg: bytes) -> Iterator[bytes]:
    """Yield JPEGs with damage all along their scan: cut off there, cut off and ended, and with other bytes."""
    begin = jpeg_layout(jpeg).scan_at  # type: ignore[union-attr]
    random = np.random.default_rng(3)
    for at in range(begin + 1, len(jpeg), 149):
        yield jpeg[:at]
        yield jpeg[:at] + jpegs.END_OF_IMAGE
        yield jpeg[:at] + random.bytes(3) + jpeg[at + 3 :]
        yield jpeg[:at] + b"\xff\xd3" + jpeg[at:]
        yield jpeg[:at] + b"\xff\xc4" + jpeg[at:]


@pytest.mark.parametrize("strict", [True, False])
def test_damage_has_the_same_verdict_whatever_decodes(strict: bool) -> None:
    outcomes = set()
    for jpeg in damaged(PICTURE):
        one, other, third = (verdict(jpeg, strict, way) for way in ("library", "native", "codec alone"))
        assert one == other == third
        outcomes.add(type(one))
        if strict:
            try:
                expected: bytes | str = part_of(whole(jpeg), UPPER).tobytes()
            except DecodeError as error:
                expected = str(error)
            assert one == expected
    assert outcomes == {bytes, str}


def test_damage_below_the_window_is_an_error_only_where_the_spec_is_strict(decoder: str) -> None:
    begin = jpeg_layout(PICTURE).scan_at  # type: ignore[union-attr]
    for kept, lenient in ((0.2, False), (0.8, True)):
        cut_off = PICTURE[: begin + int((len(PICTURE) - begin) * kept)]
        for ended in (cut_off, cut_off + jpegs.END_OF_IMAGE):
            with pytest.raises(DecodeError, match=r"damaged.*(Premature end|premature end)"):
                part_decoder_of().decode(ended, route_of(PICTURE, UPPER))
            if lenient:
                got = part_decoder_of(strict=False).decode(ended, route_of(PICTURE, UPPER))
                assert np.array_equal(got, part_of(whole(PICTURE), UPPER))
            else:
                with pytest.raises(DecodeError, match=r"remature end"):
                    part_decoder_of(strict=False).decode(ended, route_of(PICTURE, UPPER))


@settings(max_examples=150)
@given(
    size=st.tuples(st.integers(1, 70), st.integers(1, 70)),
    subsampling=st.sampled_from(SUBSAMPLINGS),
    edges=st.tuples(*[st.integers(0, 2**32)] * 4),
    eighths=st.sampled_from([1, 2, 3, 4, 8]),
    strict=st.booleans(),
)
def test_any_part_of_any_size_equals_that_of_the_whole(size, subsampling, edges, eighths, strict) -> None:
    jpeg = noisy_jpeg(*size, subsampling)
    expected = whole(jpeg, eighths)
    height, width = expected.shape[:2]
    top, left = edges[0] % height, edges[1] % width
    cut = Box(top, left, 1 + edges[2] % (height - top), 1 + edges[3] % (width - left))
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(part_decoder, "_pays", lambda *_: True)
        got = part_decoder_of(strict=strict).decode(jpeg, route_of(jpeg, cut, eighths))
    assert np.array_equal(got, part_of(expected, cut))


# --- the library -------------------------------------------------------------------------------------------------


class _Wrong:
    """A library that computes otherwise."""

    def __init__(self, path: str) -> None:
        self.path = path

    def decode(self, jpeg: bytes, out: np.ndarray, part: Box, eighths: int, **_: bool) -> None:
        out[...] = 7


def test_a_library_that_computes_otherwise_is_not_used(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(turbo_library, "TurboLibrary", _Wrong)
    turbo_library.turbo_library.cache_clear()
    try:
        assert turbo_library.turbo_library() is None
        assert "whole frames are decoded" in turbo_library.decoder_text()
    finally:
        turbo_library.turbo_library.cache_clear()


def test_a_library_without_regions_or_none_at_all_is_passed_over(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(turbo_library, "_candidates", lambda: iter(["libnothing-here.so.0", "libc.so.6"]))
    turbo_library.turbo_library.cache_clear()
    try:
        assert turbo_library.turbo_library() is None
    finally:
        turbo_library.turbo_library.cache_clear()


def test_no_library_is_looked_for_in_the_current_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "turbojpeg.libs").mkdir()
    for planted in ("turbojpeg.libs/libturbojpeg-0.so.0.3.0", "libturbojpeg.so.0"):
        (tmp_path / planted).write_bytes(b"\x7fELF")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", ["", *sys.path])
    system, *others = turbo_library._candidates()
    assert "/" not in system, "such a name is looked for by the system's loader, in its own folders"
    packages = Path(simplejpeg.__file__).resolve().parents[1]
    assert others
    assert all(Path(each).is_relative_to(packages) for each in others)


def test_the_library_says_what_it_refuses() -> None:
    library = turbo_library.turbo_library()
    assert library is not None
    with pytest.raises(DecodeError, match="left boundary"):
        library.decode(PICTURE, np.empty((8, 8, 3), np.uint8), Box(0, 3, 8, 8), 8, swapped=False, exact=False)
    with pytest.raises(DecodeError, match="exceeds the scaled image"):
        library.decode(PICTURE, np.empty((8, 99, 3), np.uint8), Box(0, 0, 8, 99), 8, swapped=False, exact=False)


# --- through the writer ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("flip", [False, True])
@pytest.mark.parametrize("decode", ["reduced", "full"])
def test_a_resized_crop_is_the_box_scaled(decoder: str, decode: Any, flip: bool) -> None:
    import cv2  # noqa: PLC0415

    jpeg = noisy_jpeg(300, 400)
    image = Image(size=(64, 48), crop="resized", decode=decode, colors="bgr")
    writer = ImageWriter(image, (64, 48, 3))
    for word in range(0, 2**64, 2**61 - 12345):
        draws = ImageDraws((word, word // 3), flip, box=word)
        route = writer._routes.find((300, 400), draws)
        out = np.empty((64, 48, 3), np.uint8)
        writer.write(jpeg, out, draws)
        part = part_of(whole(jpeg, route.eighths), route.cut)[..., ::-1]
        most = 3 if decode == "reduced" else 2
        halves = part.shape[0] >= most * 64 or part.shape[1] >= most * 48
        grows = part.shape[0] < 64 or part.shape[1] < 48
        way = cv2.INTER_AREA if halves and not grows else cv2.INTER_LINEAR
        expected = cv2.resize(np.ascontiguousarray(part), (48, 64), interpolation=way)
        assert np.array_equal(out, expected[:, ::-1] if flip else expected)
        assert decode == "reduced" or route.eighths == 8


def test_a_large_box_is_decoded_at_a_reduced_scale_and_never_below_the_sample() -> None:
    writer = ImageWriter(Image(size=(60, 60), crop="resized", scale=(0.9, 1.0)), (60, 60, 3))
    routes = [
        writer._routes.find((240, 240), ImageDraws((word, word), box=word)) for word in range(0, 2**64, 2**58 + 1)
    ]
    assert {route.eighths for route in routes} == {2, 3}
    for route in routes:
        assert route.cut.height >= 60
        assert route.cut.width >= 60
        assert route.cut.top + route.cut.height <= route.decoded[0]
        assert route.cut.left + route.cut.width <= route.decoded[1]


def test_a_drawn_short_side_scales_before_the_crop() -> None:
    image = Image(size=(24, 32), crop="random", short_side=(41, 44))
    writer = ImageWriter(image, (24, 32, 3))
    words = [2**64 * number // 50 for number in range(50)]
    sides = {min(writer._routes.find((80, 100), ImageDraws(short_side=word)).scaled) for word in words}
    assert sides == {41, 42, 43, 44}
    assert not writer.takes_as_it_is((24, 32, 3))


def test_it_is_said_what_decodes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(turbo_library, "native_problem", lambda: "")
    own = "plain JPEGs and parts of them are decoded by this package's own decoder; of others, "
    assert turbo_library.decoder_text().startswith(own)
    monkeypatch.setattr(turbo_library, "native_problem", lambda: "this processor has no AVX2")
    assert turbo_library.decoder_text().endswith("; all of them by simplejpeg: this processor has no AVX2")
