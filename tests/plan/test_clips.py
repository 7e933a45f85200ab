"""Clips: which video, where it starts, how long it is, and what stands in for frames that are missing."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from loader_service.plan.clips import ClipSamples
from loader_service.protocol.spec import Clip
from tests.plan.uniformity import even_counts_p

SAMPLINGS = ("random", "center", "start", "every")
CLIPS = st.builds(
    Clip,
    frames=st.integers(1, 12),
    stride=st.integers(1, 5),
    sampling=st.sampled_from(SAMPLINGS),
    hop=st.integers(1, 9),
)
COUNTS = st.lists(st.integers(0, 60), max_size=12).map(lambda counts: np.array(counts, dtype=np.int32))


def plain_windows(count: int, clip: Clip) -> list[int]:
    """Starts of the windows of one video, by trying them all."""
    if count == 0:
        return []
    return [start for start in range(0, count, clip.hop) if start + clip.span <= count] or [0]


def test_random_starts_are_those_of_earlier_versions():
    plan = ClipSamples(np.array([30, 5, 0, 100, 16]), Clip(8, stride=2), seed=3)
    assert plan.starts(0, np.arange(4)).tolist() == [6, 0, 36, 1]
    assert plan.starts(1, np.arange(4)).tolist() == [5, 0, 28, 0]


def test_every_window_comes_once_and_in_order():
    plan = ClipSamples(np.array([10, 3, 4], dtype=np.int32), Clip(4, sampling="every", hop=3), seed=0)
    samples = np.arange(plan.sample_count)
    assert plan.videos(samples).tolist() == [0, 0, 0, 1, 2]
    assert plan.starts(0, samples).tolist() == [0, 3, 6, 0, 0]
    assert plan.lengths(samples).tolist() == [4, 4, 4, 3, 4]
    assert plan.padded_videos == 1


@given(COUNTS, CLIPS)
def test_windows_equal_those_found_by_trying(counts, clip):
    if clip.sampling != "every":
        expected = [(video, None) for video, count in enumerate(counts) if count]
    else:
        expected = [(video, start) for video, count in enumerate(counts) for start in plain_windows(int(count), clip)]
    plan = ClipSamples(counts, clip, seed=1)
    samples = np.arange(plan.sample_count)
    assert plan.videos(samples).tolist() == [video for video, _ in expected]
    if clip.sampling == "every":
        assert plan.starts(0, samples).tolist() == [start for _, start in expected]


@given(COUNTS, CLIPS, st.integers(0, 5))
def test_frames_exist_and_are_as_many_as_the_length_says(counts, clip, epoch):
    plan = ClipSamples(counts, clip, seed=1)
    samples = np.arange(plan.sample_count)
    rows = zip(plan.videos(samples), plan.starts(epoch, samples), plan.lengths(samples), strict=True)
    for video, start, length in rows:
        wanted = [int(start) + index * clip.stride for index in range(clip.frames)]
        there = [frame for frame in wanted if frame < counts[video]]
        assert length == len(there)
        if counts[video] >= clip.span:
            assert length == clip.frames
        else:
            assert start == 0


@given(COUNTS, CLIPS)
def test_short_and_empty_videos_are_counted(counts, clip):
    plan = ClipSamples(counts, clip, seed=1)
    assert plan.empty_videos == sum(count == 0 for count in counts)
    assert plan.padded_videos == sum(0 < count < clip.span for count in counts)


def test_the_length_of_a_short_video_counts_what_its_clip_really_has():
    plan = ClipSamples(np.array([6], dtype=np.int32), Clip(5, stride=2), seed=0)
    assert plan.lengths(np.array([0])).tolist() == [3]


def test_center_clip_leaves_as_much_before_it_as_behind():
    plan = ClipSamples(np.array([10, 11, 4, 3], dtype=np.int32), Clip(4, sampling="center"), seed=0)
    assert plan.starts(3, np.arange(4)).tolist() == [3, 3, 0, 0]


def test_start_clip_begins_at_the_first_frame():
    plan = ClipSamples(np.array([10, 11], dtype=np.int32), Clip(4, sampling="start"), seed=0)
    assert plan.starts(3, np.arange(2)).tolist() == [0, 0]


def test_random_starts_are_even_over_all_that_fit():
    plan = ClipSamples(np.full(20_000, 40, dtype=np.int32), Clip(8, stride=3), seed=0)
    starts = plan.starts(0, np.arange(20_000))
    assert even_counts_p(np.bincount(starts, minlength=40 - 22 + 1)) > 1e-4
    assert starts.max() == 18


def test_random_starts_of_one_video_are_even_over_epochs():
    plan = ClipSamples(np.array([12], dtype=np.int32), Clip(4), seed=0)
    starts = np.array([int(plan.starts(epoch, 0)) for epoch in range(5000)])
    assert even_counts_p(np.bincount(starts, minlength=9)) > 1e-4
    assert even_counts_p(np.bincount(starts[:-1] * 9 + starts[1:], minlength=81)) > 1e-4


def test_seed_and_epoch_change_random_starts_only():
    counts, samples = np.full(100, 500, dtype=np.int32), np.arange(100)
    for sampling in SAMPLINGS:
        starts = [
            ClipSamples(counts, Clip(4, sampling=sampling), seed).starts(e, samples)
            for seed, e in ((0, 0), (0, 1), (1, 0))
        ]
        same = [np.array_equal(starts[0], other) for other in starts[1:]]
        assert same == ([False, False] if sampling == "random" else [True, True])


@pytest.mark.parametrize("sampling", SAMPLINGS)
def test_answers_for_a_batch_are_those_for_each_sample(sampling):
    plan = ClipSamples(np.array([30, 0, 5, 44], dtype=np.int32), Clip(6, 2, sampling, hop=4), seed=9)
    samples = np.array([2, 0, 1, 1])
    for answers in (plan.videos, lambda s: plan.starts(3, s), plan.lengths):
        assert answers(samples).tolist() == [int(answers(sample)) for sample in samples]
        assert answers(samples.reshape(2, 2)).shape == (2, 2)
        assert answers(samples).dtype == np.int64


@pytest.mark.parametrize("sampling", SAMPLINGS)
def test_videos_without_frames_make_no_samples(sampling):
    plan = ClipSamples(np.zeros(3, dtype=np.int32), Clip(4, sampling=sampling), seed=0)
    assert plan.sample_count == 0
    assert plan.videos(np.arange(0)).tolist() == []
    assert ClipSamples(np.zeros(0, dtype=np.int32), Clip(4, sampling=sampling), seed=0).sample_count == 0


def test_counts_and_spans_beyond_32_bits_do_not_overflow():
    most = 2**31 - 1
    plan = ClipSamples(np.full(4, most, dtype=np.int32), Clip(1, sampling="every"), seed=0)
    assert plan.sample_count == 4 * most
    assert plan.videos(np.array([4 * most - 1])).tolist() == [3]
    assert plan.starts(0, np.array([4 * most - 1])).tolist() == [most - 1]
    wide = ClipSamples(np.full(1, most, dtype=np.int32), Clip(65_536, stride=65_536), seed=0)
    assert wide.padded_videos == 1
    assert wide.lengths(np.array([0])).tolist() == [32_768]


def test_memory_mapped_column_is_not_copied(tmp_path):
    np.save(tmp_path / "frames.npy", np.full(10, 30, dtype=np.int32))
    column = np.load(tmp_path / "frames.npy", mmap_mode="r")
    plan = ClipSamples(column, Clip(4), seed=0)
    assert np.shares_memory(plan._counts, column)
    assert type(plan.starts(0, np.arange(10))) is np.ndarray


@pytest.mark.parametrize("sample", [-1, 5])
@pytest.mark.parametrize("sampling", ["random", "every"])
def test_unknown_sample_is_refused_by_number(sample, sampling):
    plan = ClipSamples(np.full(5, 4, dtype=np.int32), Clip(4, sampling=sampling), seed=0)
    for answers in (plan.videos, lambda s: plan.starts(0, s), plan.lengths):
        with pytest.raises(IndexError, match=f"sample {sample} of 5"):
            answers(np.array([0, sample]))


@pytest.mark.parametrize(
    ("column", "message"),
    [
        (np.ones(3), "float64"),
        (np.ones((2, 2), dtype=np.int32), r"shape \(2, 2\)"),
        (np.array([3, -2], dtype=np.int32), "video 1 has -2 frames"),
    ],
)
def test_column_that_is_none_is_refused(column, message):
    with pytest.raises(ValueError, match=message):
        ClipSamples(column, Clip(2), seed=0)
