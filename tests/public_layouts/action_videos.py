"""Videos of actions and games: one file, group or dataset a video, JPEGs or raw, numbered frames, optical flow."""

from __future__ import annotations

import re
from pathlib import Path

import h5py
import numpy as np

from tests.public_layouts.expectations import Array, Encoded, Form, Layout, Refused, Serves, Video, case
from tests.public_layouts.pictures import grey_jpegs, jpegs, pixels, write_vlen
from tests.public_layouts.robots import numbers

_CLASSES = ("ApplyEyeMakeup", "Archery")


@case("kenshohara/3D-ResNets-PyTorch: datasets/loader.py, datasets/kinetics.py", option=True)
def resnets_3d(folder: Path) -> Layout:
    """``<class>/<name>.hdf5`` with ``video``; the folder is the label, as `inspect` says."""
    videos = []
    for number in range(4):
        name, frames = f"v_{_CLASSES[number // 2]}_g01_c0{number % 2}", jpegs(400 + number, 3 + number)
        (folder / _CLASSES[number // 2]).mkdir(exist_ok=True)
        with h5py.File(folder / _CLASSES[number // 2] / f"{name}.hdf5", "w") as root:
            write_vlen(root, "video", frames)
        videos.append(Video(name, {"frames": Encoded(frames)}, _CLASSES[number // 2]))
    unlabelled = [Video(video.name, video.fields) for video in videos]
    return Layout(Serves(unlabelled, says=[r"--label '?\{folder\}"]), {"label": "{folder}"}, Serves(videos))


@case("kenshohara/3D-ResNets-PyTorch: datasets/loader.py (VideoLoaderFlowHDF5)")
def resnets_3d_flow(folder: Path) -> Serves:
    """``video_u`` and ``video_v`` are the two halves of one video's flow, and no videos of their own."""
    videos = []
    for number in range(3):
        place = folder / _CLASSES[number % 2]
        place.mkdir(exist_ok=True)
        halves = {f"video_{axis}": grey_jpegs(410 + 10 * number + ord(axis), 4) for axis in "uv"}
        with h5py.File(place / f"clip{number}.hdf5", "w") as root:
            for name, frames in halves.items():
                write_vlen(root, name, frames)
        videos.append(Video(f"clip{number}", {name: Encoded(frames) for name, frames in halves.items()}))
    return Serves([videos[0], videos[2], videos[1]])


@case("no one project: rgb and flow of one video, kept together")
def rgb_beside_flow(folder: Path) -> Serves:
    """Several sequences of equal length in one group are one video, of which there are several in a file."""
    videos = []
    with h5py.File(folder / "ucf101.h5", "w") as root:
        for number in range(3):
            group = root.create_group(f"v_{number}")
            parts = {"rgb": jpegs(430 + number, 4), "flow_x": grey_jpegs(440 + number, 4)}
            parts["flow_y"] = grey_jpegs(450 + number, 4)
            for name, frames in parts.items():
                write_vlen(group, name, frames)
            videos.append(Video(f"v_{number}", {name: Encoded(frames) for name, frames in parts.items()}))
    return Serves(videos)


@case("rgb beside depth in a lone group (RealSense recorders)")
def rgb_beside_depth_in_a_lone_group(folder: Path) -> Serves:
    """A lone group of a file is the video, whatever its name."""
    videos = []
    for number in range(2):
        rgb = jpegs(460 + number, 4)
        depth = np.random.default_rng(number).integers(0, 9000, (4, 24, 32)).astype(np.uint16)
        with h5py.File(folder / f"rec_{number}.h5", "w") as root:
            group = root.create_group(f"camera_{number}")
            write_vlen(group, "rgb", rgb)
            group["depth"], group["timestamps"] = depth, np.arange(4) / 30
        fields: dict[str, Form] = {
            "frames|rgb": Encoded(rgb),
            "depth": Array(depth),
            "timestamps": Array(np.arange(4) / 30),
        }
        videos.append(Video(f"rec_{number}", fields))
    return Serves(videos)


@case(
    "UCF101 packed as groups by class (kenshohara/3D-ResNets-PyTorch: util_scripts/ucf101_json.py for the names)",
    option=True,
)
def ucf101_by_class(folder: Path) -> Layout:
    """``/<class>/<video>`` : vlen JPEGs; the group is the label."""
    videos = []
    with h5py.File(folder / "ucf101.hdf5", "w") as root:
        for number in range(4):
            label, name = _CLASSES[number // 2], f"v_{_CLASSES[number // 2]}_g0{number % 2 + 1}_c01"
            frames = jpegs(470 + number, 2 + number)
            write_vlen(root.require_group(label), name, frames)
            videos.append(Video(f"{label}/{name}", {"frames": Encoded(frames)}, label))
    unlabelled = [Video(video.name, video.fields) for video in videos]
    return Layout(Serves(unlabelled, says=[r"--label '?\{group\}"]), {"label": "{group}"}, Serves(videos))


@case("eloialonso/diamond: src/csgo (frame_{i}_x, _y, _xaux, _helperarr of TeaPearce's CS:GO files)")
def csgo(folder: Path) -> Serves:
    """A dataset a frame for each of four fields, in natural order; equal shapes, so raw pixels have their sides."""
    videos = []
    for part in range(2):
        pictures, count = pixels(480 + part, 12, 15, 28), 12
        actions, extra = numbers(part, count, 51).astype(np.float64), numbers(part + 1, count, 54).astype(np.float64)
        flags = np.zeros((count, 2))
        with h5py.File(folder / f"hdf5_dm_july2021_{part + 1}.hdf5", "w") as root:
            for frame in range(count):
                root[f"frame_{frame}_x"], root[f"frame_{frame}_y"] = pictures[frame], actions[frame]
                root[f"frame_{frame}_xaux"], root[f"frame_{frame}_helperarr"] = extra[frame], flags[frame]
        fields: dict[str, Form] = {"frame_x|x|frames": Array(pictures), "frame_y|y": Array(actions)}
        fields |= {"frame_xaux|xaux": Array(extra), "frame_helperarr|helperarr": Array(flags)}
        videos.append(Video(f"hdf5_dm_july2021_{part + 1}", fields))
    return Serves(videos)


@case("no one project: raw numbered frames, one group a video")
def raw_numbered_frames(folder: Path) -> Serves:
    """``/<video>/<number>`` : ``(height, width, 3) uint8``: the first axis is lines, and the numbers are frames."""
    videos = []
    with h5py.File(folder / "videos.h5", "w") as root:
        for number in range(2):
            frames = pixels(490 + number, 11, 16, 24)
            for frame, picture in enumerate(frames):
                root[f"clip_{number}/{frame}"] = picture
            videos.append(Video(f"clip_{number}", {"*": Array(frames)}))
    return Serves(videos)


@case("Something-Something v2 as one dataset a video (numbers as names)")
def something_something(folder: Path) -> Serves:
    """Videos that happen to have equal lengths are still videos: their names are numbers."""
    videos = []
    with h5py.File(folder / "sthv2.h5", "w") as root:
        for name in ("7", "78687", "100015"):
            frames = jpegs(int(name) % 97 + 500, 4)
            write_vlen(root, name, frames)
            videos.append(Video(name, {"frames": Encoded(frames)}))
    return Serves(videos)


@case("edenton/svg: Moving MNIST kept as HDF5 (time first)")
def moving_mnist(folder: Path) -> Serves:
    """``(N, T, height, width) uint8``, each row a clip."""
    clips = np.random.default_rng(5).integers(0, 256, (7, 5, 16, 16), np.uint8)
    with h5py.File(folder / "moving_mnist.h5", "w") as root:
        root.create_dataset("data", data=clips, chunks=(1, 5, 16, 16), compression="gzip")
    return Serves([Video("moving_mnist", {"data": Array(clips)})], kind="rows")


@case("no one project: JPEGs of all videos end to end, num_frames and labels beside them")
def frames_with_lengths(folder: Path) -> Serves:
    """JPEGs of all videos in one vlen dataset, with the number of frames of each beside it."""
    frames, lengths = jpegs(510, 12), [4, 3, 5]
    with h5py.File(folder / "features.h5", "w") as root:
        write_vlen(root, "frames", frames)
        root["num_frames"], root["labels"] = np.array(lengths), np.array([2, 0, 1])
    bounds = zip([0, 4, 7], [4, 7, 12], [2, 0, 1], strict=True)
    return Serves([Video(f"*{a}", {"frames": Encoded(frames[a:b])}, label) for a, b, label in bounds])


@case("openai/Video-Pre-Training style recordings kept as HDF5 (JPEG as np.void, actions as JSON texts)")
def frames_as_void_with_json(folder: Path) -> Serves:
    """Opaque scalars a frame, and one JSON text a frame."""
    videos = []
    for number in range(2):
        frames, texts = jpegs(520 + number, 11), [f'{{"keyboard": {{"keys": [{frame}]}}}}' for frame in range(11)]
        with h5py.File(folder / f"player{number}.h5", "w") as root:
            for frame, data in enumerate(frames):
                root[f"frames/{frame:06d}"] = np.void(data)
            root["actions"] = texts
        fields: dict[str, Form] = {"frames": Encoded(frames), "actions": Array(np.array(texts, "S"))}
        videos.append(Video(f"player{number}", fields))
    return Serves(videos)


@case("KTH and Weizmann packs: a raw dataset a video, at any depth")
def raw_videos_by_dataset(folder: Path) -> Serves:
    """``/<class>/<video>`` : ``(frames, height, width, 1) uint8``, of different length."""
    videos = []
    with h5py.File(folder / "kth.h5", "w") as root:
        for number, name in enumerate(("boxing/person01_d1", "boxing/person02_d1", "walking/person01_d1")):
            frames = pixels(530 + number, 4 + number, 16, 24)[..., :1]
            root.create_dataset(name, data=frames, chunks=(1, 16, 24, 1))
            videos.append(Video(name, {"*": Array(frames)}))
    return Serves(videos)


@case("A file a video, raw, and nothing else (OpenCV tutorials)")
def raw_video_file(folder: Path) -> Serves:
    """``/video`` : ``(frames, height, width, 3) uint8`` in each of several files, of different length."""
    videos = []
    for number in range(3):
        frames = pixels(540 + number, 4 + number, 16, 24)
        with h5py.File(folder / f"clip_{number}.h5", "w") as root:
            root["video"] = frames
        videos.append(Video(f"clip_{number}", {"frames|./video": Array(frames)}))
    return Serves(videos, kind="rows|videos")


@case("no one project: films of any size, a dataset each, in /<number>")
def raw_films_of_any_size(folder: Path) -> Serves:
    """Raw frames are pictures by their shape, and the next film has other sides."""
    films = [pixels(480 + number, 4 + number, 16 + 8 * (number % 2), 20 + 4 * number) for number in range(4)]
    with h5py.File(folder / "films.h5", "w") as root:
        for number, film in enumerate(films):
            root[str(number)] = film
        root["labels"] = np.arange(4)
    return Serves([Video(str(number), {"frames": Array(film)}, number) for number, film in enumerate(films)])


@case("no one project: films of any size, video_0 beside actions_0")
def raw_films_of_any_size_with_actions(folder: Path) -> Serves:
    """Numbers tell which actions belong to which film, whatever its sides."""
    videos = []
    with h5py.File(folder / "films.h5", "w") as root:
        for number in range(3):
            film, actions = pixels(490 + number, 4 + number, 16, 20 + 4 * number), numbers(number, 4 + number, 2)
            root[f"video_{number}"], root[f"actions_{number}"] = film, actions
            videos.append(Video(str(number), {"frames": Array(film), "actions": Array(actions)}))
    return Serves(videos)


@case("no one project: films of any size, a dataset each, by words", option=True)
def raw_films_of_any_size_by_words(folder: Path) -> Layout:
    """Words may name cameras as well; a schema is shown that makes each a video."""
    films = {name: pixels(495 + len(name), 3 + n, 16, 20 + 4 * n) for n, name in enumerate(("bird", "horse", "zebras"))}
    with h5py.File(folder / "films.h5", "w") as root:
        for name, film in films.items():
            root[name] = film
    field = 'name = "values", kind = "image", dataset = "{video}"'
    (folder / "films.toml").write_text(f'videos = "groups"\nfield = [{{{field}}}]\n')
    served = Serves([Video(name, {"values": Array(film)}) for name, film in films.items()])
    return Layout(Refused(["videos of their own", re.escape(field)]), {"schema": "./films.toml"}, served)


@case("no one project: one film at several scales, level_0, level_1", option=True)
def levels_of_a_film(folder: Path) -> Layout:
    """Numbers may tell scales of one film apart, and not films, where all have one length."""
    videos = []
    for film in range(2):
        levels = {f"level_{level}": pixels(20 * film + level, 5 + film, 32 >> level, 32 >> level) for level in range(2)}
        with h5py.File(folder / f"film_{film}.h5", "w") as root:
            for name, level in levels.items():
                root[name] = level
        videos.append(Video(f"film_{film}", {name: Array(level) for name, level in levels.items()}))
    lines = [f'{{name = "level_{level}", kind = "image", dataset = "level_{level}"}}' for level in range(2)]
    (folder / "s.toml").write_text(f'videos = "table"\nfield = [{", ".join(lines)}]\n')
    return Layout(
        Refused(["a video, or the pictures of a class", *lines]), {"schema": "./s.toml"}, Serves(videos, "rows")
    )
