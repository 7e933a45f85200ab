"""Turned and mirrored pictures: what films and EXIF data ask for, against PIL and against the matrix itself."""

from __future__ import annotations

import io
from itertools import product
from typing import Any

import numpy as np
import pytest
from PIL import Image, ImageOps

from loader_service.errors import PackError
from loader_service.pack.orientation import UPRIGHT, of_matrix, of_picture

PIXELS = np.arange(4 * 6 * 3, dtype=np.uint8).reshape(4, 6, 3)


def picture(kind: str, orientation: int) -> bytes:
    exif, file = Image.Exif(), io.BytesIO()
    exif[0x0112] = orientation
    Image.fromarray(PIXELS).save(file, kind, exif=exif)
    return file.getvalue()


@pytest.mark.parametrize(("kind", "orientation"), list(product(("JPEG", "PNG"), range(1, 9))))
def test_exif_data_turn_a_picture_as_pil_does(kind: str, orientation: int) -> None:
    data = picture(kind, orientation)
    with Image.open(io.BytesIO(data)) as image:
        expected = np.asarray(ImageOps.exif_transpose(image))
        plain = np.asarray(image)
    found = of_picture(data)
    assert np.array_equal(found.turned(plain), expected)
    assert (found == UPRIGHT) == (orientation == 1)


@pytest.mark.parametrize("kind", ["JPEG", "PNG"])
def test_what_cannot_be_read_asks_for_nothing(kind: str) -> None:
    data = picture(kind, 6)
    for end in range(len(data)):
        assert of_picture(data[:end]) in {UPRIGHT, of_picture(data)}


def matrix(across: int, down: int, across_by_row: int, down_by_row: int) -> bytes:
    return np.array([across, down, 0, across_by_row, down_by_row, 0, 0, 0, 2**30], np.int32).tobytes()


def shown(pixels: Any, across: int, down: int, across_by_row: int, down_by_row: int) -> Any:
    """Return where the matrix puts each pixel, one by one."""
    places = {
        (column * down + row * down_by_row, column * across + row * across_by_row): pixels[row, column]
        for row, column in np.ndindex(pixels.shape[:2])
    }
    rows, columns = (sorted({place[axis] for place in places}) for axis in (0, 1))
    return np.array([[places[row, column] for column in columns] for row in rows])


@pytest.mark.parametrize(("first", "second"), list(product((-1, 1), repeat=2)))
def test_a_matrix_puts_each_pixel_where_it_says(first: int, second: int) -> None:
    for numbers in ((first, 0, 0, second), (0, first, second, 0)):
        whole = [2**16 * each for each in numbers]
        assert np.array_equal(of_matrix(matrix(*whole), "it").turned(PIXELS), shown(PIXELS, *numbers))


def test_an_empty_matrix_turns_nothing_and_a_slanted_one_is_refused() -> None:
    assert of_matrix(matrix(0, 0, 0, 0), "it") == UPRIGHT
    with pytest.raises(PackError, match="it is to be shown turned by 45 degrees"):
        of_matrix(matrix(46340, -46340, 46340, 46340), "it")
