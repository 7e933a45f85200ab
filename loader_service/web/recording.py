"""The last hour of a service, as sums that only grow, and the rates between any two. Pure: time is passed in."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, fields
from itertools import pairwise
from typing import Any

#: How long is kept, in seconds, and how many moments at most.
KEPT_S, _MOST_MOMENTS = 3600.0, 3700


@dataclass(frozen=True, slots=True)
class RecordedSums:
    """What a service had counted at one time: sums over all its workers and streams since its start, and two gauges.

    Attributes
    ----------
    at_s
        When, in seconds of the recorder's clock.
    up_s
        For how long the service had been running: when that shrinks, it has begun anew.
    steps, frames, size_bytes
        Delivered.
    waiting_s, observed_s
        In which trainers waited for a step, of the time in which they have told.
    reading_s, decoding_s, transforming_s, sending_s, idle_s
        What workers spent their time on.
    workers
        How many there were.
    memory_bytes
        Of all slots.
    """

    at_s: float
    up_s: float
    steps: float = 0.0
    frames: float = 0.0
    size_bytes: float = 0.0
    waiting_s: float = 0.0
    observed_s: float = 0.0
    reading_s: float = 0.0
    decoding_s: float = 0.0
    transforming_s: float = 0.0
    sending_s: float = 0.0
    idle_s: float = 0.0
    workers: float = 0.0
    memory_bytes: float = 0.0


#: Those that are no sums.
_GAUGES = ("at_s", "up_s", "workers", "memory_bytes")

_SUMS = tuple(each.name for each in fields(RecordedSums) if each.name not in _GAUGES)


class Recording:
    """The moments of the last hour, the latest last. For use under a lock of its owner's."""

    def __init__(self) -> None:
        self._moments: deque[RecordedSums] = deque(maxlen=_MOST_MOMENTS)

    def add(self, moment: RecordedSums) -> None:
        """Keep a moment; those older than an hour go."""
        self._moments.append(moment)
        while self._moments[0].at_s < moment.at_s - KEPT_S:
            self._moments.popleft()

    def history(self, seconds: float, points: int) -> dict[str, list[float | None]]:
        """Return what happened in the last so many seconds.

        Parameters
        ----------
        seconds
            Up to an hour.
        points
            How many values there are at most.

        Returns
        -------
        dict of str to list
            ``t``: seconds before now, rising to 0. Per second: ``steps``, ``frames``, ``size_bytes``. Shares of the
            trainers' time: ``waiting``; of the workers': ``reading``, ``decoding``, ``transforming``,
            ``sending``, ``idle``.
            ``workers`` and ``memory_bytes`` as they were. None where nothing is known, as while the service was away.
        """
        if not self._moments:
            return {name: [] for name in _SERIES}
        last = self._moments[-1].at_s
        chosen = _thinned([each for each in self._moments if each.at_s >= last - seconds], points)
        columns: dict[str, list[float | None]] = {name: [] for name in _SERIES}
        for before, after in pairwise(chosen):
            values = rates_between(before, after)
            columns["t"].append(round(after.at_s - last, 1))
            for name in _SERIES[1:]:
                value = values.get(name)
                columns[name].append(None if value is None else round(value, 4))
        return columns


_SERIES = (
    "t", "steps", "frames", "size_bytes", "waiting", "reading", "decoding", "transforming", "sending", "idle",
    "workers", "memory_bytes",
)  # fmt: skip


def rates_between(before: RecordedSums, after: RecordedSums) -> dict[str, float]:
    """Return what happened between two moments, as `Recording.history` names it; {} when the service began anew."""
    seconds = after.at_s - before.at_s
    if seconds <= 0 or after.up_s < before.up_s:
        return {}
    grown = {name: max(0.0, getattr(after, name) - getattr(before, name)) for name in _SUMS}
    found: dict[str, Any] = {name: grown[name] / seconds for name in ("steps", "frames", "size_bytes")}
    if grown["observed_s"] > 0:
        found["waiting"] = min(1.0, grown["waiting_s"] / grown["observed_s"])
    kinds = ("reading", "decoding", "transforming", "sending", "idle")
    spent = sum(grown[f"{kind}_s"] for kind in kinds)
    if spent > 0:
        found.update({kind: grown[f"{kind}_s"] / spent for kind in kinds})
    return {**found, "workers": after.workers, "memory_bytes": after.memory_bytes}


def _thinned(moments: Sequence[RecordedSums], points: int) -> list[RecordedSums]:
    """Return so many moments at most, evenly spread, and the last one."""
    if len(moments) <= points + 1:
        return list(moments)
    # Of whole groups, so that what was drawn does not change its shape with each new moment.
    group = -(-len(moments) // points)
    return [each for each in moments if int(each.at_s) % group == 0 or each is moments[-1]]
