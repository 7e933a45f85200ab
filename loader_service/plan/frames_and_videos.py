"""Samples that leave nothing to draw, single frames and whole videos; knows how many frames each video has, no more.

Both answer what every plan of samples is asked, so some of their arguments are of no use to them.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from loader_service.plan.numbering import Samples


class FrameSamples(Samples):
    """Each frame of each video is a sample: its number is the frame's number over all videos.

    Parameters, attributes and errors: see `Samples`. No frame is repeated.
    """

    def starts(
        self,
        epoch: int,  # noqa: ARG002
        samples: ArrayLike,
        keys: ArrayLike | None = None,  # noqa: ARG002
        videos: NDArray[np.int64] | None = None,
    ) -> NDArray[np.int64]:
        """Return the place of each frame in its video."""
        samples = np.asarray(samples, dtype=np.int64)
        return np.asarray(samples - self.before(self.videos(samples) if videos is None else videos))

    def lengths(self, samples: ArrayLike, videos: NDArray[np.int64] | None = None) -> NDArray[np.int64]:  # noqa: ARG002
        """Return how many frames each sample has: one."""
        ones = np.empty(np.shape(samples), np.int64)
        ones.fill(1)  # a third of the time of `np.ones`
        return ones

    def _samples_of_video(self) -> NDArray[np.integer]:
        return self._counts


class VideoSamples(Samples):
    """Each video is a sample, with all of its frames; a video without frames is none.

    Parameters, attributes and errors: see `Samples`. No frame is repeated.
    """

    def starts(
        self,
        epoch: int,  # noqa: ARG002
        samples: ArrayLike,
        keys: ArrayLike | None = None,  # noqa: ARG002
        videos: NDArray[np.int64] | None = None,  # noqa: ARG002
    ) -> NDArray[np.int64]:
        """Return the first frame of each sample: 0."""
        return np.zeros(np.shape(samples), np.int64)

    def lengths(self, samples: ArrayLike, videos: NDArray[np.int64] | None = None) -> NDArray[np.int64]:
        """Return how many frames each sample has."""
        return self._counts[self.videos(samples) if videos is None else videos].astype(np.int64)
