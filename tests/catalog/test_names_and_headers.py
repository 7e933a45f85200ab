"""Natural order, patterns and JPEG headers: the parts of a scan that need no file."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from loader_service.catalog.codecs import picture_size
from loader_service.catalog.natural import natural_key
from loader_service.catalog.patterns import matches
from tests.support.videos import frame_jpeg


def test_digits_sort_by_value():
    names = ["frame10", "frame9", "frame1", "a", "frame01", "", "2", "10"]
    assert sorted(names, key=natural_key) == ["", "2", "10", "a", "frame01", "frame1", "frame9", "frame10"]


def test_runs_of_digits_longer_than_int_accepts_can_be_sorted():
    assert natural_key("v" + "9" * 5000) < natural_key("v1" + "0" * 5000)


@given(st.lists(st.text(alphabet="a01٣/", max_size=6), unique=True))
def test_natural_order_is_total(names):
    keys = [natural_key(name) for name in names]
    assert len(set(keys)) == len(names)
    assert [key[1] for key in sorted(keys)] == sorted(names, key=natural_key)


@pytest.mark.parametrize(
    ("pattern", "path", "expected"),
    [
        ("*/rgb", "clip7/rgb", True),
        ("/*/rgb", "clip7/rgb", True),
        ("*/rgb", "a/clip7/rgb", False),
        ("**/rgb", "a/clip7/rgb", True),
        ("**/rgb", "rgb", True),
        ("a/**", "a/b/c", True),
        ("rgb", "rgbd", False),
        ("clip[0-9]/rgb?", "clip7/rgb1", True),
        ("*", "a/b", False),
        ("*", "", False),
    ],
)
def test_stars_stay_within_a_part_of_the_path(pattern, path, expected):
    assert matches(pattern, path) is expected


@pytest.mark.parametrize("grey", [False, True])
def test_size_comes_from_the_frame_header(grey):
    assert picture_size(frame_jpeg(0, 34, 56, grey=grey)) == (34, 56)


def test_size_is_found_behind_thumbnails_and_fill_bytes():
    jpeg = frame_jpeg(0, 34, 56)
    exif = b"\xff\xe1" + (2 + 60_000).to_bytes(2, "big") + frame_jpeg(1).ljust(60_000, b"\0")
    assert picture_size(jpeg[:2] + exif + b"\xff\xff" + jpeg[2:]) == (34, 56)


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"\xff\xd8",
        b"\x89PNG\r\n\x1a\n",
        b"\xff\xd8\xff\xd9",
        b"\xff\xd8\xff\xc0\x00\x0b\x08\x00\x00\x00\x00",
        b"\0" * 64,
    ],
)
def test_no_jpeg_has_no_size(data):
    assert picture_size(data) is None


@given(st.binary(max_size=200), st.integers(0, 300))
def test_damaged_headers_never_hang_nor_raise(noise, cut):
    jpeg = frame_jpeg(0)
    for data in (jpeg[:cut] + noise, b"\xff\xd8" + noise, jpeg[:cut]):
        size = picture_size(data)
        assert size is None or min(size) > 0
