"""A map-style source whose samples cost 10 ms of pure Python each, which threads cannot share. Knows no service."""

from __future__ import annotations

import time
from typing import Any

import numpy as np

#: CPU time of this thread, in seconds, that one sample takes.
SAMPLE_S = 0.010


class SlowSource:
    """Samples of 64 numbers, each made by a loop that holds the interpreter's lock.

    Parameters
    ----------
    items
        How many there are.
    """

    def __init__(self, items: int = 100_000) -> None:
        self._items = items

    def __len__(self) -> int:
        return self._items

    def __getitem__(self, number: int) -> dict[str, Any]:
        until = time.thread_time() + SAMPLE_S
        total = number
        while time.thread_time() < until:
            for each in range(200):
                total = (total * 31 + each) % 1_000_003
        return {"values": np.full(64, number, np.float32), "number": np.int64(number)}
