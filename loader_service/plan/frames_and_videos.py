"""Samples that leave nothing to draw, single frames and whole videos; knows how many frames each video has, no more.

Both answer what every plan of samples is asked, so some of their arguments are of no use to them.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from loader_service.plan.numbering import Numbering


class FramePlan(Numbering):
    """Each frame of each video is a sample: its number is the frame's number over all videos.

    Pure, as `loader_service.plan.clips.ClipPlan` is, and with the same methods. Parameters, attributes and errors: see
    `Numbering`. No frame is repeated.
    """

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

    def _samples_of_video(self) -> NDArray[np.integer]:
        return self._counts


class VideoPlan(Numbering):
    """Each video is a sample, with all of its frames; a video without frames is none.

    Pure, as `loader_service.plan.clips.ClipPlan` is, and with the same methods. Parameters, attributes and errors: see
    `Numbering`. No frame is repeated.
    """

    def starts(self, epoch: int, samples: ArrayLike, keys: ArrayLike | None = None) -> NDArray[np.int64]:  # noqa: ARG002
        """Return the first frame of each sample: 0."""
        return np.zeros(np.shape(samples), np.int64)

    def lengths(self, samples: ArrayLike) -> NDArray[np.int64]:
        """Return how many frames each sample has."""
        return self._counts[self.videos(samples)].astype(np.int64)

    def frames(self, video: int, start: int) -> NDArray[np.int64]:  # noqa: ARG002
        """Return the frame numbers of a sample, all of its video's."""
        return np.arange(int(self._counts[video]), dtype=np.int64)
