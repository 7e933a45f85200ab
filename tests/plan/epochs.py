"""Goes through a plan step by step; knows nothing of the right order."""

from __future__ import annotations

from loader_service.plan.epoch import Plan


def epoch_of(plan: Plan, epoch: int = 0) -> list[int]:
    """Return the samples of an epoch, step after step."""
    return [int(sample) for step in range(plan.steps_per_epoch) for sample in plan.samples(epoch, step)]
