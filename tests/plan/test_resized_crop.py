"""The box of a resized crop: torchvision's distribution, inside the frame, the same on every host."""

from __future__ import annotations

import math
from decimal import Decimal

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from loader_service.plan import resized_crop
from loader_service.plan.image_draws import draw_images
from loader_service.plan.image_shape import crop_box
from loader_service.plan.resized_crop import TRIES, Box, BoxRange, draw_box, exponential
from loader_service.protocol.spec import Frame, Image, Spec

USUAL = BoxRange((0.08, 1.0), (3 / 4, 4 / 3))
WORDS = st.integers(0, 2**64 - 1)
SAMPLES = 5_000
GOLDEN = [(14, 34, 444, 380), (38, 250, 310, 348), (12, 72, 465, 409), (5, 8, 331, 263)]


def documented_box(wanted: BoxRange, frame: tuple[int, int], random: np.random.Generator) -> Box:
    """Return a box by the rule that torchvision documents, written from its words alone, with NumPy's numbers."""
    height, width = frame
    for _ in range(10):
        area = height * width * random.uniform(*wanted.scale)
        aspect = math.exp(random.uniform(math.log(wanted.ratio[0]), math.log(wanted.ratio[1])))
        columns, rows = round(math.sqrt(area * aspect)), round(math.sqrt(area / aspect))
        if 0 < columns <= width and 0 < rows <= height:
            return Box(
                int(random.integers(height - rows + 1)), int(random.integers(width - columns + 1)), rows, columns
            )
    if width / height < wanted.ratio[0]:
        columns, rows = width, round(width / wanted.ratio[0])
    elif width / height > wanted.ratio[1]:
        columns, rows = round(height * wanted.ratio[1]), height
    else:
        columns, rows = width, height
    return Box((height - rows) // 2, (width - columns) // 2, rows, columns)


def boxes_of_samples(image: Image, frame: tuple[int, int]) -> NDArray[np.int64]:
    drawn = draw_images(Spec(1, Frame(), image, seed=5), 2, np.arange(SAMPLES))
    return np.array([crop_box(image, frame, each) for each in drawn])


def distance(one: NDArray[np.float64], other: NDArray[np.float64]) -> float:
    """Return the largest distance between two samples' distribution functions (Kolmogorov and Smirnov)."""
    places = np.concatenate([one, other])
    one, other = np.sort(one), np.sort(other)
    shares = (np.searchsorted(each, places, side="right") / len(each) for each in (one, other))
    return float(np.abs(next(shares) - next(shares)).max())


@pytest.mark.parametrize(
    ("frame", "wanted"),
    [
        ((480, 640), USUAL),
        ((256, 342), BoxRange((0.2, 0.6), (0.5, 2.0))),
        ((100, 500), USUAL),  # many boxes do not fit, and some samples get the central one
        ((64, 16), BoxRange((0.9, 1.0), (3 / 4, 4 / 3))),  # none fits
    ],
)
def test_boxes_have_the_documented_distribution(frame: tuple[int, int], wanted: BoxRange) -> None:
    random = np.random.default_rng(1)
    expected = np.array([documented_box(wanted, frame, random) for _ in range(SAMPLES)])
    found = boxes_of_samples(Image(size=32, crop="resized", scale=wanted.scale, ratio=wanted.ratio), frame)
    bound = 1.95 * math.sqrt(2 / SAMPLES)  # 1 in 1000 for each column
    for name, one, other in zip(("top", "left", "height", "width"), found.T, expected.T, strict=True):
        assert distance(one, other) < bound, name
    for numbers in (
        lambda box: box[:, 2] * box[:, 3],
        lambda box: box[:, 3] / box[:, 2],
        lambda box: box[:, 0] * box[:, 2],
    ):
        assert distance(numbers(found), numbers(expected)) < bound


@given(
    frame=st.tuples(st.integers(1, 3000), st.integers(1, 3000)),
    scale=st.tuples(st.floats(1e-6, 1), st.floats(1e-6, 1)).map(sorted).map(tuple),
    ratio=st.tuples(st.floats(1e-3, 1e3), st.floats(1e-3, 1e3)).map(sorted).map(tuple),
    word=WORDS,
    corner=st.tuples(WORDS, WORDS),
)
def test_every_box_lies_in_the_frame(frame, scale, ratio, word, corner) -> None:
    box = draw_box(BoxRange(scale, ratio), frame, word, corner)
    assert box.height >= 1
    assert box.width >= 1
    assert 0 <= box.top <= frame[0] - box.height
    assert 0 <= box.left <= frame[1] - box.width


def test_after_ten_tries_the_central_box_is_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    tried = []
    monkeypatch.setattr(resized_crop, "_fraction", lambda word: tried.append(word) or 0.999)
    assert draw_box(BoxRange((0.5, 1.0), (3 / 4, 4 / 3)), (10, 1000), 7, (0, 0)) == Box(0, 493, 10, 13)
    assert len(tried) == 2 * TRIES


@pytest.mark.parametrize(
    ("frame", "ratio", "box"),
    [
        ((1000, 10), (3 / 4, 4 / 3), Box(493, 0, 13, 10)),
        ((100, 100), (3 / 4, 4 / 3), Box(0, 0, 100, 100)),
        ((5, 1), (2.0, 3.0), Box(2, 0, 1, 1)),  # half a row is one
        ((1, 5), (1 / 3, 0.4), Box(0, 2, 1, 1)),
    ],
)
def test_the_central_box_has_the_nearest_allowed_aspect(frame, ratio, box) -> None:
    assert resized_crop._central(ratio, frame) == box


def test_boxes_are_those_of_earlier_versions() -> None:
    drawn = draw_images(Spec(1, Frame(), Image(size=8, crop="resized"), seed=3), 1, np.arange(4))
    assert [tuple(crop_box(Image(size=8, crop="resized"), (480, 640), each)) for each in drawn] == GOLDEN


@given(st.floats(-7, 7))
def test_an_exponential_is_that_of_decimal(number: float) -> None:
    assert math.isclose(exponential(number), float(Decimal(number).exp()), rel_tol=2**-44)


def test_equal_frames_of_a_sample_share_the_box_and_others_its_share() -> None:
    image = Image(size=8, crop="resized")
    (draws,) = draw_images(Spec(1, Frame(), image), 0, np.array([11]))
    small, large = crop_box(image, (120, 160), draws), crop_box(image, (480, 640), draws)
    assert crop_box(image, (120, 160), draws) == small
    assert all(abs(4 * one - other) <= 4 for one, other in zip(small, large, strict=True))
