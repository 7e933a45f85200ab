"""Samples that leave nothing to draw, single frames and whole videos; knows how many frames each video has, no more.

Both answer what every plan of samples is asked, so some of their arguments are of no use to them.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from loader_service.plan.numbering import Numbering, checked_counts


class FramePlan(Numbering):
    """Each frame of each video is a sample: its number is the frame's number over all videos.

    Pure, as `loader_service.plan.clips.ClipPlan` is, and with the same methods.

    Parameters
    ----------
    frame_counts
        (videos,) frames in each video, none negative, any integer dtype.

    Attributes
    ----------
    sample_count : int
        Samples in an epoch.
    padded_videos : int
        Always 0: no frame is repeated.
    empty_videos : int
        Videos without frames, which yield no sample.

    Raises
    ------
    ValueError
        When `frame_counts` is no one-dimensional column of whole numbers, or one is negative.
    """

    padded_videos = 0

    def __init__(self, frame_counts: NDArray[np.integer]) -> None:
        counts = checked_counts(frame_counts)
        self.empty_videos = int(np.count_nonzero(counts == 0))
        super().__init__(counts, len(counts))

    def starts(self, epoch: int, samples: ArrayLike, keys: ArrayLike | None = None) -> NDArray[np.int64]:  # noqa: ARG002
        """Return the place of each frame in its video."""
        samples = np.asarray(samples, dtype=np.int64)
        return np.asarray(samples - self.before(self.videos(samples)))

    def lengths(self, samples: ArrayLike) -> NDArray[np.int64]:
        """Return how many frames each sample has: one."""
        return np.ones(np.shape(samples), np.int64)

    def frames(self, video: int, start: int) -> NDArray[np.int64]:  # noqa: ARG002
        """Return the frame numbers of a sample: (1,)."""
        return np.asarray([start], np.int64)


class VideoPlan(Numbering):
    """Each video is a sample, with all of its frames; a video without frames is none.

    Pure, as `loader_service.plan.clips.ClipPlan` is, and with the same methods.

    Parameters
    ----------
    frame_counts
        (videos,) frames in each video, none negative, any integer dtype.

    Attributes
    ----------
    sample_count : int
        Samples in an epoch.
    padded_videos : int
        Always 0: no frame is repeated.
    empty_videos : int
        Videos without frames, which yield no sample.

    Raises
    ------
    ValueError
        When `frame_counts` is no one-dimensional column of whole numbers, or one is negative.
    """

    padded_videos = 0

    def __init__(self, frame_counts: NDArray[np.integer]) -> None:
        self._counts = checked_counts(frame_counts)
        self.empty_videos = int(np.count_nonzero(self._counts == 0))
        super().__init__((self._counts > 0).astype(np.int64) if self.empty_videos else None, len(self._counts))

    def starts(self, epoch: int, samples: ArrayLike, keys: ArrayLike | None = None) -> NDArray[np.int64]:  # noqa: ARG002
        """Return the first frame of each sample: 0."""
        return np.zeros(np.shape(samples), np.int64)

    def lengths(self, samples: ArrayLike) -> NDArray[np.int64]:
        """Return how many frames each sample has."""
        return self._counts[self.videos(samples)].astype(np.int64)

    def frames(self, video: int, start: int) -> NDArray[np.int64]:  # noqa: ARG002
        """Return the frame numbers of a sample, all of its video's."""
        return np.arange(int(self._counts[video]), dtype=np.int64)
