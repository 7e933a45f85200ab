"""A user's code that takes its time."""

from __future__ import annotations

import time
from typing import Any


def slow(sample: dict[str, Any], rng: Any) -> dict[str, Any]:
    """Return a sample after 20 ms."""
    time.sleep(0.02)
    return sample
