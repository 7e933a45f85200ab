"""What ``shard`` of a dataset or a stream stands for: given numbers, or those that launchers and strategies say."""

from __future__ import annotations

import os
import sys
from typing import Any

from loader_client import cluster, ranks
from loader_service.errors import ConfigError


def share(shard: Any) -> Any:
    """Return what ``shard="auto"`` stands for in this process; another shard is returned as it is.

    Raises
    ------
    ConfigError
        As `ranks.find`.
    """
    if not isinstance(shard, str):
        return shard
    found = ranks.find(shard, os.environ, sys.modules)
    return found.rank, found.world


def own_share(shard: Any, resolver: Any) -> Any:
    """Return what ``shard`` of a dataset stands for: (rank, world), or None for all, which strategies may divide.

    Parameters
    ----------
    shard
        What the user gave. For ``"auto"`` the strategy knows its cluster better than the environment does.
    resolver
        The `tf.distribute.cluster_resolver` of the strategy whose scope this is, if it has one.

    Raises
    ------
    ConfigError
        As `ranks.find`, and when a cluster does not say which worker this is.
    """
    if shard is None:
        _warn_of_whole_batches(resolver)
        return None
    found = cluster.from_resolver(resolver) if isinstance(shard, str) and shard == ranks.AUTO else None
    return share(shard) if found is None else (found.rank, found.world)


def _warn_of_whole_batches(resolver: Any) -> None:
    try:
        found = cluster.from_resolver(resolver) or cluster.from_environment(os.environ)
    except ConfigError:
        return  # TensorFlow says so itself where the cluster matters
    cluster.warn_of_whole_batches(found)
