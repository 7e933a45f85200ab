"""Videos packed for research on prediction and reinforcement learning: end to end, by number, by group with values."""

from __future__ import annotations

from pathlib import Path

import h5py
import numpy as np

from tests.public_layouts.expectations import Array, Layout, Refused, Serves, Value, Video, case
from tests.public_layouts.pictures import jpegs, pixels
from tests.public_layouts.robots import numbers


@case(
    "wilson1yan/VideoGPT: scripts/preprocess/bair/bair_image_to_hdf5.py (data, actions, idx: first rows)", option=True
)
def first_rows_called_idx(folder: Path) -> Layout:
    """``idx`` can be the first rows of videos, or chosen rows; a clip must not cross the former without a word."""
    images, actions = pixels(5, 24, 16, 16), numbers(5, 24, 4)
    with h5py.File(folder / "bair.hdf5", "w") as root:
        root["data"], root["actions"], root["idx"] = images, actions, np.arange(4) * 6
    fields = [
        'name = "data", kind = "image", dataset = "data"',
        'name = "actions", kind = "array", dataset = "actions"',
    ]
    (folder / "schema.toml").write_text(f'videos = "spans"\nfield = [{{{"}, {".join(fields)}}}]\n')
    videos = [
        Video(str(number), {"data": Array(images[row : row + 6]), "actions": Array(actions[row : row + 6])})
        for number, row in enumerate(range(0, 24, 6))
    ]
    says = ["'idx' goes from 0 to 18", 'videos = "spans"', 'videos = "table"']
    return Layout(Refused(says), {"schema": "./schema.toml"}, Serves(videos))


@case("voletiv/mcvd-pytorch: datasets/h5.py, kth_convert.py (0/0, 0/1, …; len/0, person/0, target/0)")
def values_beside_numbered_videos(folder: Path) -> Serves:
    """A group a video, a dataset a frame; what is said of a video lies under its name in groups beside."""
    videos = []
    with h5py.File(folder / "shard_0001.hdf5", "w") as root:
        root.create_group("videos")
        for number in range(3):
            frames = pixels(number, 4 + number, 16, 16)
            for frame, picture in enumerate(frames):
                root.create_dataset(f"{number}/{frame}", data=picture, compression="lzf")
            values = {"len": len(frames), "person": 3 + number, "target": number % 2}
            for name, value in values.items():
                root.create_dataset(f"{name}/{number}", data=value)
            given = {name: Value(value) for name, value in values.items()}
            videos.append(Video(str(number), {"frames": Array(frames), **given}))
    return Serves(videos)


@case("UT-Austin-RPL/deoxys_control: deoxys/examples/demo_collection/create_dataset.py (data/ep_0, and all of them)")
def episodes_and_all_of_them(folder: Path) -> Serves:
    """The group above the episodes repeats their arrays end to end; a printed schema must not take it for one."""
    videos, total = [], 0
    with h5py.File(folder / "demo.hdf5", "w") as root:
        for number in range(3):
            frames, group = 4 + number, root.create_group(f"data/ep_{number}")
            group["proprio_ee"], group["actions"] = numbers(number, frames, 16), numbers(number, frames, 7)
            fields = {name: Array(group[name][()]) for name in ("proprio_ee", "actions")}
            videos.append(Video(f"data/ep_{number}", fields))
            total += frames
        root["data/proprio_ee"] = numbers(9, total, 16)
        root["data/camera_0_images_color"] = np.zeros((total, 3, 16, 16), np.uint8)
    return Serves(videos, left_out=["data/proprio_ee", "camera_0_images_color"])


@case("takuseno/d3rlpy: d3rlpy/dataset/io.py (observations_0, actions_0, …, columns, num_episodes)")
def numbered_columns(folder: Path) -> Serves:
    """The number of an episode ends the names of its datasets; lengths differ, and one text says the version."""
    videos = []
    with h5py.File(folder / "dataset.h5", "w") as root:
        root["columns"], root["num_episodes"], root["version"] = [b"observations", b"actions"], 11, "2.1"
        for number in range(11):
            arrays = {"observations": numbers(number, 5 + number, 4), "actions": numbers(number, 5 + number, 1)}
            for name, values in arrays.items():
                root[f"{name}_{number}"] = values
            root[f"terminated_{number}"] = bool(number % 2)
            fields = {name: Array(values) for name, values in arrays.items()}
            videos.append(Video(str(number), {**fields, "terminated": Value(bool(number % 2))}))
    return Serves(videos, left_out=["columns", "num_episodes", "version"])


@case("takuseno/d3rlpy: d3rlpy/dataset/io.py, with episodes of one length", option=True)
def numbered_columns_of_one_length(folder: Path) -> Layout:
    """They can be columns of one table as well; the message shows a schema for both."""
    videos = []
    with h5py.File(folder / "dataset.h5", "w") as root:
        for number in range(3):
            root[f"observations_{number}"], root[f"actions_{number}"] = numbers(number, 6, 4), numbers(number, 6, 2)
            fields = {"observations": Array(numbers(number, 6, 4)), "actions": Array(numbers(number, 6, 2))}
            videos.append(Video(str(number), fields))
    names = [f'name = "{name}", kind = "array", dataset = "{name}_{{video}}"' for name in ("observations", "actions")]
    (folder / "schema.toml").write_text(f'videos = "groups"\nfield = [{{{"}, {".join(names)}}}]\n')
    says = ["a video for each number", "observations_{video}", 'videos = "table"']
    return Layout(Refused(says), {"schema": "./schema.toml"}, Serves(videos))


@case("takuseno/d3rlpy: d3rlpy/dataset/io.py, version 1 (observations, terminals, episode_terminals)")
def flags_that_end_episodes(folder: Path) -> Serves:
    images, last = pixels(6, 12, 16, 16), np.isin(np.arange(12), (4, 8, 11)).astype(np.float32)
    with h5py.File(folder / "dataset.h5", "w") as root:
        root["observations"], root["actions"], root["terminals"] = images, np.arange(12), last * (np.arange(12) > 8)
        root["episode_terminals"] = last
    videos = []
    for number, (start, end) in enumerate(((0, 5), (5, 9), (9, 12))):
        columns = {"observations|frames": images, "actions": np.arange(12), "episode_terminals": last}
        columns["terminals"] = last * (np.arange(12) > 8)
        fields = {name: Array(np.asarray(values)[start:end]) for name, values in columns.items()}
        videos.append(Video(str(number), fields))
    return Serves(videos)


@case("Farama-Foundation/D4RL: scripts/generation (terminals and timeouts), as rows", option=True)
def flags_that_may_end_episodes(folder: Path) -> Layout:
    """Rows of transitions are a table; that a clip would cross episodes is said, with the schema that cuts there."""
    columns = {
        "observations": numbers(1, 12, 5),
        "timeouts": np.isin(np.arange(12), (3, 11)),
        "terminals": np.zeros(12),
    }
    columns["terminals"][7] = 1
    with h5py.File(folder / "d4rl.hdf5", "w") as root:
        for name, values in columns.items():
            root[name] = values
    rows = Video("d4rl", {name: Array(values) for name, values in columns.items()})
    (folder / "schema.toml").write_text(
        'videos = "spans"\nfield = [{name = "observations", kind = "array", dataset = "observations"}]\n'
    )
    videos = [
        Video(str(number), {"observations": Array(columns["observations"][4 * number : 4 * number + 4])})
        for number in range(3)
    ]
    undeclared = Serves([rows], kind="rows", left_out=["end 3 episodes.*spans"])
    return Layout(undeclared, {"schema": "./schema.toml"}, Serves(videos))


@case("how2sign and other feature sets of one camera (<id>-rgb_front)")
def ids_that_end_with_a_camera(folder: Path) -> Serves:
    names = ("1k0j2XaB-11-rgb_front", "-0g0iPSnQt6w-10-rgb_front", "fZ3swS-12-rgb_front")
    with h5py.File(folder / "train.h5", "w") as root:
        for number, name in enumerate(names):
            root[name] = numbers(number, 20 + number, 64)
    return Serves([Video(name, {"*": Array(numbers(number, 20 + number, 64))}) for number, name in enumerate(names)])


@case("no one project: a class a group (left, right), and in each video_0, video_1, … of one length")
def numbered_videos_of_classes(folder: Path) -> Serves:
    """The same names in each class are numbers of videos, and no cameras of one."""
    videos = []
    with h5py.File(folder / "gestures.h5", "w") as root:
        for group in ("left", "right"):
            for number in range(3):
                root[f"{group}/video_{number}"] = frames = pixels(len(group) * 10 + number, 5, 16, 16)
                videos.append(Video(f"{group}/video_{number}", {"frames": Array(frames)}))
    return Serves(videos)


@case("no one project: padded JPEGs of all episodes in one dataset (episodes, frames, bytes), actions beside")
def padded_images_of_two_axes(folder: Path) -> Refused:
    """Three episodes are no three channels: the bytes are looked at, also where a shape is that of pixels."""
    images = np.zeros((3, 4, 2000), np.uint8)
    for number in range(3):
        for frame, data in enumerate(jpegs(number, 4)):
            images[number, frame, : len(data)] = np.frombuffer(data, np.uint8)
    with h5py.File(folder / "episodes.h5", "w") as root:
        root["images"], root["actions"] = images, numbers(1, 3, 4, 7)
    return Refused(["'images' has JPEG in each row", "--source"])


@case("no one project: clips that someone marked in one film (clip_start, clip_end), with gaps")
def marked_clips_with_gaps(folder: Path) -> Serves:
    """What lies in no clip is not served, and a line says how much that is."""
    frames = pixels(8, 20, 16, 16)
    with h5py.File(folder / "film.h5", "w") as root:
        root["frames"], root["clip_start"], root["clip_end"] = frames, [2, 12], [7, 18]
    videos = [Video("0", {"frames": Array(frames[2:7])}), Video("1", {"frames": Array(frames[12:18])})]
    return Serves(videos, left_out=["9 of 20 rows lie in no video.*'clip_end' and 'clip_start'"])
