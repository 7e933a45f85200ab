"""What recorders of robots, games and drives write beside their frames: each dataset is a field, or has a line."""

from __future__ import annotations

from pathlib import Path

import h5py
import numpy as np

from tests.public_layouts.expectations import Array, Form, Layout, Ragged, Refused, Serves, Value, Values, Video, case
from tests.public_layouts.pictures import pixels
from tests.public_layouts.robots import numbers


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
