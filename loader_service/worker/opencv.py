"""Imports OpenCV when a frame needs it."""

from __future__ import annotations

import functools
from typing import Any


@functools.cache
def opencv() -> Any:
    """Return OpenCV, imported now: 4 MB and 30 ms that workers save which never scale, mirror or read a PNG."""
    import cv2  # noqa: PLC0415 (lazy on purpose, see above)

    cv2.setNumThreads(1)  # one worker is one core; OpenCV would start a pool of threads in each
    return cv2
