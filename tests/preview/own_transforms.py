"""Transforms such as users write, good and bad, for processes to load by name."""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import Any

import numpy as np


def pictures_and_numbers(sample: dict[str, Any], rng: np.random.Generator) -> dict[str, Any]:
    """Return pictures of floats with noise, pictures of bytes, numbers, a text, and what cannot be counted."""
    frames = sample["frames"]
    noisy = frames.astype(np.float32) / 255 + rng.standard_normal(frames.shape, np.float32)
    odd = np.array([np.nan, np.inf, rng.uniform()])
    return {"noisy": noisy, "frames": frames[:, ::-1], "drawn": rng.integers(0, 9, (2, 3)), "odd": odd, "word": "a"}


def brightened(sample: dict[str, Any], rng: np.random.Generator) -> dict[str, Any]:
    """Return one camera as floats, half as dark and half as bright."""
    return {"bright": sample["top"].astype(np.float32) * np.float32(rng.uniform(0.5, 1.5)), "qpos": sample["qpos"]}


def _is_preview() -> bool:
    return b"preview_worker" in Path("/proc/self/cmdline").read_bytes()


def hangs_in_preview(sample: dict[str, Any], rng: np.random.Generator) -> dict[str, Any]:
    """Never return where people look, and at once where a worker asks."""
    while _is_preview():
        time.sleep(0.1)
    return sample


def grows_in_preview(sample: dict[str, Any], rng: np.random.Generator) -> dict[str, Any]:
    """Keep 600 MB where people look, and return nothing any more."""
    kept = np.ones(600_000_000 if _is_preview() else 1, np.uint8)
    while _is_preview():
        time.sleep(0.1)
    return {**sample, "kept": kept}


def ends_preview(sample: dict[str, Any], rng: np.random.Generator) -> dict[str, Any]:
    """End the process of who looks."""
    if _is_preview():
        os._exit(7)
    return sample
