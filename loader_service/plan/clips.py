"""Which frames of which video a sample is; knows how many frames each video has, and nothing else of any file."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from loader_service.plan.numbering import Samples
from loader_service.plan.randomness import Purpose, below, draws
from loader_service.protocol.spec import Clip


class ClipSamples(Samples):
    """Samples of a data set: one clip of each video, or each window of each video.

    Samples are numbered in the order of the videos, windows of one video by their start. A video too short for the
    clip is one sample, padded by repeating the last frame that the clip really has; a video without frames is none.

    Sample numbers are not video numbers for ``"every"``, and when some video has no frames. Attributes and errors: see
    `Samples`.

    Parameters
    ----------
    frame_counts
        (videos,) frames in each video, none negative, any integer dtype.
    clip
        The clip that is wanted.
    seed
        Chooses the starts of random clips, together with epoch and sample.
    """

    def __init__(self, frame_counts: NDArray[np.integer], clip: Clip, seed: int) -> None:
        self._clip = clip
        self._seed = seed
        super().__init__(frame_counts)
        self.padded_videos = int(np.count_nonzero(self._counts < clip.span)) - self.empty_videos

    def starts(
        self,
        epoch: int,
        samples: ArrayLike,
        keys: ArrayLike | None = None,
        videos: NDArray[np.int64] | None = None,
    ) -> NDArray[np.int64]:
        """Return the first frame of each sample; only for ``"random"`` does it depend on epoch and key."""
        samples = np.asarray(samples, dtype=np.int64)
        videos = self.videos(samples) if videos is None else videos
        last_starts = np.maximum(self._counts[videos].astype(np.int64) - self._clip.span, 0)
        match self._clip.sampling:
            case "random":
                counters = samples if keys is None else np.asarray(keys, dtype=np.int64)
                return below(draws(self._seed, epoch, counters, Purpose.START), last_starts + 1)
            case "center":
                return np.asarray(last_starts // 2)
            case "start":
                return np.zeros_like(last_starts)
            case "every":
                return np.asarray((samples - self.before(videos)) * self._clip.hop)

    def lengths(self, samples: ArrayLike, videos: NDArray[np.int64] | None = None) -> NDArray[np.int64]:
        """Return how many frames of each sample are really there: 1 to `clip.frames`."""
        counts = self._counts[self.videos(samples) if videos is None else videos].astype(np.int64)
        # A clip either fits where it starts or starts at 0, so the video alone decides.
        return np.minimum(-(-counts // self._clip.stride), self._clip.frames)

    def _samples_of_video(self) -> NDArray[np.integer] | None:
        if self._clip.sampling != "every":
            return super()._samples_of_video()
        spare = self._counts.astype(np.int64) - self._clip.span
        return np.where(spare >= 0, spare // self._clip.hop + 1, self._counts > 0)
