"""What is not as it was written has another sum: a page that is missing, old or elsewhere, and any changed byte."""

from __future__ import annotations

import numpy as np
import pytest

from loader_service.frame_cache.pixel_sum import pixel_sum, word_of


@pytest.mark.parametrize("size", [1, 7, 4095, 4096, 4097, 37_632, 100_000])
def test_any_changed_byte_changes_the_sum(size: int) -> None:
    pixels = np.random.default_rng(size).integers(0, 256, size, dtype=np.uint8)
    whole = pixel_sum(pixels)
    for place in {0, size // 2, size - 1}:
        changed = pixels.copy()
        changed[place] ^= 1
        assert pixel_sum(changed) != whole


def test_pages_that_are_missing_or_elsewhere_change_the_sum() -> None:
    pages = np.random.default_rng(0).integers(0, 256, (8, 4096), dtype=np.uint8)
    whole = pixel_sum(pages.reshape(-1))
    for page in range(8):
        missing, moved = pages.copy(), pages.copy()
        missing[page] = 0
        moved[[page, (page + 3) % 8]] = moved[[(page + 3) % 8, page]]
        assert pixel_sum(missing.reshape(-1)) != whole
        assert pixel_sum(moved.reshape(-1)) != whole


def test_memory_at_any_address_has_the_same_sum() -> None:
    room = np.random.default_rng(0).integers(0, 256, 50_010, dtype=np.uint8)
    sums = {pixel_sum(room[at : at + 50_000].copy()) == pixel_sum(room[at : at + 50_000]) for at in range(9)}

    assert sums == {True}


def test_a_word_names_file_and_frame() -> None:
    words = {word_of(total, tag, frame) for total in (0, 1, 2**64 - 1) for tag in (1, 3) for frame in (0, 1)}

    assert len(words) == 12
