"""What the sizing of a pool is about: kinds of workers with their bounds, and a decision with its reason. Pure."""

from __future__ import annotations

from collections.abc import Mapping

from loader_service.record_class import record


@record(frozen=True)
class Kind:
    """One kind of worker, and how many of it there may be.

    Parameters
    ----------
    name
        What it is called.
    least, most
        Bounds; they hold whatever is measured.
    """

    name: str
    least: int
    most: int


@record(frozen=True)
class SizeDecision:
    """What the controller has made of the latest evidence.

    Parameters
    ----------
    numbers
        Workers that there shall be, by kind.
    why
        The reason, for people: what was measured, and what follows.
    is_change
        Whether the numbers are others than before.
    """

    numbers: Mapping[str, int]
    why: str
    is_change: bool
