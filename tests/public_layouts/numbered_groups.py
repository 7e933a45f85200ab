"""Groups that only have a number, with a picture or two each: samples, of which a line says how they are frames."""

from __future__ import annotations

import re
from pathlib import Path

import h5py
import numpy as np

from tests.public_layouts.expectations import Array, Encoded, Form, Layout, Refused, Serves, Video, case
from tests.public_layouts.pictures import jpegs, pixels
from tests.public_layouts.robots import numbers


@case("no one project: 0/left beside 0/right, raw, and no word for what the numbers count", option=True)
def pairs_by_number(folder: Path) -> Layout:
    left, right = pixels(1, 6, 16, 24), pixels(2, 6, 16, 24)
    with h5py.File(folder / "pairs.h5", "w") as root:
        for number in range(6):
            root[f"{number}/left"], root[f"{number}/right"] = left[number], right[number]
    samples = [
        Video(str(number), {"left": Array(left[number : number + 1]), "right": Array(right[number : number + 1])})
        for number in range(6)
    ]
    fields = [
        f'{{name = "{side}", kind = "image", dataset = "*/{side}", shape = [-1, -1, 3]}}' for side in ("left", "right")
    ]
    (folder / "s.toml").write_text(f'videos = "files"\nfield = [{", ".join(fields)}]\n')
    line = "6 groups such as '0' are videos of one frame; if their numbers count.*" + re.escape(", ".join(fields))
    one = Serves([Video("pairs", {"left": Array(left), "right": Array(right)})])
    return Layout(Serves(samples, left_out=[line]), {"schema": "./s.toml"}, one)


@case(
    "mees/calvin: episode_0358482.npz and its like kept as groups (rgb_static, actions), from a large number on",
    option=True,
)
def steps_from_a_large_number(folder: Path) -> Layout:
    """A step each is called an episode; encoded, the schema takes their numbers from where they begin, too."""
    frames, actions = jpegs(3, 5), numbers(1, 5, 7)
    samples = []
    with h5py.File(folder / "training.h5", "w") as root:
        for number, frame in enumerate(frames):
            name = f"episode_{358482 + number:07d}"
            root[f"{name}/rgb_static"], root[f"{name}/actions"] = np.frombuffer(frame, np.uint8), actions[number]
            fields: dict[str, Form] = {"frames": Encoded([frame]), "actions": Array(actions[number][None])}
            samples.append(Video(name, fields))
    lines = [
        '{name = "frames", kind = "image", dataset = "episode_*/rgb_static"}',
        '{name = "actions", kind = "array", dataset = "episode_*/actions", shape = [-1]}',
    ]
    (folder / "s.toml").write_text(f'videos = "files"\nfield = [{", ".join(lines)}]\n')
    one = Serves([Video("training", {"frames": Encoded(frames), "actions": Array(actions)})])
    return Layout(Serves(samples, left_out=[re.escape(", ".join(lines))]), {"schema": "./s.toml"}, one)


@case("no one project: obs/0/image and obs/0/wrist as np.void beside actions with a row for each", option=True)
def groups_beside_their_actions(folder: Path) -> Layout:
    """As many rows of actions as groups tell that these may be frames: that is asked."""
    views = {"image": jpegs(4, 5), "wrist": jpegs(5, 5)}
    with h5py.File(folder / "run.h5", "w") as root:
        for name, frames in views.items():
            for number, frame in enumerate(frames):
                root[f"obs/{number}/{name}"] = np.void(frame)
        root["actions"] = numbers(1, 5, 7)
    lines = [f'{{name = "{name}", kind = "image", dataset = "obs/*/{name}"}}' for name in views]
    lines.append('{name = "actions", kind = "array", dataset = "actions"}')
    (folder / "s.toml").write_text(f'videos = "files"\nfield = [{", ".join(lines)}]\n')
    fields: dict[str, Form] = {name: Encoded(frames) for name, frames in views.items()}
    served = Serves([Video("run", {**fields, "actions": Array(numbers(1, 5, 7))})])
    asked = Refused(["5 groups such as 'obs/0'", re.escape(", ".join(lines)), "a video of one frame each"])
    return Layout(asked, {"schema": "./s.toml"}, served)


@case("no one project: 0/image_0 beside 0/image_1 and 0/action, and no word for what the numbers count")
def numbered_cameras_by_number(folder: Path) -> Refused:
    """Where something that is not one for each picture lies beside them, the groups are samples, videos, or frames."""
    with h5py.File(folder / "run.h5", "w") as root:
        for number in range(5):
            root[f"{number}/image_0"], root[f"{number}/image_1"] = pixels(number, 2, 16, 24)
            root[f"{number}/action"] = np.zeros(7)
    shown = [f'dataset = "{path}", shape = [-1, -1, 3]' for path in ("{video}/image_1", "{video}/image_*", "*/image_1")]
    return Refused(["2 pictures such as '0/image_0'", *map(re.escape, shown)])


@case("multi-agent recorders: agent_0/obs beside agent_1/obs, and rewards of the steps that they share", option=True)
def agents_of_one_episode(folder: Path) -> Layout:
    """Agents with as many rows each may be one recording, which is asked, whatever lies beside them."""
    steps = {f"agent_{agent}/{name}": numbers(agent, 12, size) for agent in range(2) for name, size in _SIZES.items()}
    with h5py.File(folder / "a.h5", "w") as root:
        for path, values in {**steps, "rewards": numbers(9, 12)}.items():
            root[path] = values
    lines = [f'{{name = "{path.replace("/", "_")}", kind = "array", dataset = "{path}"}}' for path in steps]
    (folder / "s.toml").write_text(f'videos = "table"\nfield = [{", ".join(lines)}]\n')
    columns: dict[str, Form] = {path.replace("/", "_"): Array(values) for path, values in steps.items()}
    says = ["2 groups such as 'agent_0' of 12 rows each", re.escape(lines[0]), "a video of each group"]
    return Layout(Refused(says), {"schema": "./s.toml"}, Serves([Video("a", columns)], kind="rows"))


@case("wuphilipp/gello_software: a pickle a step named by datetime.isoformat(), kept as groups")
def steps_named_by_dates(folder: Path) -> Serves:
    videos = []
    with h5py.File(folder / "a.h5", "w") as root:
        for second in range(4):
            frame, joints, name = pixels(second, 1, 16, 24), numbers(second, 1, 7), f"2024-01-31T12:00:0{second}.250"
            root[f"{name}/wrist_rgb"], root[f"{name}/joint_positions"] = frame[0], joints[0]
            videos.append(Video(name, {"*|frames": Array(frame), "joint_positions": Array(joints)}))
    return Serves(videos, left_out=["4 groups such as '2024.* of one frame, since their names are dates; if"])


_SIZES = {"act": 2, "obs": 6}
