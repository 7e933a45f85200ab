"""Numbers the samples of one video after the other, and finds the video of each; knows nothing of their frames."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray


class Numbering:
    """Sample numbers in the order of the videos.

    An index of 8 bytes per video is kept only where sample numbers are not video numbers.

    Parameters
    ----------
    samples_of_video
        (videos,) samples of each video; None when each has just one.
    video_count
        Videos that exist.

    Attributes
    ----------
    sample_count : int
        Samples of all videos together.
    """

    def __init__(self, samples_of_video: NDArray[np.integer] | None, video_count: int) -> None:
        # Samples of the videos before each video; the last entry, of all of them.
        self._firsts: NDArray[np.int64] | None = None
        self.sample_count = video_count
        if samples_of_video is not None:
            self._firsts = np.concatenate([[0], np.cumsum(samples_of_video, dtype=np.int64)])
            self.sample_count = int(self._firsts[-1])

    def videos(self, samples: ArrayLike) -> NDArray[np.int64]:
        """Return the video of each sample, in the shape of `samples`; a fresh array.

        Raises
        ------
        IndexError
            When there is no such sample.
        """
        samples = np.asarray(samples, dtype=np.int64)
        if samples.size and not 0 <= samples.min() <= samples.max() < self.sample_count:
            outside = samples[(samples < 0) | (samples >= self.sample_count)]
            raise IndexError(f"looking up sample {int(outside.flat[0])} of {self.sample_count}; numbers begin at 0")
        if self._firsts is None:
            return np.array(samples)
        # The last video that begins at or before the sample: those without samples begin where the next one does.
        return np.asarray(np.searchsorted(self._firsts, samples, side="right") - 1, dtype=np.int64)

    def before(self, videos: ArrayLike) -> NDArray[np.int64]:
        """Return how many samples the videos before each of `videos` have; of the number of videos: how many all have.

        It is the number of the video's first sample, where it has one.
        """
        videos = np.asarray(videos, dtype=np.int64)
        return np.array(videos) if self._firsts is None else np.asarray(self._firsts[videos])


def checked_counts(frame_counts: NDArray[np.integer]) -> NDArray[np.integer]:
    """Return a column of frame counts as a plain array that shares its memory.

    Raises
    ------
    ValueError
        When it is no one-dimensional column of whole numbers, or one is negative.
    """
    counts = np.asarray(frame_counts)
    if counts.ndim != 1 or not np.issubdtype(counts.dtype, np.integer):
        raise ValueError(
            f"planning samples: expected a column of whole frame counts, got {counts.dtype!r} of shape {counts.shape!r}"
        )
    if counts.size and counts.min() < 0:
        video = int(np.argmin(counts))
        raise ValueError(f"planning samples: video {video} has {int(counts[video])!r} frames; give 0 or more")
    return counts
