"""A status as one JSON object for programs; its version says what its names mean, and `docs/metrics.md` lists them."""

from __future__ import annotations

import dataclasses
from typing import Any

from loader_service.protocol.messages import Status
from loader_service.watching.rates import is_earlier
from loader_service.watching.verdict import verdicts

#: Of the object: raised when a name goes or changes its meaning, not when one is added.
VERSION = 1


def status_json(before: Status | None, after: Status, place: str = "") -> dict[str, Any]:
    """Return a status as plain data.

    Parameters
    ----------
    before, after, place
        As `verdicts` takes them.
    """
    plain = dataclasses.asdict(after)
    del plain["request"]
    service_version = plain.pop("version")
    since = before.uptime_s if before is not None and is_earlier(before, after) else 0.0
    return {
        "version": VERSION,
        "service_version": service_version,
        "verdict_seconds": after.uptime_s - since,
        "verdicts": [dataclasses.asdict(each) for each in verdicts(before, after, place)],
        **plain,
    }
