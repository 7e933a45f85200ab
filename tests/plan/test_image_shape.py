"""Sizes are exact arithmetic: the same in every process, never smaller than the window, errors that name the remedy."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from loader_service.errors import ConfigError
from loader_service.plan.image_draws import ImageDraws
from loader_service.plan.image_shape import crop_corner, output_shape, scaled_shape
from loader_service.protocol.spec import Image

sides = st.integers(1, 2000)


@pytest.mark.parametrize(
    ("image", "frame", "shape"),
    [
        (Image(), (256, 342), (256, 342, 3)),
        (Image(channels=1), (256, 342), (256, 342, 1)),
        (Image(size=(224, 200)), None, (224, 200, 3)),
        (Image(size=(224, 200)), (9, 9), (224, 200, 3)),
        (Image(size=(224, 200), crop="random"), None, (224, 200, 3)),
        (Image(size=224, crop="center"), None, (224, 224, 3)),
        (Image(size=128), (256, 342), (128, 171, 3)),
        (Image(size=128), (342, 256), (171, 128, 3)),
        (Image(size=3), (2, 3), (3, 5, 3)),  # 4.5 is rounded up
        (Image(size=1), (1, 1000), (1, 1000, 3)),
    ],
)
def test_shape_of_a_frame(image: Image, frame: tuple[int, int] | None, shape: tuple[int, int, int]) -> None:
    assert output_shape(image, frame) == shape


@pytest.mark.parametrize("size", [None, 128])
def test_size_that_hangs_on_the_videos_needs_a_common_one(size: int | None) -> None:
    with pytest.raises(ConfigError, match=rf"Image.size={size}.*differ in size.*give Image\(size=\(height, width\)\)"):
        output_shape(Image(size=size), None)


def test_scaled_side_that_is_too_long_is_refused() -> None:
    with pytest.raises(ConfigError, match=r"makes \(2, 3000\) frames \(224, 336000\) pixels .* most 16384 a side"):
        output_shape(Image(size=224), (2, 3000))


@given(sides, sides, sides)
def test_short_side_becomes_exactly_the_number(height: int, width: int, size: int) -> None:
    scaled = scaled_shape(Image(size=size), (height, width))
    assert min(scaled) == size
    assert abs(scaled[0] * width - scaled[1] * height) <= max(height, width)  # the aspect, to within one pixel


@given(sides, sides, st.tuples(sides, sides), st.integers(0, 500), st.booleans())
def test_scaled_frame_covers_the_window(
    height: int, width: int, size: tuple[int, int], more: int, with_short_side: bool
) -> None:
    short_side = min(size) + more if with_short_side else None
    scaled = scaled_shape(Image(size=size, crop="center", short_side=short_side), (height, width))
    assert scaled[0] >= size[0]
    assert scaled[1] >= size[1]
    if short_side is None and height >= size[0] and width >= size[1]:
        assert scaled == (height, width)
    if short_side is not None:
        assert min(scaled) >= short_side


def test_a_drawn_short_side_has_every_length_equally_often() -> None:
    image = Image(size=(224, 224), crop="random", short_side=(256, 320))
    words = [(2**64 * number + 2**63) // 650 for number in range(650)]
    scaled = [scaled_shape(image, (480, 640), ImageDraws(short_side=word)) for word in words]
    assert Counter(height for height, _ in scaled) == dict.fromkeys(range(256, 321), 10)


@given(
    st.sampled_from(["center", "random"]),
    st.tuples(sides, sides),
    st.tuples(st.integers(0, 300), st.integers(0, 300)),
    st.tuples(st.integers(0, 2**64 - 1), st.integers(0, 2**64 - 1)),
)
def test_corner_keeps_the_window_inside(
    crop: Any, window: tuple[int, int], free: tuple[int, int], draws: tuple[int, int]
) -> None:
    scaled = (window[0] + free[0], window[1] + free[1])
    top, left = crop_corner(Image(size=window, crop=crop), scaled, window, draws)
    assert 0 <= top <= free[0]
    assert 0 <= left <= free[1]


def test_equally_spaced_draws_choose_all_corners_equally_often() -> None:
    image = Image(size=(10, 10), crop="random")
    draws = [(2**64 * number + 2**63) // 1200 for number in range(1200)]
    corners = [crop_corner(image, (13, 15), (10, 10), (draw, draw)) for draw in draws]
    assert Counter(top for top, _ in corners) == dict.fromkeys(range(4), 300)
    assert Counter(left for _, left in corners) == dict.fromkeys(range(6), 200)


def test_center_window_lies_in_the_middle() -> None:
    assert crop_corner(Image(size=(10, 10), crop="center"), (20, 31), (10, 10), (0, 2**64 - 1)) == (5, 10)
