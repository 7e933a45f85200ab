"""Recordings of robots, cars, games, eyes and hands: many sensors of one clock, beside some of another."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import h5py
import numpy as np

from tests.public_layouts.columns import Columns, table, whole, write
from tests.public_layouts.expectations import Array, Encoded, Form, Refused, Serves, Value, Video, case, rows_of
from tests.public_layouts.pictures import jpegs, pixels, write_vlen
from tests.public_layouts.robots import numbers


def episodes(path: Path, pattern: str, columns: Mapping[str, tuple[int, ...]], count: int = 2) -> list[Video]:
    """Write groups with float32 arrays of equal length, and return them as videos."""
    videos = []
    with h5py.File(path, "a") as root:
        for number in range(count):
            fields: dict[str, Form] = {}
            for name, shape in columns.items():
                values = numbers(number, 5 + number, *shape)
                root[f"{pattern.format(number)}/{name}"] = values
                fields[f"{name.rpartition('/')[2]}|{name}"] = Array(values)
            videos.append(Video(pattern.format(number), fields))
    return videos


@case("robopen.github.io (RoboSet): Trial0/data/rgb_left, d_left, ctrl_arm, derived/pose_ee")
def roboset(folder: Path) -> Serves:
    """Cameras, depth and joints in ``data``, what was derived from them beside it."""
    path, videos = folder / "roboset.h5", []
    plain = episodes(path, "Trial{}", {"data/ctrl_arm": (7,), "data/time": (), "derived/pose_ee": (6,)})
    with h5py.File(path, "a") as root:
        for number, video in enumerate(plain):
            rgb, depth = pixels(number, 5 + number), whole(number, 5 + number, 24, 32, dtype="u2")
            for camera in ("left", "wrist"):
                root[f"Trial{number}/data/rgb_{camera}"], root[f"Trial{number}/data/d_{camera}"] = rgb, depth
            root[f"Trial{number}/config/solved"] = 1.0
            cameras = {"rgb_left": Array(rgb), "rgb_wrist": Array(rgb), "d_left": Array(depth), "d_wrist": Array(depth)}
            videos.append(Video(video.name, {**video.fields, **cameras, "solved": Value(1.0)}))
    return Serves(videos)


@case("isaac-sim/IsaacLab: isaaclab/utils/datasets/hdf5_dataset_file_handler.py (data/demo_0)")
def isaac_lab(folder: Path) -> Serves:
    """The state at the beginning has one row, and is a value of the episode."""
    path = folder / "dataset.hdf5"
    columns = {"actions": (7,), "obs/joint_pos": (9,), "states/articulation/robot/joint_position": (9,)}
    videos, seen = episodes(path, "data/demo_{}", columns), []
    with h5py.File(path, "a") as root:
        for video in videos:
            root[f"{video.name}/initial_state/articulation/robot/root_pose"] = numbers(1, 1, 7)
            root[video.name].attrs["success"] = True
            pose = {"root_pose": Value(numbers(1, 1, 7).tolist())}
            seen.append(Video(video.name, {**video.fields, **pose}))
    return Serves(seen)


@case("tinkoff-ai/katakomba: scripts/generate_dataset.py (0/tty_chars, tty_colors, actions)")
def katakomba(folder: Path) -> Serves:
    """Screens of text are bytes, and no JPEGs."""
    videos = []
    with h5py.File(folder / "data-arc-hum-neu.hdf5", "w", track_order=True) as root:
        for number in range(3):
            game, steps = root.create_group(str(number)), 6 + number
            game.create_dataset("tty_chars", data=whole(number, steps, 24, 80, dtype="u1"), compression="gzip")
            game.create_dataset("tty_colors", data=whole(number, steps, 24, 80, dtype="i1"), compression="gzip")
            game["tty_cursor"], game["actions"] = whole(1, steps, 2, dtype="i2"), whole(2, steps, dtype="u1")
            game["rewards"], game["dones"] = whole(3, steps, dtype="i4"), np.arange(steps) == steps - 1
            videos.append(Video(str(number), {name: Array(game[name][()]) for name in game}))
    return Serves(videos)


@case("OpenDriveLab/agibot-world: proprio_stats.h5 (state/joint/position, action/…)")
def agibot_world(folder: Path) -> Serves:
    """Equal names in ``state`` and ``action``, and datasets without rows."""
    columns = {
        f"{each}/{name}": numbers(len(name), 20, width)
        for each in ("state", "action")
        for name, width in (("joint/position", 14), ("effector/position", 2))
    }
    path = folder / "proprio_stats.h5"
    write(path, {**columns, "timestamp": np.arange(20), "action/robot/velocity": np.zeros((0, 2), "f4")})
    fields: dict[str, Form] = {name: Array(values) for name, values in columns.items()}
    video = Video("proprio_stats", {**fields, "timestamp": Array(np.arange(20))})
    return Serves([video], "rows", left_out=["action/robot/velocity"])


@case("OpenTeleVision/TeleVision: processed_episode_0.hdf5 (observation.image.left)")
def television(folder: Path) -> Serves:
    """Names with dots, pictures with channels first."""
    cameras = {f"observation.image.{side}": pixels(1, 8).transpose(0, 3, 1, 2) for side in ("left", "right")}
    state = {"observation.state": numbers(1, 8, 26), "qpos_action": numbers(2, 8, 28)}
    return table(folder / "processed_episode_0.hdf5", {**cameras, **state})


@case("commaai/research: dataset/log/*.h5 (steering_angle, cam1_ptr)")
def comma_log(folder: Path) -> Serves:
    """Sensors at 100 Hz, with the camera's frame as a column, and positions of another clock."""
    columns = {name: numbers(len(name), 40).astype("f8") for name in ("times", "steering_angle", "speed")}
    columns["cam1_ptr"], columns["fiber_accel"] = np.repeat(np.arange(8.0), 5), numbers(1, 40, 3).astype("f8")
    write(folder / "2016-01-30.h5", {**columns, "gps_1": numbers(2, 12, 4)})
    return Serves(rows_of("2016-01-30", **columns).videos, "rows", left_out=["gps_1"])


@case("carla-simulator/imitation-learning: SeqTrain/data_00000.h5 (rgb, targets)")
def carla(folder: Path) -> Serves:
    """Files of 200 samples each."""
    videos: list[Video] = []
    for number in range(2):
        path = folder / f"data_0000{number}.h5"
        videos += table(path, {"rgb": pixels(number, 10), "targets": numbers(number, 10, 28)}).videos
    return Serves(videos, "rows")


@case("xucong-zhang/ETH-XGaze: subject0000.h5 (face_patch, face_gaze, frame_index)")
def eth_xgaze(folder: Path) -> Serves:
    """Faces with gazes, matrices, and columns ``(N, 1)``."""
    numbered = {"frame_index": np.arange(6)[:, None], "cam_index": np.arange(6)[:, None] + 1}
    faces: Columns = {"face_patch": pixels(1, 6), "face_gaze": numbers(1, 6, 2), "face_mat_norm": numbers(3, 6, 3, 3)}
    return table(folder / "subject0000.h5", {**faces, **numbered})


@case("Sachini/ronin: source/data_ridi.py, data_glob_speed.py (synced/acce, raw/imu/acce, pose/tango_ori)")
def ronin(folder: Path) -> Refused:
    """Raw sensors of two lengths are no two videos, and quaternions are no third."""
    synced = {f"synced/{name}": numbers(width, 40, width) for name, width in (("acce", 3), ("gyro", 3), ("rv", 4))}
    raw = {"raw/imu/acce": numbers(9, 97, 4), "raw/imu/gyro": numbers(9, 99, 4)}
    write(folder / "data.hdf5", {**synced, **raw, "pose/tango_ori": numbers(8, 40, 4), "synced/time": np.arange(40.0)})
    return Refused(["raw/imu/acce", "raw/imu/gyro", "--schema"])


@case("PKU-EVA/event_utils (TimoStoff): lib/data_formats/event_packagers.py (events/xs, images/image000000000)")
def event_packager(folder: Path) -> Serves:
    """Grey pictures and the flow between them, both numbered, are fields of one video; events have lines."""
    images, flow = pixels(5, 6)[..., 0], numbers(5, 5, 2, 24, 32)
    with h5py.File(folder / "boxes_6dof.h5", "w") as root:
        for name, dtype in (("xs", "i2"), ("ys", "i2"), ("ts", "f8"), ("ps", "?")):
            root[f"events/{name}"] = whole(1, 50, dtype=dtype)
        for number, image in enumerate(images):
            root[f"images/image{number:09d}"] = image
            root[f"images/image{number:09d}"].attrs["event_idx"] = number
        for number, each in enumerate(flow):
            root[f"flow/flow{number:09d}"] = each
        root.attrs["sensor_resolution"] = (24, 32)
    return Serves([Video("boxes_6dof", {"images": Array(images), "flow": Array(flow)})], left_out=["events/xs"])


@case("mila-iqia/fuel, cooijmanstim/recurrent attention: framewise compressed videos (images, videos, targets)")
def framewise_videos(folder: Path) -> Serves:
    """JPEGs of all videos end to end, with first and last rows as pairs."""
    frames, bounds = jpegs(5, 12), np.array([[0, 5], [5, 9], [9, 12]])
    with h5py.File(folder / "kth.hdf5", "w") as root:
        write_vlen(root, "images", frames)
        root["videos"], root["targets"] = bounds, np.array([[4], [5], [6]])
    return Serves(
        [
            Video(str(number), {"*": Encoded(frames[start:end]), "targets": Value(4 + number)})
            for number, (start, end) in enumerate(bounds.tolist())
        ]
    )


@case("no one project: subject_0/trial_0/eeg, with the label as an attribute of the trial")
def trials_by_subject(folder: Path) -> Serves:
    """A video is a trial, and not a subject with a field for each trial."""
    videos = []
    with h5py.File(folder / "eeg.h5", "w") as root:
        for subject in range(2):
            for number in range(3):
                trial = root.create_group(f"subject_{subject}/trial_{number}")
                trial["eeg"], trial.attrs["label"] = numbers(number, 40 + number, 14), number
                videos.append(Video(trial.name[1:], {"*": Array(numbers(number, 40 + number, 14))}, number))
    return Serves(videos)


@case("no one project: p225/p225_000, … by speaker, some of which have one length")
def utterances_by_speaker(folder: Path) -> Serves:
    """A dataset of another speaker's that has the same length belongs to no other."""
    videos = []
    with h5py.File(folder / "vctk.h5", "w") as root:
        for speaker in ("p225", "p226"):
            for number in range(3):
                name = f"{speaker}/{speaker}_{number:03d}"
                root[name] = numbers(number, 20 + number, 8)
                videos.append(Video(name, {"*": Array(numbers(number, 20 + number, 8))}))
    return Serves(videos)


@case("no one project: episodes with two JPEG cameras, one of which lacks a camera")
def episode_without_a_camera(folder: Path) -> Serves:
    """What not all have is no field; the others stay what they are."""
    videos = []
    with h5py.File(folder / "episodes.h5", "w") as root:
        for number in range(3):
            episode, frames = root.create_group(f"ep_{number}"), jpegs(710 + number, 4)
            for camera in ("cam_left", "cam_right")[: 1 + (number != 1)]:
                write_vlen(episode, camera, frames)
            episode["action"] = numbers(number, 4, 3)
            fields: dict[str, Form] = {"cam_left|frames": Encoded(frames), "action": Array(numbers(number, 4, 3))}
            videos.append(Video(f"ep_{number}", fields))
    return Serves(videos, left_out=["cam_right"])


@case("no one project: frames with fewer labels, called labels")
def odd_count_of_labels(folder: Path) -> Serves:
    """Labels that belong to no frame have a line."""
    videos = []
    with h5py.File(folder / "clips.h5", "w") as root:
        for number in range(2):
            frames = jpegs(720 + number, 5)
            write_vlen(root.create_group(f"v{number}"), "frames", frames)
            root[f"v{number}/labels"] = np.arange(3)
            videos.append(Video(f"v{number}", {"*": Encoded(frames)}))
    return Serves(videos, left_out=["labels"])


@case("talmolab/sleap: sleap/info/write_tracking_h5.py (tracks, point_scores with frames last; track_occupancy)")
def sleap_analysis(folder: Path) -> Refused:
    """MATLAB's order of axes: two animals are no two frames, and the message says which axis is time."""
    with h5py.File(folder / "mice.analysis.h5", "w") as root:
        root["tracks"], root["point_scores"] = numbers(1, 2, 2, 5, 50), numbers(2, 2, 5, 50)
        root["instance_scores"], root["track_occupancy"] = numbers(3, 2, 50), np.ones((50, 2), np.uint8)
        root["node_names"], root["video_path"] = [b"nose"] * 5, "mice.mp4"
    return Refused(["'tracks'.*50 entries along their last axis", "track_occupancy", "np.moveaxis", 'videos = "table"'])
