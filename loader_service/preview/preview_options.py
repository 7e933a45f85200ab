"""What the process that makes pictures is told at its start."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class PreviewOptions:
    """What the process that makes pictures is told at its start.

    Parameters
    ----------
    catalog
        Folder of the columns.
    transform
        The service's own, ``package.module:function``; "" in a process that runs no code of users.
    nice
        By how much others go first: looking at pictures must not slow a training down.
    """

    catalog: str
    transform: str = ""
    nice: int = 10
