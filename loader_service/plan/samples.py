"""What a sample is: chooses between clips, single frames and whole videos, which all answer the same questions."""

from __future__ import annotations

from typing import Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from loader_service.plan.clips import ClipPlan
from loader_service.plan.frames_and_videos import FramePlan, VideoPlan
from loader_service.protocol.spec import Clip, Frame


class Samples(Protocol):
    """The samples of a data set, numbered in the order of the videos.

    Pure: daemon and workers each make their own from the same column, and get the same answers.
    """

    sample_count: int
    padded_videos: int
    empty_videos: int

    def videos(self, samples: ArrayLike) -> NDArray[np.int64]:
        """Return the video of each sample; IndexError when there is no such sample."""

    def before(self, videos: ArrayLike) -> NDArray[np.int64]:
        """Return how many samples the videos before each of `videos` have: the number of its first sample."""

    def starts(self, epoch: int, samples: ArrayLike, keys: ArrayLike | None = None) -> NDArray[np.int64]:
        """Return the first frame of each sample; what is drawn hangs on (seed, epoch, key), None: on the sample."""

    def lengths(self, samples: ArrayLike) -> NDArray[np.int64]:
        """Return how many frames each sample really has, the same in every epoch."""

    def frames(self, video: int, start: int) -> NDArray[np.int64]:
        """Return the frame numbers of the sample of a video that begins at `start`."""


def make_samples(frame_counts: NDArray[np.integer], clip: Clip | Frame | None, seed: int) -> Samples:
    """Return the samples of videos with these many frames.

    Parameters
    ----------
    frame_counts
        (videos,) frames in each video, none negative, any integer dtype; kept, not copied.
    clip
        As in `Spec`.
    seed
        Chooses what is drawn, together with epoch and key.

    Raises
    ------
    ValueError
        When `frame_counts` is no one-dimensional column of whole numbers, or one is negative.
    """
    match clip:
        case Clip():
            return ClipPlan(frame_counts, clip, seed)
        case Frame():
            return FramePlan(frame_counts)
        case None:
            return VideoPlan(frame_counts)
