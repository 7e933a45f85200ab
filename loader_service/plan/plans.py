"""Chooses what the steps of a stream are made by: one order over all samples, interleaved files, or buckets."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from loader_service.plan.buckets import BucketPlan
from loader_service.plan.epoch import Plan
from loader_service.plan.interleave import InterleavedPlan
from loader_service.plan.numbering import Samples
from loader_service.plan.subset import Subset
from loader_service.protocol.spec import Spec


def make_plan(samples: Samples, video_file: NDArray[np.integer], spec: Spec, subset: Subset | None = None) -> Plan:
    """Return the steps of a stream.

    Parameters
    ----------
    samples
        What is put into steps.
    video_file
        (videos,) file of each video, rising.
    spec
        Says how.
    subset
        Those that are put into steps; None: all.

    Raises
    ------
    ConfigError
        When there are more samples than can be put in order.
    """
    count = samples.sample_count if subset is None else subset.count
    if spec.batching == "bucket":
        return BucketPlan(count, spec, samples.lengths, subset)
    if spec.order == "interleave":
        # Files are where the file number rises, so that those without a video have no turn.
        begins = np.flatnonzero(np.diff(video_file, prepend=-1))
        firsts = samples.before(np.append(begins, len(video_file)))
        if subset is not None:  # a file of which nothing was chosen has no turn either
            firsts = np.unique(np.append(0, subset.before(firsts)))
        return InterleavedPlan(firsts, spec, subset)
    return Plan(count, spec, subset)
