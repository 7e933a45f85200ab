"""Single frames and whole videos as samples, and what all plans of samples have in common."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from loader_service.plan.samples import make_samples
from loader_service.protocol.spec import Clip, Frame

COUNTS = st.lists(st.integers(0, 12), min_size=1, max_size=20).map(lambda counts: np.asarray(counts, np.int32))
CLIPS = (Clip(3), Clip(3, stride=2, sampling="every", hop=2), Clip(2, sampling="center"), Frame(), None)


@given(COUNTS)
def test_each_frame_of_each_video_is_one_sample(counts):
    plan = make_samples(counts, Frame(), seed=0)
    numbers = np.arange(plan.sample_count)
    expected = [(video, frame) for video, count in enumerate(counts) for frame in range(count)]
    assert list(zip(plan.videos(numbers).tolist(), plan.starts(7, numbers).tolist(), strict=True)) == expected
    assert plan.lengths(numbers).tolist() == [1] * len(expected)


@given(COUNTS)
def test_each_video_with_frames_is_one_sample_with_all_of_them(counts):
    plan = make_samples(counts, None, seed=0)
    numbers = np.arange(plan.sample_count)
    expected = [video for video, count in enumerate(counts) if count]
    assert plan.videos(numbers).tolist() == expected
    assert plan.lengths(numbers).tolist() == [counts[video] for video in expected]
    assert plan.starts(3, numbers).tolist() == [0] * len(expected)
    assert plan.empty_videos == len(counts) - len(expected)


@pytest.mark.parametrize("clip", CLIPS)
@given(counts=COUNTS)
def test_the_samples_of_a_video_follow_one_another(clip, counts):
    plan = make_samples(counts, clip, seed=0)
    bounds = plan.before(np.arange(len(counts) + 1)).tolist()
    assert bounds[-1] == plan.sample_count
    videos = plan.videos(np.arange(plan.sample_count)).tolist()
    for video, (first, end) in enumerate(itertools.pairwise(bounds)):
        assert [number for number, each in enumerate(videos) if each == video] == list(range(first, end))


@pytest.mark.parametrize("clip", CLIPS)
@pytest.mark.parametrize("sample", [-1, 10**9])
def test_a_sample_that_does_not_exist_is_an_error(clip, sample):
    with pytest.raises(IndexError, match=str(sample)):
        make_samples(np.asarray([4, 5]), clip, seed=0).videos([0, sample])


def test_2_to_the_40_items_take_no_memory():
    plan = make_samples(np.asarray([2**40]), Frame(), seed=0)
    assert plan.sample_count == 2**40
    assert plan.starts(0, [2**40 - 1]).tolist() == [2**40 - 1]


def test_starts_are_drawn_by_key():
    plan = make_samples(np.full(50, 1000), Clip(4), seed=5)
    samples = np.arange(50)
    assert plan.starts(0, samples, keys=samples).tolist() == plan.starts(0, samples).tolist()
    same_sample = plan.starts(0, np.zeros(50, np.int64), keys=samples)
    assert same_sample.tolist() == plan.starts(0, samples).tolist()
    assert len(set(same_sample.tolist())) > 40
    assert plan.starts(0, samples, keys=np.zeros(50, np.int64)).tolist() == [same_sample[0]] * 50
