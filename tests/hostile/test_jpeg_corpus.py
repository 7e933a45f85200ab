"""Damaged frames by the thousand: each is decoded into its own memory and no other, or refused, and soon."""

from __future__ import annotations

import pytest

from benchmarks.fuzz import JPEG_LIMITS, decode_frames, fuzz_jpeg
from loader_service.errors import DecodeError
from loader_service.worker.decode import check_header
from tests.hostile import inputs
from tests.worker import jpegs


@pytest.mark.parametrize("number", range(len(inputs.jpegs())))
def test_a_damaged_frame_is_decoded_within_its_memory_or_refused(number):
    tally = fuzz_jpeg([inputs.jpegs()[number]], 600, seed=number)
    assert tally.outcomes.total() == 600
    assert tally.outcomes["refused while decoding"] + tally.outcomes["refused from the header"] > 100
    assert tally.outcomes["decoded"] > 20


@pytest.mark.parametrize("frame", inputs.jpegs())
def test_a_frame_cut_off_anywhere_is_refused(frame):
    cuts = [frame[:length] for length in range(0, len(frame) - 100, 7)]
    assert "decoded" not in decode_frames(iter(cuts), len(cuts)).outcomes


def test_sizes_in_the_header_that_would_need_gigabytes_are_refused_before_memory_is_taken():
    for height, width in ((65_500, 65_500), (65_535, 1), (1, 65_535), (16_385, 16), (16_384, 16_384), (32_768, 43_691)):
        with pytest.raises(DecodeError, match="the header says"):
            check_header(jpegs.with_size(jpegs.jpeg(16, 16), height, width), JPEG_LIMITS)
