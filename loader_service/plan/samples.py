"""Chooses what a sample is: a clip, a single frame or a whole video."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from loader_service.plan.clips import ClipSamples
from loader_service.plan.frames_and_videos import FrameSamples, VideoSamples
from loader_service.plan.numbering import Samples
from loader_service.protocol.spec import Clip, Frame


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
            return ClipSamples(frame_counts, clip, seed)
        case Frame():
            return FrameSamples(frame_counts)
        case None:
            return VideoSamples(frame_counts)
