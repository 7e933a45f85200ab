"""Recordings of vehicles and simulators: several cameras in groups of their own, frames as groups, times as names."""

from __future__ import annotations

from pathlib import Path

import h5py
import numpy as np

from tests.public_layouts.expectations import Array, Encoded, Form, Layout, Refused, Serves, Value, Video, case
from tests.public_layouts.pictures import depth_pngs, jpegs, pixels, write_vlen
from tests.public_layouts.robots import numbers

_CAMERAS = ("image_02", "image_03")


@case("utiasSTARS/pykitti: a drive a group, a numbered JPEG a frame (image_02/0000000000, image_03, oxts)")
def kitti_drives(folder: Path) -> Serves:
    """Both cameras are of one drive, although only a number tells their names apart."""
    videos = []
    with h5py.File(folder / "kitti.h5", "w") as root:
        for number, frames in ((1, 4), (2, 5)):
            drive, fields = f"2011_09_26_drive_{number:04d}", dict[str, Form]()
            for camera in _CAMERAS:
                pictures = jpegs(10 * number + int(camera[-1]), frames)
                for frame, data in enumerate(pictures):
                    root[f"{drive}/{camera}/{frame:010d}"] = np.frombuffer(data, np.uint8)
                fields[camera] = Encoded(pictures)
            root[f"{drive}/oxts"] = numbers(number, frames, 30)
            videos.append(Video(drive, {**fields, "oxts": Array(numbers(number, frames, 30))}))
    return Serves(videos)


@case("utiasSTARS/pykitti: the folders of a drive as groups (image_02/data, image_02/timestamps, oxts/data)")
def kitti_folders(folder: Path) -> Serves:
    """A camera's pictures and times lie in a group of its own, which is no video."""
    videos = []
    with h5py.File(folder / "kitti.h5", "w") as root:
        for number, frames in ((1, 4), (2, 5)):
            fields: dict[str, Form] = {}
            for camera in _CAMERAS:
                root[f"drive_{number:04d}/{camera}/data"] = pictures = pixels(10 * number + int(camera[-1]), frames)
                root[f"drive_{number:04d}/{camera}/timestamps"] = times = np.arange(frames) + number + int(camera[-1])
                fields |= {f"{camera}/data": Array(pictures), f"{camera}/timestamps": Array(times)}
            root[f"drive_{number:04d}/oxts/data"] = numbers(number, frames, 30)
            fields["oxts/data"] = Array(numbers(number, frames, 30))
            videos.append(Video(f"drive_{number:04d}", fields))
    return Serves(videos)


@case("utiasSTARS/pykitti: a file a drive, and nothing but its cameras", option=True)
def kitti_cameras_alone(folder: Path) -> Layout:
    """Nothing says whether they are two cameras, or two videos; the message shows a schema for each."""
    cameras: dict[str, Form] = {}
    with h5py.File(folder / "drive_0001.h5", "w") as root:
        for camera in _CAMERAS:
            write_vlen(root, camera, jpegs(int(camera[-1]), 4))
            cameras[camera] = Encoded(jpegs(int(camera[-1]), 4))
    fields = [f'{{name = "{name}", kind = "image", dataset = "{name}"}}' for name in _CAMERAS]
    (folder / "schema.toml").write_text(f'videos = "files"\nfield = [{", ".join(fields)}]\n')
    says = ["2 cameras", "videos of their own", "image_02.*image_03", 'videos = "files"', 'videos = "groups"']
    return Layout(Refused(says), {"schema": "./schema.toml"}, Serves([Video("drive_0001", cameras)]))


@case("no one project: cameras in groups of each episode (ep/rgb_images/top beside ep/depth_images/top)")
def modalities_in_episodes(folder: Path) -> Serves:
    """Of equal length in each episode, and of another in the next: its cameras, whatever group they lie in."""
    videos = []
    with h5py.File(folder / "episodes.hdf5", "w") as root:
        for number, frames in ((0, 3), (1, 4)):
            fields: dict[str, Form] = {}
            for seed, name in enumerate(("rgb_images/top", "rgb_images/wrist", "flow_images/top", "flow_images/wrist")):
                write_vlen(root.require_group(f"ep_{number}"), name, jpegs(30 * number + seed, frames))
                fields[name] = Encoded(jpegs(30 * number + seed, frames))
            videos.append(Video(f"ep_{number}", fields))
    return Serves(videos)


@case("deepdrive/deepdrive: utils.py (frame_0000000000/camera_00000/image, depth), a group a frame", option=True)
def frames_as_groups(folder: Path) -> Layout:
    """Each group of one picture is a frame, by its name, or a video; the message shows a schema for both."""
    depth, image = numbers(3, 4, 24, 32), pixels(3, 4)
    with h5py.File(folder / "0000.hdf5", "w") as root:
        for frame in range(4):
            root[f"frame_{frame:010d}/camera_00000/depth"] = depth[frame]
            root[f"frame_{frame:010d}/camera_00000/image"] = image[frame]
    fields = [
        'name = "depth", kind = "array", dataset = "frame_*/camera_00000/depth", shape = [24, 32]',
        'name = "image", kind = "image", dataset = "frame_*/camera_00000/image", shape = [24, 32, 3]',
    ]
    (folder / "schema.toml").write_text(f'videos = "files"\nfield = [{{{"}, {".join(fields)}}}]\n')
    declared = Serves([Video("0000", {"depth": Array(depth), "image": Array(image)})])
    says = [
        "4 groups",
        'videos = "files".*frame_\\*/camera_00000/image',
        'videos = "groups".*{video}/camera_00000/image',
    ]
    return Layout(Refused(says), {"schema": "./schema.toml"}, declared)


@case("alters-mit/tdw_physics: tdw_physics/transforms_dataset.py (frames/0000/images/_img, _id, objects/positions)")
def encoded_frames_as_groups(folder: Path) -> Serves:
    """Each group is a frame; in those of another trial objects differ, and contacts differ from frame to frame."""
    videos = []
    for trial in range(2):
        passes = {"_img": jpegs(trial, 11 + trial), "_id": jpegs(9 + trial, 11 + trial)}
        depth, positions = pixels(trial, 11 + trial), numbers(trial, 11 + trial, 3, 3)
        with h5py.File(folder / f"{trial:04d}.hdf5", "w") as root:
            for frame in range(11 + trial):
                group = root.create_group(f"frames/{frame:04d}")
                for name, pictures in passes.items():
                    data = np.frombuffer(pictures[frame], np.uint8)
                    group.create_dataset(f"images/{name}", data=data, compression="gzip")
                group.create_dataset("images/_depth", data=depth[frame], compression="gzip")
                group.create_dataset("objects/positions", data=positions[frame], compression="gzip")
                group.create_dataset("collisions/contacts", data=numbers(frame, frame % 3, 2, 3), compression="gzip")
            root["static/stimulus_name"] = f"trial {trial}"
        fields: dict[str, Form] = {name: Encoded(pictures) for name, pictures in passes.items()}
        fields |= {"_depth": Array(depth), "positions": Array(positions), "stimulus_name": Value(f"trial {trial}")}
        videos.append(Video(f"{trial:04d}", fields))
    return Serves(videos, left_out=["collisions/contacts.*expected one shape"])


@case("no one project: trial_0/frames/frame_1/rgb beside depth as 16-bit PNG, several trials a file, plain storage")
def trials_of_encoded_frames_as_groups(folder: Path) -> Serves:
    videos = []
    with h5py.File(folder / "trials.h5", "w") as root:
        for trial in range(3):
            pictures, maps = jpegs(trial, 9 + trial), depth_pngs(trial, 9 + trial)
            for frame in range(9 + trial):
                group = root.create_group(f"trial_{trial}/frames/frame_{frame + 1}")
                group["rgb"], group["depth"] = np.frombuffer(pictures[frame], np.uint8), np.void(maps[frame])
                group["timestamp"] = 0.5 * frame
            root[f"trial_{trial}/action"] = numbers(trial, 9 + trial, 4)
            fields: dict[str, Form] = {"rgb|frames": Encoded(pictures), "depth": Encoded(maps, depth=True)}
            fields |= {"timestamp": Array(0.5 * np.arange(9 + trial)), "action": Array(numbers(trial, 9 + trial, 4))}
            videos.append(Video(f"trial_{trial}", fields))
    return Serves(videos)


@case("no one project: frames/0000/rgb, of which the camera missed one")
def encoded_frames_as_groups_with_a_gap(folder: Path) -> Refused:
    """They are no frames one after the other, and no videos of one frame without a word."""
    with h5py.File(folder / "a.h5", "w") as root:
        for frame, data in enumerate(jpegs(1, 5)):
            root[f"frames/{frame:04d}/step"] = frame
            if frame != 2:
                root[f"frames/{frame:04d}/rgb"] = np.frombuffer(data, np.uint8)
    return Refused(["4 groups such as 'frames/0000' of one frame each", 'videos = "groups"'])


@case("ROS to HDF5 scripts: Camera/images, resized along its last axis for each picture")
def frames_in_the_last_axis(folder: Path) -> Refused:
    with h5py.File(folder / "image.hdf5", "w") as root:
        shape = (48, 64, 3, 7)
        root.create_dataset("Camera/images", shape, "uint8", np.moveaxis(pixels(1, 7, 48, 64), 0, -1), maxshape=shape)
    return Refused(["height, width, channels, frames", "np.moveaxis", "--source", 'videos = "table"'])


@case("daniilidis-group/m3ed: build_system/bag_processing/rosbag2hdf5.py (ovc/*/data, ovc/ts, ouster/ts_start, ts_end)")
def m3ed(folder: Path) -> Serves:
    """Three cameras of one length; sweeps of a lidar have times of their own, which are no rows of videos."""
    fields: dict[str, Form] = {}
    with h5py.File(folder / "car_urban_day_data.h5", "w") as root:
        for camera, channels in (("left", 1), ("rgb", 3), ("right", 1)):
            pictures = pixels(len(camera), 12, 32, 40)[..., :channels]
            root.create_dataset(f"ovc/{camera}/data", data=pictures, chunks=(1, 32, 40, channels), compression="lzf")
            fields[f"ovc/{camera}/data"] = Array(pictures)
        root["ovc/ts"], root["ovc/imu/omega"] = np.arange(12), numbers(4, 192, 3)
        root["ouster/data"] = np.zeros((5, 16, 60), np.uint8)
        root["ouster/ts_start"], root["ouster/ts_end"] = np.arange(5), np.arange(5) + 1
    return Serves(
        [Video("car_urban_day_data", {**fields, "ts": Array(np.arange(12))})], left_out=["ouster/data", "imu"]
    )


@case(
    "clvrai/furniture-bench: furniture_bench/data (observations/color_image1, color_image2, of one more than actions)"
)
def numbered_cameras_of_an_episode(folder: Path) -> Serves:
    """Sequences that only a number tells apart are no frames of one video, although they are called image."""
    videos = []
    for number in range(2):
        fields: dict[str, Form] = {}
        with h5py.File(folder / f"lamp_{number}.h5", "w") as root:
            for camera in (1, 2):
                root[f"observations/color_image{camera}"] = pictures = pixels(10 * number + camera, 6 + number)
                fields[f"color_image{camera}"] = Array(pictures)
            root["observations/robot_state/ee_pos"] = numbers(number, 6 + number, 3)
            root["actions"] = numbers(number, 5 + number, 8)
        arrays = {"ee_pos": Array(numbers(number, 6 + number, 3)), "actions": Array(numbers(number, 5 + number, 8))}
        videos.append(Video(f"lamp_{number}", {**fields, **arrays}))
    return Serves(videos)


@case("no one project: cameras of 30 and 15 Hz in groups of each episode", option=True)
def cameras_of_two_rates(folder: Path) -> Layout:
    """They are cameras by their names, and cannot be fields of one video; nor are they taken for two videos."""
    videos = []
    with h5py.File(folder / "episodes.h5", "w") as root:
        for number in range(2):
            for camera, frames in (("front", 8), ("wrist", 4)):
                pictures = jpegs(20 * number + frames, frames)
                write_vlen(root.require_group(f"ep{number}/cameras/{camera}"), "frames", pictures)
                root[f"ep{number}/cameras/{camera}/timestamps"] = np.arange(frames)
                if camera == "front":
                    videos.append(Video(f"ep{number}", {"front": Encoded(pictures)}))
    field = '{name = "front", kind = "image", dataset = "{video}/cameras/front/frames"}'
    (folder / "schema.toml").write_text(f'videos = "groups"\nfield = [{field}]\n')
    says = ["front.*wrist", "of 8 frames.*of 4 frames", "videos of their own", "{video}/cameras/front/frames"]
    return Layout(Refused(says), {"schema": "./schema.toml"}, Serves(videos))


@case("no one project: raw pictures of one camera at the root, with its matrices (rgb, intrinsics, extrinsics)")
def camera_of_a_lone_file(folder: Path) -> Serves:
    """A camera's matrices are values of its file, also where the file is a table of pictures."""
    with h5py.File(folder / "camera.h5", "w") as root:
        root["rgb"], root["actions"] = pixels(1, 12), numbers(1, 12, 3)
        root["intrinsics"], root["extrinsics"] = numbers(2, 3, 3), numbers(3, 4, 4)
    arrays: dict[str, Form] = {"rgb": Array(pixels(1, 12)), "actions": Array(numbers(1, 12, 3))}
    values = {"intrinsics": Value(numbers(2, 3, 3)), "extrinsics": Value(numbers(3, 4, 4))}
    return Serves([Video("camera", {**arrays, **values})], kind="rows")


@case("commaai/research: log/*.h5 (times, speed, cam1_ptr, … beside fiber_accel and gps of other rates)", option=True)
def log_of_a_drive(folder: Path) -> Layout:
    """Columns that most datasets are get a schema of their own, beside that of the sensors with several axes."""
    columns = {name: numbers(seed, 40) for seed, name in enumerate(("cam1_ptr", "speed", "times"))}
    sensors = {"fiber_accel": numbers(4, 90, 3), "fiber_gyro": numbers(5, 90, 3), "gps": numbers(6, 12, 3)}
    with h5py.File(folder / "drive.h5", "w") as root:
        for name, values in {**columns, **sensors}.items():
            root[name] = values
    lines = [f'{{name = "{name}", kind = "array", dataset = "{name}"}}' for name in columns]
    (folder / "s.toml").write_text(f'videos = "table"\nfield = [{", ".join(lines)}]\n')
    served = Video("drive", {name: Array(values) for name, values in columns.items()})
    return Layout(
        Refused([", ".join(lines), "rows of 'fiber_accel'"]), {"schema": "./s.toml"}, Serves([served], "rows")
    )
