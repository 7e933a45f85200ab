"""Two looks at a service that are far enough apart for a verdict; knows no command and no notebook."""

from __future__ import annotations

import time
from typing import Protocol

from loader_service.protocol.messages import Status

#: A verdict is over so many seconds at the least, and over no more when a trainer tells nothing meanwhile.
_LEAST_S, _MOST_S = 1.0, 2.5

#: Pause between two looks while a trainer is waited for, in seconds: it tells once a second.
_LOOK_EVERY_S = 0.1


class Asked(Protocol):
    """What is asked for looks."""

    def status(self) -> Status:
        """Return what the service is doing."""


def look_twice(service: Asked) -> tuple[Status | None, Status]:
    """Return two looks that are far enough apart for a verdict; None for the first where no stream is open."""
    first = latest = service.status()
    if not first.streams:
        return None, first
    begun = time.monotonic()
    while (passed := time.monotonic() - begun) < _MOST_S:
        if passed >= _LEAST_S and _have_told(first, latest):
            break
        time.sleep(_LOOK_EVERY_S)
        latest = service.status()
    return first, latest


def _have_told(first: Status, latest: Status) -> bool:
    """Return whether the trainers of all streams have told something between two looks."""
    before = {each.stream: each.totals.trainer_observed_seconds_total for each in first.streams}
    return all(each.totals.trainer_observed_seconds_total > before.get(each.stream, 0.0) for each in latest.streams)
