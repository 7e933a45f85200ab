"""Which of how many workers this process is, as TensorFlow's clusters say it: `TF_CONFIG`; loads no TensorFlow.

Those that train together are the chief and the workers, numbered in this order, as TensorFlow numbers them. An
evaluator is by itself. Where parameter servers are, one process hands out the work, and nobody has a number.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from loader_service.errors import ConfigError

_LOG = logging.getLogger(__name__)

ENVIRONMENT_VARIABLE = "TF_CONFIG"

#: The roles that train, in the order of their numbers.
_CHIEFS = ("chief", "master")
_WORKER = "worker"
_SERVER, _EVALUATOR = "ps", "evaluator"

_warned: set[str] = set()


@dataclass(frozen=True)
class Membership:
    """A process among those that train together.

    Parameters
    ----------
    rank, world
        Number of this process, from 0, and how many there are.
    said_by
        Where that was found, for messages.
    """

    rank: int
    world: int
    said_by: str


def from_environment(environment: Mapping[str, str]) -> Membership | None:
    """Return what `TF_CONFIG` says; None when it says nothing of a cluster, or of one with parameter servers.

    Raises
    ------
    ConfigError
        When it is no JSON of a cluster that this process is in.
    """
    text = environment.get(ENVIRONMENT_VARIABLE, "").strip()
    if not text:
        return None
    try:
        config = json.loads(text)
        cluster, task = config.get("cluster") or {}, config.get("task") or {}
        if not cluster:
            return None
        sizes = {role: _count(role, addresses) for role, addresses in cluster.items()}
        return membership(sizes, task["type"], int(task["index"]), ENVIRONMENT_VARIABLE)
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise ConfigError(
            f"{ENVIRONMENT_VARIABLE}={text[:200]!r} does not say which worker this is: "
            f"{type(error).__name__}: {error}; mend it or unset it, or give shard=(rank, world)"
        ) from error


def _count(role: str, addresses: Any) -> int:
    """Return how many addresses there are; raises TypeError for a text, whose letters are none."""
    if isinstance(addresses, str):
        raise TypeError(f"{role!r} is {addresses[:40]!r}, and not a list of addresses")
    return len(addresses)


def membership(sizes: Mapping[str, int], role: str, index: int, said_by: str) -> Membership | None:
    """Return the number of a task among those that train.

    Parameters
    ----------
    sizes
        How many tasks each role has.
    role, index
        Of this process.
    said_by
        Where that was found.

    Raises
    ------
    ConfigError
        When there is no such task.
    """
    chiefs = sum(sizes.get(each, 0) for each in _CHIEFS)
    world = chiefs + sizes.get(_WORKER, 0)
    if role == _EVALUATOR:
        return Membership(0, 1, said_by)
    if role == _SERVER:
        return None
    if role not in (*_CHIEFS, _WORKER):
        raise ConfigError(
            f"{said_by} says that this is {role[:40]!r}, which is no role of a training: chief, worker, evaluator, ps; "
            "mend it, or give shard=(rank, world)"
        )
    if sizes.get(_SERVER, 0):
        return None
    if not 0 <= index < sizes.get(role, 0):
        raise ConfigError(
            f"{said_by} says that this is {role} {index}, and its cluster has {sizes.get(role, 0)} of them; "
            "mend it, or give shard=(rank, world)"
        )
    return Membership(index + (chiefs if role == _WORKER else 0), world, said_by)


def from_resolver(resolver: Any) -> Membership | None:
    """Return what the `tf.distribute.cluster_resolver` of a strategy says, which may be None."""
    tasks = {} if resolver is None else resolver.cluster_spec().as_dict()
    sizes = {role: len(addresses) for role, addresses in tasks.items()}
    return membership(sizes, resolver.task_type, resolver.task_id, "the strategy's cluster") if sizes else None


def warn_of_whole_batches(found: Membership | None) -> None:
    """Say once in a process that a dataset which is not sharded is read whole by each of several workers."""
    if found is None or found.world == 1 or "whole" in _warned:
        return
    _warned.add("whole")
    _LOG.warning(
        "%s says that this is worker %d of %d: fit and experimental_distribute_dataset give each worker its part of "
        "each batch, but each reads and decodes all of it, and a loop without them gets all rows at each worker; "
        "shard='auto' reads the worker's own share, in distribute_datasets_from_function or in a loop of your own",
        found.said_by,
        found.rank,
        found.world,
    )
