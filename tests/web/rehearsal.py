"""Writes films of a robot's arm that people can recognise, with its joints and what it does; for pages and pictures."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import cv2
import h5py
import numpy as np
import simplejpeg

TASKS = ("pick", "place", "push")

_HEIGHT, _WIDTH = 240, 320


def write_rehearsals(folder: Path, files: int = 3, episodes: int = 6, frames: int = 48) -> None:
    """Write files of episodes: two cameras, joints, gripper, and the task as label."""
    for number in range(files):
        with h5py.File(folder / f"session_{number:02}.h5", "w") as file:
            for place in range(episodes):
                seed = number * episodes + place
                length = frames + 9 * (seed * 7 % 5)
                group = file.create_group(f"episode_{seed:03}")
                joints = _joints(seed, length)
                for camera in ("top", "wrist"):
                    dataset = group.create_dataset(camera, (length,), h5py.vlen_dtype(np.uint8))
                    for frame in range(length):
                        picture = _picture(seed, joints[frame], wrist=camera == "wrist")
                        dataset[frame] = np.frombuffer(simplejpeg.encode_jpeg(picture, 88), np.uint8)
                group["qpos"] = joints.astype(np.float32)
                group["gripper"] = (np.sin(np.linspace(0, 6, length)) > 0.2).astype(np.float32)
                group.attrs["label"] = TASKS[seed % 3]


def _joints(seed: int, length: int) -> Any:
    rng = np.random.default_rng(seed)
    time = np.linspace(0, 2 * math.pi, length)[:, np.newaxis]
    speed, phase = rng.uniform(0.6, 1.8, 4), rng.uniform(0, 6, 4)
    return np.sin(time * speed + phase) * np.array([0.7, 0.5, 0.6, 0.3]) + np.array([0.1, 0.8, -0.9, 0.0])


def _picture(seed: int, joints: Any, *, wrist: bool) -> Any:
    shade = np.linspace(226, 168, _HEIGHT, dtype=np.float32)[:, np.newaxis, np.newaxis]
    tint = np.array([1.0, 0.98, 0.94] if not wrist else [0.9, 0.96, 1.0], np.float32)
    picture = np.ascontiguousarray(np.broadcast_to(shade * tint, (_HEIGHT, _WIDTH, 3)).astype(np.uint8))
    cv2.rectangle(picture, (0, 165), (_WIDTH, _HEIGHT), (139, 105, 78), -1)
    cube = 70 + seed * 37 % 180
    colour = ((200, 60, 50), (40, 120, 200), (60, 160, 80))[seed % 3]
    cv2.rectangle(picture, (cube, 146), (cube + 26, 172), colour, -1, cv2.LINE_AA)
    cv2.rectangle(picture, (cube, 146), (cube + 26, 172), (40, 40, 40), 1, cv2.LINE_AA)
    at, angle = np.array([160.0 + 60 * joints[0], 200.0]), -math.pi / 2
    scale = 1.5 if wrist else 1.0
    for joint, reach in ((joints[1] - 0.6, 62), (joints[2] + 0.6, 52), (joints[3], 34)):
        angle += float(joint)
        to = at + scale * reach * np.array([math.cos(angle), math.sin(angle)])
        ends = tuple(map(int, at)), tuple(map(int, to))
        cv2.line(picture, *ends, (58, 63, 71), 13, cv2.LINE_AA)
        cv2.line(picture, *ends, (240, 160, 60), 7, cv2.LINE_AA)
        cv2.circle(picture, ends[0], 9, (58, 63, 71), -1, cv2.LINE_AA)
        at = to
    cv2.circle(picture, tuple(map(int, at)), 7, (30, 30, 30), -1, cv2.LINE_AA)
    return picture
