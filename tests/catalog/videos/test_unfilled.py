"""Frames without bytes have a line with the first of them; without any there is none."""

from __future__ import annotations

import numpy as np

from loader_service.catalog.videos.episodes import Episode, VideoField
from loader_service.catalog.videos.unfilled import lines_of_empty


def episodes(*counts):
    return [
        Episode(f"v{number}", f"v{number}", count, "", {"top": VideoField("image", "uint8", (), f"v{number}/top")})
        for number, count in enumerate(counts)
    ]


def test_empty_frames_are_counted_and_the_first_is_named_in_its_video():
    lines = lines_of_empty("top", episodes(3, 4, 2), np.array([9, 9, 9, 9, 9, 0, 0, 9, 0]))
    assert list(lines) == ["top (empty)"]
    assert "3 of 9 frames have no bytes, such as 'v1/top', frame 2," in lines["top (empty)"]


def test_frames_that_all_have_bytes_have_no_line():
    assert lines_of_empty("top", episodes(3), np.array([1, 1, 1])) == {}
