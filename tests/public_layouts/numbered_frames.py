"""Frames that are a dataset, or a group, each: parts of longer videos, numbers with gaps, two cameras in one group."""

from __future__ import annotations

import re
from pathlib import Path

import h5py
import numpy as np

from tests.public_layouts.expectations import Array, Encoded, Form, Layout, Refused, Serves, Video, case
from tests.public_layouts.pictures import jpeg, jpegs, pixels
from tests.public_layouts.robots import numbers


@case("no one project: raw frame_5, frame_6, …: parts of longer videos")
def frames_from_any_number(folder: Path) -> Serves:
    """A word for a frame and numbers without a gap are frames, wherever they begin, and no five pictures a group."""
    videos = []
    with h5py.File(folder / "parts.h5", "w") as root:
        for number in range(2):
            frames = pixels(number, 5, 16, 24)
            for frame, picture in enumerate(frames):
                root[f"v{number}/frame_{5 + frame}"] = picture
            videos.append(Video(f"v{number}", {"*": Array(frames)}))
    return Serves(videos)


@case("no one project: raw frame_0, frame_10, frame_20: every tenth frame")
def frames_with_equal_gaps(folder: Path) -> Serves:
    """Equal steps leave nothing out, as of encoded frames."""
    videos = []
    with h5py.File(folder / "tenth.h5", "w") as root:
        for number in range(2):
            pictures = pixels(number, 5, 16, 24)
            for frame, picture in enumerate(pictures):
                root[f"v{number}/frame_{10 * frame}"] = picture
            videos.append(Video(f"v{number}", {"frame|frames": Array(pictures)}))
    return Serves(videos)


@case("no one project: raw frame_0, frame_2, frame_3, … of one file, of which some are missing", option=True)
def raw_frames_with_uneven_gaps(folder: Path) -> Layout:
    """What `--frames` orders is encoded; of raw ones the refusal shows how a picture each is served."""
    samples = []
    with h5py.File(folder / "filtered.h5", "w") as root:
        for number in (0, 2, 3, 8, 14):
            root[f"frame_{number:05d}"] = pixels(number, 1, 16, 24)[0]
            samples.append(Video(f"frame_{number:05d}", {"frames": Array(root[f"frame_{number:05d}"][()][None])}))
    field = '{name = "frames", kind = "image", dataset = "{video}", shape = [-1, -1, 3]}'
    (folder / "s.toml").write_text(f'videos = "groups"\nfield = [{field}]\n')
    says = ["some numbers are missing", "write the frames of each video as one dataset", "--source", re.escape(field)]
    return Layout(Refused(says), {"schema": "./s.toml"}, Serves(samples))


@case("eloialonso/diamond, its frames frame_0_x, … of which one is missing")
def raw_frames_with_a_suffix_and_a_gap(folder: Path) -> Refused:
    """What stands behind the number changes nothing: a frame was lost, and is no end of a video."""
    with h5py.File(folder / "lost.h5", "w") as root:
        for number in (0, 1, 2, 4, 5):
            root[f"frame_{number}_x"], root[f"frame_{number}_y"] = pixels(number, 1, 16, 24)[0], np.arange(3)
    return Refused(["'frame_0_x'", "some numbers are missing", "frames of each video as one dataset", "--source"])


@case("no one project: raw frame_0_x, with the actions between frames as frame_0_y")
def numbered_actions_between_frames(folder: Path) -> Serves:
    """One entry fewer than frames is aligned with their beginning, in datasets of a number each as in one."""
    return _with_actions(folder, encoded=False)


@case("no one project: JPEGs frame_0_x, with the actions between frames as frame_0_y")
def numbered_actions_between_encoded_frames(folder: Path) -> Serves:
    """As beside raw frames."""
    return _with_actions(folder, encoded=True)


def _with_actions(folder: Path, *, encoded: bool) -> Serves:
    frames, files, actions = pixels(1, 6, 16, 24), jpegs(1, 6), numbers(2, 5, 3)
    with h5py.File(folder / "a.h5", "w") as root:
        for number in range(6):
            root[f"frame_{number}_x"] = np.frombuffer(files[number], np.uint8) if encoded else frames[number]
        for number, action in enumerate(actions):
            root[f"frame_{number}_y"] = action
    pictures: Form = Encoded(files) if encoded else Array(frames)
    return Serves([Video("a", {"frames": pictures, "frame_y": Array(actions)})])


@case("no one project: raw cam0_frame_0 beside cam1_frame_0")
def numbered_frames_of_two_cameras(folder: Path) -> Serves:
    """A device with a number, before that of the frame, is a field."""
    fields: dict[str, Form] = {f"cam{camera}_frame": Array(pixels(camera, 5, 16, 24)) for camera in range(2)}
    with h5py.File(folder / "stereo.h5", "w") as root:
        for camera in range(2):
            for frame, picture in enumerate(pixels(camera, 5, 16, 24)):
                root[f"cam{camera}_frame_{frame}"] = picture
    return Serves([Video("stereo", fields)])


@case("no one project: JPEGs cam0_000 beside cam1_000 in one group", option=True)
def encoded_frames_of_two_cameras(folder: Path) -> Layout:
    """They are no videos of one frame; `--frames`, as the refusal says, serves one camera."""
    with h5py.File(folder / "stereo.h5", "w") as root:
        for camera in range(2):
            for frame, data in enumerate(jpegs(camera, 5)):
                root[f"images/cam{camera}_{frame:03d}"] = np.frombuffer(data, np.uint8)
    served = Serves([Video("stereo", {"frames": Encoded(jpegs(0, 5))})], left_out=["cam1_000"])
    return Layout(Refused(["'cam0_#' and 'cam1_#'", r"--frames '\*/cam0_\*'"]), {"frames": "*/cam0_*"}, served)


@case("shahroudy/NTURGB-D skeletons kept as HDF5: a dataset (frames, joints, 3) for each clip", option=True)
def skeletons_by_clip(folder: Path) -> Layout:
    """Joints of three coordinates have the form of pictures; the schema that is shown makes each clip a video."""
    videos = []
    with h5py.File(folder / "ntu.h5", "w") as root:
        for number in range(3):
            name = f"S001C001P00{number + 1}R001A00{number + 1}"
            root[name] = numbers(number, 6 + number, 25, 3)
            videos.append(Video(name, {"values": Array(numbers(number, 6 + number, 25, 3))}))
    field = '{name = "values", kind = "array", dataset = "{video}"}'
    (folder / "s.toml").write_text(f'videos = "groups"\nfield = [{field}]\n')
    return Layout(Refused(["videos of their own", re.escape(field)]), {"schema": "./s.toml"}, Serves(videos))


@case("no one project: JPEGs frame_00000, frame_00002, … of which a filter has dropped some", option=True)
def encoded_frames_with_uneven_gaps(folder: Path) -> Layout:
    """They are no videos of one frame each, and `--frames`, as the refusal says, makes videos of them."""
    videos = []
    with h5py.File(folder / "filtered.h5", "w") as root:
        for number in range(2):
            frames = jpegs(10 * number, 5)
            for frame, data in zip((0, 2, 3, 8, 14), frames, strict=True):
                root[f"v{number}/frame_{frame:05d}"] = np.frombuffer(data, np.uint8)
            videos.append(Video(f"v{number}", {"frames": Encoded(frames)}))
    says = ["10 datasets such as 'v0/frame_00000'", re.escape("--frames '*/frame_*'"), "a video of one frame each"]
    return Layout(Refused(says), {"frames": "*/frame_*"}, Serves(videos))


@case("no one project: JPEGs 000.jpg, 002.jpg, … in groups, of which some are missing", option=True)
def encoded_pictures_with_uneven_gaps(folder: Path) -> Layout:
    """They may be pictures of classes; a line says what makes them frames, and that works."""
    samples, videos = [], []
    with h5py.File(folder / "filtered.h5", "w") as root:
        for number in range(2):
            frames = jpegs(10 * number, 4)
            for frame, data in zip((0, 2, 3, 7), frames, strict=True):
                root[f"v{number}/{frame:03d}.jpg"] = np.frombuffer(data, np.uint8)
                samples.append(Video(f"v{number}/{frame:03d}.jpg", {"frames": Encoded([data])}))
            videos.append(Video(f"v{number}", {"frames": Encoded(frames)}))
    line = re.escape("8 datasets such as 'v0/000.jpg'") + ".*" + re.escape("--frames '*/*.jpg'")
    return Layout(Serves(samples, left_out=[line]), {"frames": "*/*.jpg"}, Serves(videos))


@case("Microsoft 7-Scenes and ScanNet kept as HDF5: frame-000000.color (JPEG) beside .depth, .pose, .mask")
def numbers_beside_encoded_frames(folder: Path) -> Serves:
    """What has the numbers of encoded frames is a field of their video, whatever its form; other numbers are none."""
    videos = []
    with h5py.File(folder / "scenes.h5", "w") as root:
        for scene, count in enumerate((4, 5)):
            frames, poses = jpegs(scene, count), numbers(scene, count, 4, 4)
            depth, mask = numbers(10 + scene, count, 16, 24), pixels(scene, count, 16, 24)[..., 0]
            for number in range(count):
                stem = f"scene{scene}/frame-{number:06d}"
                root[f"{stem}.color"] = np.frombuffer(frames[number], np.uint8)
                root[f"{stem}.depth"], root[f"{stem}.pose"] = depth[number], poses[number]
                root[f"{stem}.mask"], root[f"{stem}.time"] = mask[number], number / 30
                root[f"scene{scene}/key_{number + 7}"] = np.zeros(3)
            fields: dict[str, Form] = {"frames": Encoded(frames), "frame.depth": Array(depth)}
            fields |= {
                "frame.pose": Array(poses),
                "frame.mask": Array(mask),
                "frame.time": Array(np.arange(count) / 30),
            }
            videos.append(Video(f"scene{scene}", fields))
    return Serves(videos, left_out=["key_"])


@case("deblurring with events: voxels/voxel000000000, images/image000000000, sharp_images/…, masks/…", option=False)
def numbered_groups_of_which_two_are_alike(folder: Path) -> Serves:
    """Names tell groups of one form apart, and forms the others, whatever these are called."""
    forms = {"voxels/voxel": (6, 16, 24), "images/image": (3, 16, 24), "sharp_images/image": (3, 16, 24)}
    fields: dict[str, Form] = {}
    with h5py.File(folder / "a.h5", "w") as root:
        for seed, (path, shape) in enumerate(forms.items()):
            values = np.random.default_rng(seed).integers(0, 255, (5, *shape))
            values = values.astype(np.float32 if shape[0] == 6 else np.uint8)
            for number, each in enumerate(values):
                root[f"{path}{number:09d}"] = each
            fields[path.partition("/")[0]] = Array(values)
    return Serves([Video("a", fields)])


@case("recorders of small cars: image_array_7 beside angle_7 and throttle_7, a number each")
def a_number_beside_each_picture(folder: Path) -> Serves:
    """Single numbers that count as pictures do are a field with an entry for each, and not a value of each name."""
    frames, angles = pixels(1, 12, 16, 20), numbers(1, 12).astype(np.float64)
    with h5py.File(folder / "tub.h5", "w") as root:
        for number in range(12):
            root[f"image_array_{number}"], root[f"angle_{number}"] = frames[number], angles[number]
            if number < 11:
                root[f"reward_{number}"] = number
    fields: dict[str, Form] = {"frames": Array(frames), "angle": Array(angles), "reward": Array(np.arange(11))}
    return Serves([Video("tub", fields)])


@case("ScanNet as HDF5: scene0000_00/color/0, …/20, …/40 beside depth and pose of the same numbers")
def poses_in_steps(folder: Path) -> Serves:
    """Equal steps leave nothing out, and what has the frames' numbers is a field of them, whatever it is called."""
    videos = []
    with h5py.File(folder / "scans.h5", "w") as root:
        for scene in range(2):
            name, poses, depth = f"scene{scene:04d}_00", numbers(scene, 5, 4, 4), pixels(scene, 5, 16, 24)[..., 0]
            for frame in range(5):
                root[f"{name}/color/{20 * frame}"] = np.void(jpeg(10 * scene + frame))
                root[f"{name}/pose/{20 * frame}"] = poses[frame]
                root[f"{name}/depth/{20 * frame}"] = depth[frame].astype("u2")
            frames = Encoded([jpeg(10 * scene + frame) for frame in range(5)])
            fields: dict[str, Form] = {"frames": frames, "pose": Array(poses), "depth": Array(depth.astype("u2"))}
            videos.append(Video(name, fields))
    return Serves(videos)


@case("no one project: raw frame_0, frame_1, … end to end, with episode_index beside them")
def numbered_frames_end_to_end(folder: Path) -> Serves:
    """Each episode has the frames of its own numbers."""
    pictures, states = pixels(1, 7, 16, 24), numbers(2, 7, 3)
    with h5py.File(folder / "a.h5", "w") as root:
        for frame in range(7):
            root[f"frame_{frame}"], root[f"state_{frame}"] = pictures[frame], states[frame]
        root["episode_index"] = [0, 0, 0, 1, 1, 1, 1]
    parts = [slice(3), slice(3, 7)]
    return Serves(
        [
            Video(str(number), {"frame|frames": Array(pictures[rows]), "state": Array(states[rows])})
            for number, rows in enumerate(parts)
        ]
    )


_TIMES = ("0", "0.05", "0.1", "0.15", "0.2", "1", "1.05")


@case("no one project: JPEGs called by seconds, with as many decimals as they need (frames/0.05)", option=True)
def pictures_called_by_seconds(folder: Path) -> Layout:
    """They are asked about, and come in the order of time; natural order has 0.1 before 0.05."""
    with h5py.File(folder / "a.h5", "w") as root:
        for number, name in enumerate(_TIMES):
            root[f"frames/{name}"] = np.void(jpeg(number))
    served = Serves([Video("a", {"frames": Encoded([jpeg(number) for number in range(len(_TIMES))])})])
    return Layout(Refused(["times in one video", r"--frames 'frames/\[0-9\]\*'"]), {"frames": "frames/[0-9]*"}, served)


@case("no one project: JPEGs called by dates, in two groups, across a minute (run0/2021-05-01T12_00_59)", option=True)
def pictures_called_by_dates(folder: Path) -> Layout:
    """They were videos of one frame each, without a word."""
    videos = []
    with h5py.File(folder / "a.h5", "w") as root:
        for run in range(2):
            for second in range(5):
                root[f"run{run}/2021-05-01T12_0{(57 + second) // 60}_{(57 + second) % 60:02d}"] = np.void(
                    jpeg(10 * run + second)
                )
            videos.append(Video(f"run{run}", {"frames": Encoded([jpeg(10 * run + n) for n in range(5)])}))
    refused = Refused(["times in one video", r"--frames '\*/\[0-9\]\*' makes one video of each group"])
    return Layout(refused, {"frames": "*/[0-9]*"}, Serves(videos))


@case("no one project: grey pictures called by dates, of another day in each file")
def grey_pictures_by_day(folder: Path) -> Serves:
    """The day is no part of the field's name."""
    videos = []
    for day in (1, 2):
        grey = pixels(day, 4)[..., 0]
        with h5py.File(folder / f"{day}.h5", "w") as root:
            for second, picture in enumerate(grey):
                root[f"frames/2021-05-0{day}T12_00_0{second}"] = picture
        videos.append(Video(str(day), {"./frames|frames": Array(grey)}))
    return Serves(videos)


@case("no one project: float maps called by seconds")
def maps_called_by_seconds(folder: Path) -> Serves:
    """They are videos of their rows, as named matrices are, with a line."""
    maps = {f"{time:.3f}": numbers(n, 24, 32) for n, time in enumerate((0.033, 0.067, 0.1, 0.133))}
    with h5py.File(folder / "a.h5", "w") as root:
        for name, values in maps.items():
            root[f"maps/{name}"] = values
    videos = [Video(f"maps/{name}", {"*": Array(values)}) for name, values in maps.items()]
    return Serves(videos, left_out=["videos of 24 frames each, though their names seem to be times"])


_ANIMALS = ("cat_0", "cat_1", "dog_0")


@case("no one project: JPEGs as cat_0, cat_1 and dog_0", option=True)
def encoded_pictures_by_word_and_number(folder: Path) -> Layout:
    """Words may be classes, or videos of which numbers count the frames: a picture each, and a line."""
    with h5py.File(folder / "a.h5", "w") as root:
        for number, name in enumerate(_ANIMALS):
            root[f"pets/{name}"] = np.void(jpeg(number))
    field = '{name = "frames", kind = "image", dataset = "pets/{video}_*"}'
    (folder / "s.toml").write_text(f'videos = "groups"\nfield = [{field}]\n')
    each = [Video(f"pets/{name}", {"frames": Encoded([jpeg(n)])}) for n, name in enumerate(_ANIMALS)]
    words = [("cat", [jpeg(0), jpeg(1)]), ("dog", [jpeg(2)])]
    served = Serves([Video(f"pets/{name}", {"frames": Encoded(frames)}) for name, frames in words])
    return Layout(
        Serves(each, left_out=[r"dataset = .pets/\{video\}_\*.* makes 2 videos"]), {"schema": "./s.toml"}, served
    )


@case("no one project: raw pictures as cat_0, cat_1 and dog_0")
def raw_pictures_by_word_and_number(folder: Path) -> Serves:
    pictures = pixels(1, 3)
    with h5py.File(folder / "a.h5", "w") as root:
        for name, picture in zip(_ANIMALS, pictures, strict=True):
            root[name] = picture
    videos = [Video(name, {"frames": Array(picture[None])}) for name, picture in zip(_ANIMALS, pictures, strict=True)]
    return Serves(videos, left_out=["makes 2 videos; if words are classes"])
