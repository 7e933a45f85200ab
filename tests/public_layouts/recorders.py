"""What recorders of robots, games and drives write beside their frames: each dataset is a field, or has a line."""

from __future__ import annotations

from pathlib import Path

import h5py
import numpy as np

from tests.public_layouts.expectations import (
    Array,
    Encoded,
    Form,
    Layout,
    Ragged,
    Refused,
    Serves,
    Value,
    Values,
    Video,
    case,
)
from tests.public_layouts.pictures import jpegs, pixels, write_vlen
from tests.public_layouts.robots import numbers
from tests.public_layouts.trajectories import end_to_end


@case("episode recorders: meta/names and meta/labels in a group of their own beside episodes/<name>", option=True)
def labels_in_a_group_of_their_own(folder: Path) -> Layout:
    """What is called labels, and lies where none are read, is not left out without a line; `--label` takes it."""
    names = ["zeta", "alpha", "mid", "beta"]
    films = {name: pixels(number, 3 + number) for number, name in enumerate(names)}
    with h5py.File(folder / "set.h5", "w") as root:
        for name, film in films.items():
            root[f"episodes/{name}/rgb"] = film
        root.create_dataset("meta/names", data=names, dtype=h5py.string_dtype())
        root["meta/labels"] = np.arange(4)
    undeclared = [Video(f"episodes/{name}", {"rgb|frames": Array(films[name])}) for name in sorted(films)]
    declared = [Video(each.name, each.fields, names.index(each.name[9:])) for each in undeclared]
    return Layout(Serves(undeclared, left_out=["meta/labels"]), {"label": "meta/labels"}, Serves(declared))


def _write_lists(group: h5py.Group, name: str, count: int) -> list[Values]:
    """Write a list of numbers for each frame, and return them."""
    rows = [np.arange(3 * (frame + 1), dtype=np.int32) for frame in range(count)]
    dataset = group.create_dataset(name, (count,), h5py.vlen_dtype(np.int32))
    for frame, row in enumerate(rows):
        dataset[frame] = row
    return rows


@case("StarCraft replays: replay_0/minimap, screen and player_id, and units as a list for each step")
def lists_in_each_replay(folder: Path) -> Serves:
    """Groups by number that have a list for each row of a matrix are recordings, and not the rows of the longest."""
    videos = []
    with h5py.File(folder / "games.h5", "w") as root:
        for number in range(3):
            group, count = root.create_group(f"replay_{number}"), 6 + number
            minimap, screen = numbers(number, count, 7, 8, 8), numbers(number + 9, count, 5, 8, 8)
            group["obs/minimap"], group["obs/screen"], group["player_id"] = minimap, screen, np.ones(count, np.int64)
            group.attrs["winner"] = number % 2
            fields: dict[str, Form] = {"minimap": Array(minimap), "screen": Array(screen)}
            fields |= {"units": Ragged(_write_lists(group, "units", count)), "winner": Value(number % 2)}
            videos.append(Video(f"replay_{number}", {**fields, "player_id": Array(np.ones(count, np.int64))}))
    return Serves(videos)


@case("lidar recorders: drive_0/ranges as a list for each scan beside drive_0/speed, in several groups", option=True)
def lists_beside_columns_of_each_drive(folder: Path) -> Layout:
    """Of lists in several groups none is taken for all: the message asks, and its first schema serves each group."""
    videos = []
    with h5py.File(folder / "drives.h5", "w") as root:
        for number in range(3):
            group, speed = root.create_group(f"drive_{number}"), np.arange(6.0 + number)
            group["speed"], rows = speed, _write_lists(group, "ranges", 6 + number)
            videos.append(Video(f"drive_{number}", {"ranges": Ragged(rows), "speed": Array(speed)}))
    fields = (
        '{name = "ranges", kind = "array", dataset = "{video}/ranges", shape = [0]}, '
        '{name = "speed", kind = "array", dataset = "{video}/speed"}'
    )
    (folder / "s.toml").write_text(f'videos = "groups"\nfield = [{fields}]\n')
    asked = Refused(["lists of numbers 'drive_0/ranges'", "3 groups", fields.replace("[", r"\[").replace("{", r"\{")])
    return Layout(asked, {"schema": "./s.toml"}, Serves(videos))


@case("temporal action localisation: <video>/features (T, D) beside segments (K, 2), verb and noun of each segment")
def segments_beside_features(folder: Path) -> Refused:
    """What is said of a few parts of a video is not its frames, though more datasets have its length."""
    with h5py.File(folder / "kitchen.h5", "w") as root:
        for number in range(3):
            group, segments = root.create_group(f"P0{number}_101"), 3 + number
            group["features"] = numbers(number, 200 + number, 64)
            group["segments"] = np.arange(2 * segments).reshape(segments, 2)
            group["verb"], group["noun"] = np.arange(segments), np.arange(segments)
    return Refused(["'P00_101/features'", r"rows of 'P00_101/features'", r"rows of 'P00_101/segments'"])


@case(
    "recorders by device number: images/0, images/1 and images/2 as vlen JPEGs beside actions (frames, 7)", option=True
)
def jpegs_of_numbered_cameras(folder: Path) -> Layout:
    """Numbers tell videos apart, but not where something else has an entry for each of their frames: that is asked."""
    cameras = {str(number): jpegs(number, 6) for number in range(3)}
    with h5py.File(folder / "episode.h5", "w") as root:
        for name, frames in cameras.items():
            write_vlen(root.require_group("images"), name, frames)
        root["actions"] = numbers(1, 6, 7)
    fields = ", ".join(f'{{name = "{name}", kind = "image", dataset = "images/{name}"}}' for name in cameras)
    (folder / "s.toml").write_text(f'videos = "files"\nfield = [{fields}]\n')
    served = Serves([Video("episode", {name: Encoded(frames) for name, frames in cameras.items()})])
    asked = ["'images/0' of 6 frames and 'images/1' of 6 frames", "one video with 3 cameras", "videos of their own"]
    return Layout(Refused(asked), {"schema": "./s.toml"}, served)


@case("world model scripts: frames and actions of all episodes, and their first rows as an attribute, ep_start_idxs")
def first_rows_called_idxs(folder: Path) -> Serves:
    frames, actions = pixels(1, 20, 16, 16), np.arange(20)
    with h5py.File(folder / "rollouts.h5", "w") as root:
        root["frames"], root["actions"], root.attrs["ep_start_idxs"] = frames, actions, [0, 7, 15]
    return Serves(end_to_end([7, 15, 20], {"frames": frames, "actions": actions}))


@case("simulators: e0/rgb beside e0/seg (frames, height, width, 1), of which each number is a class, as bytes")
def maps_of_classes_as_pictures(folder: Path) -> Serves:
    """What would be scaled as pictures are, and is called as maps of numbers are, is said."""
    videos = []
    with h5py.File(folder / "run.h5", "w") as root:
        for number in range(2):
            rgb, seg = pixels(number, 5 + number), pixels(number, 5 + number)[..., :1] % 9
            root[f"e{number}/rgb"], root[f"e{number}/seg"] = rgb, seg
            videos.append(Video(f"e{number}", {"rgb": Array(rgb), "seg": Array(seg)}))
    return Serves(videos, left_out=["'e0/seg' is called as maps of numbers are.*averages.*kind = \"array\""])


@case("event recorders: JPEGs frames/-4 to frames/4 around a trigger, a dataset each", option=True)
def frames_around_a_trigger(folder: Path) -> Layout:
    """The pattern that the message names is one that not all names fit."""
    frames = dict(zip(range(-4, 5), jpegs(1, 9), strict=True))
    with h5py.File(folder / "event.h5", "w") as root:
        for number, frame in frames.items():
            root[f"frames/{number}"] = np.frombuffer(frame, np.uint8)
    before = [frames[number] for number in (-1, -2, -3, -4)]
    served = Serves([Video("event|frames", {"frames": Encoded(before)})])
    return Layout(Refused(["'#' and '-#'", r"--frames '\*/-\*'"]), {"frames": "*/-*"}, served)
