"""Arms, players, cameras and sensors of one recording in groups of their own, which are no videos of their own."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import h5py
import numpy as np

from tests.public_layouts.columns import Columns, whole
from tests.public_layouts.expectations import Array, Encoded, Form, Layout, Refused, Serves, Video, case
from tests.public_layouts.pictures import grey_jpegs, jpegs, pixels, write_vlen
from tests.public_layouts.robots import numbers


@case(
    "FastUMIData/FastUMI_Data_Conversion: raw_hdf5/readme.md (robot_0/observations/images/front, robot_1/…)",
    option=True,
)
def two_arms_in_groups(folder: Path) -> Layout:
    """Two arms of an episode are no two episodes; the schema that is shown makes each a field."""
    videos = []
    for episode in range(2):
        fields: dict[str, Form] = {}
        with h5py.File(folder / f"episode_{episode}.hdf5", "w") as root:
            for arm in range(2):
                root[f"robot_{arm}/observations/images/front"] = front = pixels(10 * episode + arm, 5 + episode)
                root[f"robot_{arm}/observations/qpos"] = numbers(arm, 5 + episode, 8)
                root[f"robot_{arm}/action"] = action = numbers(9 + arm, 5 + episode, 8)
                fields |= {f"robot_{arm}_front": Array(front), f"robot_{arm}_action": Array(action)}
        videos.append(Video(f"episode_{episode}", fields))
    lines = [
        f'{{name = "robot_{arm}_{name}", kind = "{kind}", dataset = "robot_{arm}/{path}"}}'
        for arm in range(2)
        for name, kind, path in (("front", "image", "observations/images/front"), ("action", "array", "action"))
    ]
    (folder / "s.toml").write_text(f'videos = "files"\nfield = [{", ".join(lines)}]\n')
    says = ["parts of one recording", 'videos = "files"', "robot_0/action", '"{video}/observations/images/front"']
    return Layout(Refused(says), {"schema": "./s.toml"}, Serves(videos))


@case("no one project: episode_0/agent_0/obs beside agent_1/obs")
def agents_of_episodes(folder: Path) -> Serves:
    """Numbered episodes above them tell that agents are parts of these."""
    videos = []
    with h5py.File(folder / "arena.h5", "w") as root:
        for episode in range(2):
            fields: dict[str, Form] = {}
            for agent in range(2):
                group = f"episode_{episode}/agent_{agent}"
                root[f"{group}/obs"] = seen = pixels(10 * episode + agent, 5 + episode, 16, 16)
                root[f"{group}/action"] = action = whole(agent, 5 + episode)
                fields |= {f"agent_{agent}/obs": Array(seen), f"agent_{agent}/action": Array(action)}
            videos.append(Video(f"episode_{episode}", fields))
    return Serves(videos)


@case("no one project: a file an episode, left_arm/image beside right_arm/image, raw, and joints in each")
def arms_with_words(folder: Path) -> Serves:
    """Cameras in groups of a file are its fields, also where they are raw."""
    videos = []
    for episode in range(2):
        fields: dict[str, Form] = {}
        with h5py.File(folder / f"episode_{episode}.h5", "w") as root:
            for side in ("left_arm", "right_arm"):
                root[f"{side}/image"] = pictures = pixels(10 * episode + len(side), 5)
                root[f"{side}/qpos"] = joints = numbers(episode + len(side), 5, 7)
                fields |= {f"{side}/image": Array(pictures), f"{side}/qpos": Array(joints)}
        videos.append(Video(f"episode_{episode}", fields))
    return Serves(videos)


@case("udacity/self-driving-car as HDF5: center/images, left/images, right/images at rates of their own, steering")
def cameras_and_steering(folder: Path) -> Refused:
    """Raw cameras of different length beside other sensors are asked, as encoded ones are."""
    with h5py.File(folder / "drive.h5", "w") as root:
        for count, camera in enumerate(("center", "left", "right"), 5):
            root[f"{camera}/images"], root[f"{camera}/t"] = pixels(count, count), np.arange(float(count))
        root["steering/angle"] = numbers(1, 40)
    return Refused(["cameras of one video or videos of their own", "'right/images' alone", "--schema"])


@case("no one project: video/rgb beside flow_x and flow_y between its frames, all JPEG", option=True)
def flow_between_frames(folder: Path) -> Layout:
    """Each length is offered with all its sequences, the longest first."""
    videos = []
    with h5py.File(folder / "clips.h5", "w") as root:
        for number in range(2):
            count, group = 5 + number, root.create_group(f"video_{number}")
            write_vlen(group, "rgb", jpegs(number, count))
            flows = {f"flow_{axis}": grey_jpegs(10 * number + ord(axis), count - 1) for axis in "xy"}
            for name, frames in flows.items():
                write_vlen(group, name, frames)
            videos.append(Video(f"video_{number}", {name: Encoded(frames) for name, frames in flows.items()}))
    fields = ", ".join(f'{{name = "flow_{axis}", kind = "image", dataset = "{{video}}/flow_{axis}"}}' for axis in "xy")
    (folder / "s.toml").write_text(f'videos = "groups"\nfield = [{fields}]\n')
    says = ["its camera '{video}/rgb' alone or one video by its cameras '{video}/flow_x' and '{video}/flow_y'"]
    return Layout(Refused(says), {"schema": "./s.toml"}, Serves(videos))


def _lost_frames(folder: Path, write_camera: Callable[[h5py.Group, str, int, int], Form]) -> Layout:
    """One camera of one video has fewer frames: asked, and served as long as the shortest, with a line, if so said."""
    videos = []
    with h5py.File(folder / "demos.h5", "w") as root:
        for number, (top, wrist) in enumerate(((6, 6), (7, 5))):
            demo, count = root.create_group(f"demo_{number}"), min(top, wrist)
            demo["action"] = actions = numbers(number, top, 7)
            fields: dict[str, Form] = {"top": write_camera(demo, "top", top, count)}
            fields |= {"wrist": write_camera(demo, "wrist", wrist, count), "action": Array(actions[:count])}
            videos.append(Video(f"demo_{number}", fields))
    cameras = [f'{{name = "{name}", kind = "image", dataset = "{{video}}/{name}"}}' for name in ("top", "wrist")]
    action = '{name = "action", kind = "array", dataset = "{video}/action"}'
    (folder / "s.toml").write_text(
        f'videos = "groups"\nlengths = "shortest"\nfield = [{", ".join([*cameras, action])}]\n'
    )
    says = ["all 2 cameras, which ends with the shortest, without 2 frames", '`lengths = "shortest"` and', cameras[1]]
    lines = [r"'top \(end\)': not served are the last frames, 2 frames at most, of 1 video such as 'demo_1'"]
    return Layout(Refused(says), {"schema": "./s.toml"}, Serves(videos, left_out=[*lines, "action .end"]))


@case("no one project: demos with two JPEG cameras, of which one lost its last frames", option=True)
def encoded_cameras_of_which_one_lost_frames(folder: Path) -> Layout:
    def write_camera(demo: h5py.Group, name: str, count: int, served: int) -> Form:
        write_vlen(demo, name, frames := jpegs(count, count))
        return Encoded(frames[:served])

    return _lost_frames(folder, write_camera)


@case("no one project: demos with two raw cameras, of which one lost its last frames", option=True)
def raw_cameras_of_which_one_lost_frames(folder: Path) -> Layout:
    def write_camera(demo: h5py.Group, name: str, count: int, served: int) -> Form:
        demo[name] = pictures = pixels(count, count, 16, 24)
        return Array(pictures[:served])

    return _lost_frames(folder, write_camera)


@case("SensorsINI/ddd20-utils: export as aps/frames, dvs/data, steering_wheel_angle/data, with times in each")
def sensors_with_times(folder: Path) -> Refused:
    """Groups that share nothing but times are sensors of one recording, and no three videos of times."""
    with h5py.File(folder / "rec.hdf5", "w") as root:
        root["aps/frames"], root["aps/timestamp"] = whole(1, 7, 24, 32, below=256, dtype="u1"), np.arange(7)
        root["dvs/data"], root["dvs/timestamp"] = whole(2, 300, 4), np.arange(300)
        root["steering_wheel_angle/data"], root["steering_wheel_angle/timestamp"] = numbers(1, 90, 2), np.arange(90)
    return Refused(["'aps/frames'", "'dvs/data'", "of different length", "--schema"])


@case("swook/EVE: <camera>.h5 (face_PoG_tobii/data, face_PoG_tobii/validity, facial_landmarks/data)")
def sensors_with_validity(folder: Path) -> Serves:
    """Flags of one form beside data of other sizes make groups no videos: they are sensors of one recording."""
    shapes = {"face_PoG_tobii": (2,), "facial_landmarks": (68, 2), "left_gaze": (3,)}
    data: Columns = {f"{name}/data": numbers(len(name), 20, *shape) for name, shape in shapes.items()}
    data = {**data, **{f"{name}/validity": np.arange(20) % 7 > 0 for name in shapes}}
    with h5py.File(folder / "basler.h5", "w") as root:
        for name, values in data.items():
            root[name] = values
        root["camera_matrix"] = numbers(1, 3, 3)
    video = Video("basler", {name: Array(values) for name, values in data.items()})
    return Serves([video], "rows", left_out=["camera_matrix"])


@case("StanfordVL/iGibson: ig_dataset_writer (frame_data, vr/…, physics_data/<id>/position)", option=True)
def bodies_of_a_demo(folder: Path) -> Layout:
    """Bodies with numbers for names are no videos, where actions of as many steps lie beside them."""
    videos = []
    for demo in range(2):
        steps = 9 + demo
        paths = {"agent_actions/vr_robot": 28, **{f"physics_data/{body}/position": 3 for body in (10, 11, 12)}}
        arrays = {path: numbers(demo + width, steps, width) for path, width in paths.items()}
        with h5py.File(folder / f"demo_{demo}.hdf5", "w") as root:
            for path, values in arrays.items():
                root[path] = values
        videos.append(Video(f"demo_{demo}", {path.replace("/", "_"): Array(values) for path, values in arrays.items()}))
    lines = [f'{{name = "{path.replace("/", "_")}", kind = "array", dataset = "{path}"}}' for path in paths]
    (folder / "s.toml").write_text(f'videos = "table"\nfield = [{", ".join(lines)}]\n')
    says = Refused(["3 groups such as 'physics_data/10' of 9 rows", "fields of one table", "and 1 more field alike"])
    return Layout(says, {"schema": "./s.toml"}, Serves(videos, "rows"))
