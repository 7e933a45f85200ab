"""A frame becomes the pixels that `Image` asks for: each way equals a plain path, and only its place is written."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import cv2
import numpy as np
import pytest
import simplejpeg
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from loader_service.errors import DecodeError
from loader_service.plan.image_draws import ImageDraws
from loader_service.plan.image_shape import output_shape, scaled_shape
from loader_service.protocol.spec import Image
from loader_service.worker import image as image_module
from loader_service.worker.decode import DecodeLimits
from loader_service.worker.image import ImageWriter
from tests.worker import jpegs

GUARD = 0xA5
TOP_DRAW, MIDDLE_DRAW, LAST_DRAW = 0, 2**63, 2**64 - 1

Pixels = NDArray[np.uint8]


def decoded(data: bytes, channels: int = 3) -> Pixels:
    colorspace = "RGB" if channels == 3 else "GRAY"
    return np.asarray(simplejpeg.decode_jpeg(data, colorspace, fastdct=True, fastupsample=True))


def written(
    data: bytes, image: Image, frame: tuple[int, int] | None, draws: tuple[int, int] = (0, 0), flip: bool = False
) -> Pixels:
    """Write one frame between two rows of guard bytes, which must survive."""
    shape = output_shape(image, frame)
    batch = np.full((3, *shape), GUARD, np.uint8)
    ImageWriter(image, shape).write(data, batch[1], ImageDraws(draws, flip))
    assert (batch[0] == GUARD).all()
    assert (batch[2] == GUARD).all()
    return batch[1]


# --- each fast way equals the plain one --------------------------------------------------------------------------


@pytest.mark.parametrize("channels", [1, 3])
@pytest.mark.parametrize("flip", [False, True])
def test_own_size_is_the_plain_decode_mirrored_or_not(channels: Any, flip: bool) -> None:
    data = jpegs.jpeg(33, 47)
    expected = decoded(data, channels)[:, :: -1 if flip else 1]
    assert np.array_equal(written(data, Image(channels=channels), (33, 47), flip=flip), expected)


@given(
    frame=st.tuples(st.integers(20, 70), st.integers(20, 70)),
    window=st.tuples(st.integers(1, 20), st.integers(1, 20)),
    draws=st.tuples(st.integers(0, 2**64 - 1), st.integers(0, 2**64 - 1)),
    flip=st.booleans(),
    channels=st.sampled_from([1, 3]),
)
def test_random_crop_is_the_window_that_the_draws_choose(
    frame: tuple[int, int], window: tuple[int, int], draws: tuple[int, int], flip: bool, channels: Any
) -> None:
    data = jpegs.jpeg(*frame)
    top, left = (draw * (side - cut + 1) // 2**64 for draw, side, cut in zip(draws, frame, window, strict=True))
    expected = decoded(data, channels)[top : top + window[0], left : left + window[1]]
    got = written(data, Image(size=window, crop="random", channels=channels), None, draws, flip)
    assert np.array_equal(got, expected[:, ::-1] if flip else expected)


def test_center_crop_is_the_middle_window_whatever_the_draws() -> None:
    data = jpegs.jpeg(41, 60)
    got = written(data, Image(size=(20, 30), crop="center"), None, (LAST_DRAW, TOP_DRAW))
    assert np.array_equal(got, decoded(data)[10:30, 15:45])


@pytest.mark.parametrize("flip", [False, True])
@pytest.mark.parametrize("channels", [1, 3])
@pytest.mark.parametrize(
    ("size", "interpolation"),
    [
        ((40, 50), cv2.INTER_LINEAR),  # both sides shrink, to more than half
        ((90, 100), cv2.INTER_LINEAR),  # both grow
        ((90, 20), cv2.INTER_LINEAR),  # one grows, the other shrinks
        ((64, 20), cv2.INTER_AREA),  # one side shrinks to less than half, the other stays: no reduced scale possible
    ],
)
def test_exact_size_is_a_resize_of_the_whole_frame(
    size: tuple[int, int], interpolation: int, channels: Any, flip: bool
) -> None:
    data = jpegs.jpeg(64, 80)
    resized = cv2.resize(decoded(data, channels), size[::-1], interpolation=interpolation).reshape(*size, channels)
    expected = resized[:, ::-1] if flip else resized
    assert np.array_equal(written(data, Image(size=size, channels=channels), None, flip=flip), expected)


@pytest.mark.parametrize("channels", [1, 3])
@pytest.mark.parametrize(("size", "reduced"), [((64, 80), (64, 80)), ((60, 70), (64, 80)), ((16, 20), (16, 20))])
def test_small_size_is_decoded_at_a_reduced_scale(
    size: tuple[int, int], reduced: tuple[int, int], channels: Any
) -> None:
    data = jpegs.jpeg(128, 160)
    smaller = simplejpeg.decode_jpeg(
        data, "RGB" if channels == 3 else "GRAY", True, True, min_height=reduced[0], min_width=reduced[1]
    )
    assert smaller.shape[:2] == reduced
    expected = cv2.resize(smaller, size[::-1], interpolation=cv2.INTER_LINEAR).reshape(*size, channels)
    got = written(data, Image(size=size, channels=channels), None)
    assert np.array_equal(got, expected)
    full = cv2.resize(decoded(data, channels), size[::-1], interpolation=cv2.INTER_AREA).reshape(*size, channels)
    assert np.abs(got.astype(int) - full.astype(int)).mean() < 3


def test_one_number_scales_the_short_side_and_cuts_a_square() -> None:
    data = jpegs.jpeg(60, 90)
    resized = cv2.resize(decoded(data), (72, 48), interpolation=cv2.INTER_LINEAR)
    got = written(data, Image(size=48, crop="random"), None, (MIDDLE_DRAW, LAST_DRAW))
    assert np.array_equal(got, resized[:, 24:])


def test_one_number_without_crop_keeps_the_aspect() -> None:
    data = jpegs.jpeg(60, 90)
    resized = cv2.resize(decoded(data), (72, 48), interpolation=cv2.INTER_LINEAR)
    assert np.array_equal(written(data, Image(size=48), (60, 90)), resized)


def test_short_side_is_scaled_before_the_crop() -> None:
    data = jpegs.jpeg(60, 90)
    resized = cv2.resize(decoded(data), (60, 40), interpolation=cv2.INTER_LINEAR)
    got = written(data, Image(size=(32, 32), crop="center", short_side=40), None, flip=True)
    assert np.array_equal(got, resized[4:36, 14:46][:, ::-1])


def test_frame_too_small_for_the_window_is_enlarged_first() -> None:
    data = jpegs.jpeg(20, 40)
    image = Image(size=(30, 30), crop="center")
    assert scaled_shape(image, (20, 40)) == (30, 60)
    resized = cv2.resize(decoded(data), (60, 30), interpolation=cv2.INTER_LINEAR)
    assert np.array_equal(written(data, image, None), resized[:, 15:45])


# --- red and blue that a writer has swapped ----------------------------------------------------------------------


@pytest.mark.parametrize("subsampling", ["420", "422", "444"])
@pytest.mark.parametrize("flip", [False, True])
def test_swapped_colours_are_those_of_the_decode_with_the_last_axis_reversed(subsampling: str, flip: bool) -> None:
    data = jpegs.jpeg(33, 47, subsampling=subsampling)
    got = written(data, Image(colors="bgr"), (33, 47), flip=flip)
    assert np.array_equal(got, decoded(data)[:, :: -1 if flip else 1, ::-1])


@given(
    size=st.none() | st.integers(8, 40) | st.tuples(st.integers(8, 40), st.integers(8, 40)),
    crop=st.sampled_from(["none", "center", "random"]),
    draws=st.tuples(st.integers(0, 2**64 - 1), st.integers(0, 2**64 - 1)),
    flip=st.booleans(),
    raw=st.booleans(),
)
def test_swapped_colours_go_every_way_of_a_frame(
    size: Any, crop: Any, draws: tuple[int, int], flip: bool, raw: bool
) -> None:
    crop = "none" if size is None else crop
    data = jpegs.picture(36, 52) if raw else jpegs.jpeg(36, 52)
    write: Any = (lambda *arguments: written_pixels(*arguments)[0]) if raw else written
    arguments = (draws, flip) if raw else ((36, 52), draws, flip)
    plain, swapped = (write(data, Image(size, crop, colors=colors), *arguments) for colors in ("rgb", "bgr"))
    assert np.array_equal(swapped, plain[..., ::-1])


def test_a_writer_that_gave_rgb_to_opencv_gets_its_colours_back() -> None:
    picture = jpegs.picture(64, 80)
    done, encoded = cv2.imencode(".jpg", picture, [cv2.IMWRITE_JPEG_QUALITY, 100])
    assert done
    got = written(encoded.tobytes(), Image(colors="bgr"), (64, 80))
    assert np.abs(got.astype(int) - picture).mean() < 3 < np.abs(got[..., ::-1].astype(int) - picture).mean()


def test_stored_pixels_whose_colours_are_swapped_are_no_sample_as_they_are() -> None:
    assert ImageWriter(Image(), (32, 48, 3)).takes_as_it_is((32, 48, 3))
    assert not ImageWriter(Image(colors="bgr"), (32, 48, 3)).takes_as_it_is((32, 48, 3))


# --- subsampled colours ------------------------------------------------------------------------------------------


def coloured_texture(seed: int) -> Pixels:
    """Return patches of 4 x 4 pixels, each of any colour: ``(64, 80, 3)``, what subsampled colours suffer from most."""
    patches = np.random.default_rng(seed).integers(0, 256, (16, 20, 3), np.uint8)
    return np.asarray(cv2.resize(patches, (80, 64), interpolation=cv2.INTER_NEAREST), np.uint8)


@pytest.mark.parametrize("subsampling", ["420", "422", "444"])
@pytest.mark.parametrize("channels", [1, 3])
def test_exact_colours_are_those_of_libjpegs_defaults(subsampling: str, channels: Any) -> None:
    flag = cv2.IMREAD_GRAYSCALE if channels == 1 else cv2.IMREAD_COLOR
    for seed in range(5):
        data = simplejpeg.encode_jpeg(coloured_texture(seed), quality=90, colorsubsampling=subsampling)
        expected = cv2.imdecode(np.frombuffer(data, np.uint8), flag).reshape(64, 80, channels)[..., ::-1]  # from BGR
        assert np.array_equal(written(data, Image(channels=channels, chroma="exact"), (64, 80)), expected)


def test_fast_colours_differ_from_the_exact_ones_by_what_the_docs_say() -> None:
    """`docs/design.md`: 15 to 16 levels on patches of strong colours with 4:2:0, about one with 4:4:4."""
    for subsampling, least, most in (("420", 13.0, 19.0), ("444", 0.5, 2.0)):
        errors = []
        for seed in range(20):
            data = simplejpeg.encode_jpeg(coloured_texture(seed), quality=90, colorsubsampling=subsampling)
            fast, exact = (written(data, Image(chroma=each), (64, 80)).astype(int) for each in ("fast", "exact"))
            errors.append(np.abs(fast - exact).mean())
        assert least < np.mean(errors) < most


def test_exact_colours_may_also_be_swapped_scaled_and_cut() -> None:
    data = simplejpeg.encode_jpeg(coloured_texture(0), quality=90, colorsubsampling="420")
    whole = written(data, Image(chroma="exact"), (64, 80))
    got = written(data, Image(size=(30, 40), crop="center", colors="bgr", chroma="exact"), (64, 80))
    assert np.array_equal(got, whole[17:47, 20:60, ::-1])


# --- frames that are stored as pixels ----------------------------------------------------------------------------


def written_pixels(
    pixels: Pixels, image: Image, draws: tuple[int, int] = (0, 0), flip: bool = False
) -> tuple[Pixels, ImageWriter]:
    """Write one raw frame between two rows of guard bytes, which must survive, as must the frame."""
    shape = output_shape(image, pixels.shape[:2])
    batch = np.full((3, *shape), GUARD, np.uint8)
    before = pixels.copy()
    writer = ImageWriter(image, shape)
    writer.write_pixels(pixels, batch[1], ImageDraws(draws, flip))
    assert (batch[0] == GUARD).all()
    assert (batch[2] == GUARD).all()
    assert np.array_equal(pixels, before)
    return batch[1], writer


@pytest.mark.parametrize("flip", [False, True])
@pytest.mark.parametrize(
    "image",
    [
        Image(),
        Image(size=(60, 80)),
        Image(size=(40, 56)),
        Image(size=(90, 100)),
        Image(size=(48, 64), crop="random"),
        Image(size=(48, 64), crop="center"),
        Image(size=(40, 40), crop="random", short_side=50),
        Image(size=44),
        Image(size=44, crop="random"),
    ],
)
def test_pixels_go_the_way_of_a_jpeg_that_decodes_to_them(image: Image, flip: bool) -> None:
    data = jpegs.jpeg(60, 80)
    draws = (MIDDLE_DRAW + 12345, LAST_DRAW // 3)
    got, _ = written_pixels(decoded(data), image, draws, flip)
    assert np.array_equal(got, written(data, image, (60, 80), draws, flip))


@pytest.mark.parametrize("flip", [False, True])
@pytest.mark.parametrize("image", [Image(channels=1), Image(size=(20, 30), crop="center", channels=1)])
def test_coloured_pixels_become_luma(image: Image, flip: bool) -> None:
    pixels = jpegs.picture(40, 60)
    luma = np.rint(pixels @ np.array([0.299, 0.587, 0.114]))[..., None]
    expected = luma if image.size is None else luma[10:30, 15:45]
    got, _ = written_pixels(pixels, image, flip=flip)
    assert np.abs(got - (expected[:, ::-1] if flip else expected)).max() <= 1


@pytest.mark.parametrize("flip", [False, True])
@pytest.mark.parametrize("image", [Image(), Image(size=(20, 30), crop="center")])
def test_grey_pixels_become_three_equal_channels(image: Image, flip: bool) -> None:
    pixels = np.ascontiguousarray(jpegs.picture(40, 60)[..., :1])
    expected = pixels if image.size is None else pixels[10:30, 15:45]
    got, _ = written_pixels(pixels, image, flip=flip)
    assert np.array_equal(got, np.repeat(expected[:, :: -1 if flip else 1], 3, axis=2))


@pytest.mark.parametrize(
    ("image", "as_it_is"),
    [
        (Image(), True),
        (Image(size=(40, 60)), True),
        (Image(size=(40, 60), crop="random"), True),
        (Image(size=40), True),
        (Image(size=(40, 60), crop="center", short_side=50), False),
        (Image(size=(40, 59), crop="center"), False),
        (Image(channels=1), False),
    ],
)
def test_pixels_are_taken_as_they_are_only_where_that_changes_nothing(image: Image, as_it_is: bool) -> None:
    pixels = jpegs.picture(40, 60)
    got, writer = written_pixels(pixels, image, (MIDDLE_DRAW, MIDDLE_DRAW))
    assert writer.takes_as_it_is(pixels.shape) is as_it_is
    assert np.array_equal(got, pixels) is as_it_is


def test_pixels_of_another_size_are_an_error_with_both_sizes() -> None:
    with pytest.raises(DecodeError, match=r"has \(48, 32\) pixels .* expected \(32, 48\)"):
        ImageWriter(Image(), (32, 48, 3)).write_pixels(
            jpegs.picture(48, 32), np.empty((32, 48, 3), np.uint8), ImageDraws()
        )


# --- many frames through one writer ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "image",
    [
        Image(size=(24, 32)),
        Image(size=(24, 32), crop="random"),
        Image(size=(24, 32), crop="random", short_side=40, channels=1),
    ],
)
def test_mixed_frame_sizes_do_not_disturb_each_other(image: Image) -> None:
    frames = [jpegs.jpeg(*size, seed) for seed, size in enumerate([(64, 80), (24, 32), (300, 41), (64, 80), (9, 7)])]
    shape = output_shape(image, None)
    writer = ImageWriter(image, shape)
    for number, data in enumerate(frames):
        out = np.empty(shape, np.uint8)
        writer.write(data, out, ImageDraws((MIDDLE_DRAW, MIDDLE_DRAW), number % 2 == 1))
        assert np.array_equal(out, written(data, image, None, (MIDDLE_DRAW, MIDDLE_DRAW), flip=number % 2 == 1))


def test_writer_goes_on_after_a_bad_frame() -> None:
    writer = ImageWriter(Image(), (32, 48, 3))
    out = np.empty((32, 48, 3), np.uint8)
    with pytest.raises(DecodeError):
        writer.write(jpegs.jpeg(48, 32), out, ImageDraws())
    with pytest.raises(DecodeError):
        writer.write(jpegs.jpeg(32, 48)[:-40], out, ImageDraws(flip=True))
    writer.write(jpegs.jpeg(32, 48), out, ImageDraws())
    assert np.array_equal(out, decoded(jpegs.jpeg(32, 48)))


# --- what does not fit -------------------------------------------------------------------------------------------


def test_frame_of_another_size_is_an_error_with_both_sizes() -> None:
    with pytest.raises(DecodeError, match=r"has \(48, 32\) pixels .* expected \(32, 48\) .* give Image\(size="):
        written(jpegs.jpeg(48, 32), Image(), (32, 48))


def test_frame_of_another_aspect_is_an_error_when_the_short_side_is_given() -> None:
    image = Image(size=16)
    with pytest.raises(DecodeError, match=r"has \(64, 65\) pixels .* become \(16, 16\), expected \(16, 24\)"):
        written(jpegs.jpeg(64, 65), image, (32, 48))
    assert written(jpegs.jpeg(64, 96), image, (32, 48)).shape == (16, 24, 3)


def test_extreme_shape_is_refused_before_memory_is_taken() -> None:
    with pytest.raises(DecodeError, match=r"has \(2, 3000\) pixels .* scaled to \(224, 336000\)"):
        ImageWriter(Image(size=224, crop="center"), (224, 224, 3)).write(
            jpegs.jpeg(2, 3000), np.empty((224, 224, 3), np.uint8), ImageDraws()
        )


def test_limits_reach_the_codec() -> None:
    writer = ImageWriter(Image(), (32, 48, 3), DecodeLimits(max_side=40))
    with pytest.raises(DecodeError, match="32 x 48 pixels"):
        writer.write(jpegs.jpeg(32, 48), np.empty((32, 48, 3), np.uint8), ImageDraws())


@pytest.mark.parametrize("shape", [(32, 48, 1), (32, 47, 3), (1, 32, 48, 3)])
def test_out_of_another_shape_is_refused(shape: tuple[int, ...]) -> None:
    with pytest.raises(ValueError, match=r"expected \(32, 48, 3\)"):
        ImageWriter(Image(), (32, 48, 3)).write(jpegs.jpeg(32, 48), np.empty(shape, np.uint8), ImageDraws())


def test_output_that_opencv_would_replace_by_a_copy_is_refused() -> None:
    strided = np.empty((32, 96, 3), np.uint8)[:, ::2]
    with pytest.raises((ValueError, cv2.error)):
        image_module._mirror(np.zeros((32, 48, 3), np.uint8), strided)
    with pytest.raises(ValueError, match="cannot be written in place"):
        image_module._check_in_place(strided.copy(), strided)


def test_opencv_is_imported_only_by_a_writer_that_needs_it() -> None:
    program = """
import sys, numpy as np, simplejpeg
from loader_service.plan.image_draws import ImageDraws
from loader_service.protocol.spec import Image
from loader_service.worker.image import ImageWriter
data = simplejpeg.encode_jpeg(np.zeros((8, 8, 3), np.uint8))
out = np.empty((8, 8, 3), np.uint8)
ImageWriter(Image(), (8, 8, 3)).write(data, out, ImageDraws())
assert "cv2" not in sys.modules and "h5py" not in sys.modules
ImageWriter(Image(), (8, 8, 3)).write(data, out, ImageDraws(flip=True))
assert "cv2" in sys.modules and sys.modules["cv2"].getNumThreads() == 1
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
