"""Writes small HDF5 files of robot episodes, tables and sounds, and returns what they hold; knows no tested code."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

import h5py
import numpy as np

from tests.support.videos import frame_image, frame_jpeg

if TYPE_CHECKING:
    import os

    import numpy.typing as npt

Pictures = Literal["padded", "vlen", "raw"]


def write_episode(
    path: str | os.PathLike[str],
    frames: int,
    *,
    pictures: Pictures = "padded",
    cameras: tuple[str, ...] = ("top", "wrist"),
    seed: int = 0,
    group: str = "",
    mode: str = "w",
) -> dict[str, Any]:
    """Write an episode as robot-learning code does, and return its fields: lists of JPEGs, or arrays.

    Parameters
    ----------
    path
        The file.
    frames
        How many there are.
    pictures
        How the cameras' pictures are stored.
    cameras
        Their names.
    seed
        Chooses the numbers and pictures.
    group
        Where in the file; by default the file is the episode.
    mode
        ``"a"`` adds a group to the file.
    """
    rng = np.random.default_rng(seed)
    fields: dict[str, Any] = {
        "qpos": rng.normal(size=(frames, 14)),
        "qvel": rng.normal(size=(frames, 14)),
        "action": rng.normal(size=(frames, 14)).astype(np.float32),
    }
    for number, camera in enumerate(cameras):
        seeds = [seed * 1009 + number * 101 + frame for frame in range(frames)]
        jpegs = [frame_jpeg(each, 24, 32) for each in seeds]
        fields[camera] = np.stack([frame_image(each, 24, 32) for each in seeds]) if pictures == "raw" else jpegs
    with h5py.File(path, mode) as file:
        place = file.require_group(group) if group else file
        place.attrs["sim"] = seed % 2 == 0
        place["action"] = fields["action"]
        observations = place.create_group("observations")
        observations["qpos"], observations["qvel"] = fields["qpos"], fields["qvel"]
        images = observations.create_group("images")
        for camera in cameras:
            _write_camera(images, camera, fields[camera], pictures)
        if pictures == "padded":
            place["compress_len"] = np.array([[len(jpeg) for jpeg in fields[camera]] for camera in cameras], np.float32)
    return fields


def _write_camera(parent: h5py.Group, name: str, pictures: Any, how: Pictures) -> None:
    if how == "raw":
        parent.create_dataset(name, data=pictures, chunks=(1, *pictures.shape[1:]))
    elif how == "vlen":
        dataset = parent.create_dataset(name, (len(pictures),), h5py.vlen_dtype(np.uint8))
        for frame, jpeg in enumerate(pictures):
            dataset[frame] = np.frombuffer(jpeg, np.uint8)
    else:
        rows = np.zeros((len(pictures), max(map(len, pictures))), np.uint8)
        for row, jpeg in zip(rows, pictures, strict=True):
            row[: len(jpeg)] = np.frombuffer(jpeg, np.uint8)
        parent[name] = rows


def write_table(path: str | os.PathLike[str], datasets: dict[str, npt.NDArray[Any]], **storage: Any) -> None:
    """Write datasets into the root of a new file, all stored alike."""
    with h5py.File(path, "w") as file:
        for name, values in datasets.items():
            file.create_dataset(name, data=values, **storage)


def write_sounds(path: str | os.PathLike[str], sounds: list[npt.NDArray[np.float32]], labels: list[int]) -> None:
    """Write sounds as the rows of one vlen dataset, and a label for each."""
    with h5py.File(path, "w") as file:
        dataset = file.create_dataset("audio", (len(sounds),), h5py.vlen_dtype(np.float32))
        for number, sound in enumerate(sounds):
            dataset[number] = sound
        file["label"] = labels
