"""What all kinds of samples have in common: their numbers, in the order of the videos; which they are, each says."""

from __future__ import annotations

from abc import ABC, abstractmethod

import numpy as np
from numpy.typing import ArrayLike, NDArray


class Samples(ABC):
    """The samples of a data set, numbered in the order of the videos: one for each that has frames, or as a kind says.

    Pure: daemon and workers each make their own from the same column, and get the same answers. The column is kept, not
    copied, so it may be memory-mapped; an index of 8 bytes per video is kept only where sample numbers are not video
    numbers.

    Parameters
    ----------
    frame_counts
        (videos,) frames in each video, none negative, any integer dtype.

    Attributes
    ----------
    sample_count : int
        Samples in an epoch.
    padded_videos : int
        Videos that yield a sample in which a frame is repeated.
    empty_videos : int
        Videos without frames, which yield no sample.

    Raises
    ------
    ValueError
        When `frame_counts` is no one-dimensional column of whole numbers, or one is negative.
    """

    padded_videos = 0

    def __init__(self, frame_counts: NDArray[np.integer]) -> None:
        self._counts = _checked(frame_counts)
        self.empty_videos = int(np.count_nonzero(self._counts == 0))
        # Samples of the videos before each video; the last entry, of all of them.
        self._firsts: NDArray[np.int64] | None = None
        self.sample_count = len(self._counts)
        samples_of_video = self._samples_of_video()
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
        # As words without a sign, in which what is negative is too large: one look at all of them instead of two.
        if samples.size and np.maximum.reduce(samples.view(np.uint64), axis=None) >= self.sample_count:
            outside = samples[(samples < 0) | (samples >= self.sample_count)]
            raise IndexError(f"looking up sample {int(outside.flat[0])} of {self.sample_count}; numbers begin at 0")
        if self._firsts is None:
            return np.array(samples)
        if len(self._counts) == 1:
            return np.zeros(samples.shape, np.int64)
        # The last video that begins at or before the sample: those without samples begin where the next one does.
        return np.asarray(np.searchsorted(self._firsts, samples, side="right") - 1, dtype=np.int64)

    def before(self, videos: ArrayLike) -> NDArray[np.int64]:
        """Return how many samples the videos before each of `videos` have; of the number of videos: how many all have.

        It is the number of the video's first sample, where it has one.
        """
        videos = np.asarray(videos, dtype=np.int64)
        return np.array(videos) if self._firsts is None else np.asarray(self._firsts[videos])

    @abstractmethod
    def starts(
        self,
        epoch: int,
        samples: ArrayLike,
        keys: ArrayLike | None = None,
        videos: NDArray[np.int64] | None = None,
    ) -> NDArray[np.int64]:
        """Return the first frame of each sample.

        Parameters
        ----------
        epoch
            Epoch number, from 0.
        samples
            Sample numbers, any shape.
        keys
            What is drawn hangs on (seed, epoch, key); in the shape of `samples`. None: they are their own keys.
        videos
            What `videos` returns for `samples`, if it is known.

        Raises
        ------
        IndexError
            When there is no such sample.
        """

    @abstractmethod
    def lengths(self, samples: ArrayLike, videos: NDArray[np.int64] | None = None) -> NDArray[np.int64]:
        """Return how many frames of each sample are really there, the same in every epoch; as `starts` otherwise."""

    def _samples_of_video(self) -> NDArray[np.integer] | None:
        """Return how many samples each video has, ``(videos,)``; None when each has just one."""
        return (self._counts > 0).astype(np.int64) if self.empty_videos else None


def _checked(frame_counts: NDArray[np.integer]) -> NDArray[np.integer]:
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
