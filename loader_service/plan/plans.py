"""Chooses what the steps of a stream are made by: one order over all samples, interleaved files, or buckets."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from loader_service.plan.buckets import BucketPlan
from loader_service.plan.interleave import InterleavedPlan
from loader_service.plan.samples import Samples
from loader_service.plan.steps import Plan
from loader_service.protocol.spec import Spec


def make_plan(samples: Samples, video_file: NDArray[np.integer], spec: Spec) -> Plan:
    """Return the steps of a stream.

    Parameters
    ----------
    samples
        What is put into steps.
    video_file
        (videos,) file of each video, rising.
    spec
        Says how.

    Raises
    ------
    ConfigError
        When there are more samples than can be put in order.
    """
    if spec.batching == "bucket":
        return BucketPlan(samples.sample_count, spec, samples.lengths)
    if spec.order == "interleave":
        # Files are where the file number rises, so that those without a video have no turn.
        begins = np.flatnonzero(np.diff(video_file, prepend=-1))
        firsts = samples.before(np.append(begins, len(video_file)))
        return InterleavedPlan(firsts, spec)
    return Plan(samples.sample_count, spec)
