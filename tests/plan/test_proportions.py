"""Three files of 1000, 2000 and 3000 samples: every place of every batch sees them in proportion to their sizes."""

from __future__ import annotations

import numpy as np
import pytest

from loader_service.plan.plans import make_plan
from loader_service.plan.samples import make_samples
from loader_service.protocol.spec import Clip, Frame, Spec
from tests.plan.uniformity import chi_square_p

SIZES = np.asarray([1000, 2000, 3000])
EPOCHS = 40
BATCH_SIZE = 16

#: Either each file is one video whose frames are the samples, or each has as many videos.
CASES = {
    "frames": (Frame(), SIZES, np.arange(3)),
    "clips": (Clip(4), np.full(6000, 30), np.repeat(np.arange(3), SIZES)),
}


def files_of_epochs(case: str, **options) -> np.ndarray:
    """Return the file of each sample: (epochs, steps, batch)."""
    clip, frame_counts, video_file = CASES[case]
    samples = make_samples(frame_counts, clip, seed=0)
    plan = make_plan(samples, video_file, Spec(BATCH_SIZE, clip, **options))
    assert plan.steps_per_epoch == 6000 // BATCH_SIZE
    numbers = [[plan.samples(epoch, step) for step in range(plan.steps_per_epoch)] for epoch in range(EPOCHS)]
    return video_file[samples.videos(np.asarray(numbers))]


def proportions_p(files: np.ndarray, axes: tuple[int, ...]) -> np.ndarray:
    """Return whether the files' shares are 1 : 2 : 3, for each place that is left when `axes` are summed over."""
    counts = np.stack([(files == file).sum(axis=axes) for file in range(3)], axis=-1)
    expected = counts.sum(axis=-1, keepdims=True) * SIZES / SIZES.sum()
    statistic = ((counts - expected) ** 2 / expected).sum(axis=-1)
    return np.asarray([chi_square_p(float(each), 2) for each in statistic.reshape(-1)])


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("axes", [(0, 1), (0, 2)])
def test_each_row_and_each_step_has_the_files_in_proportion_to_their_sizes(case, axes):
    p = proportions_p(files_of_epochs(case, seed=1), axes)
    # 16 rows, or 375 steps: as many p-values, of which none is tiny, and small ones are as rare as they should be.
    assert p.min() > 0.05 / len(p) / 10
    assert (p < 0.1).mean() < 0.1 + 3 * np.sqrt(0.09 / len(p))


def test_an_order_of_equal_shares_per_file_would_be_noticed():
    steps = files_of_epochs("frames").shape[1]
    equal = np.broadcast_to(np.arange(EPOCHS * steps * BATCH_SIZE) % 3, (EPOCHS * steps * BATCH_SIZE,))
    assert proportions_p(equal.reshape(EPOCHS, steps, BATCH_SIZE), (0, 1)).max() < 1e-6


def test_interleaving_is_not_proportional_and_that_is_why_it_is_not_the_default():
    files = files_of_epochs("frames", order="interleave", cycle_length=3, shuffle=False)
    first = files[0, :50].reshape(-1)
    assert [int((first == file).sum()) for file in range(3)] == [267, 267, 266]
    assert set(files[0, -50:].reshape(-1).tolist()) == {2}
