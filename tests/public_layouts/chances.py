"""What has as many entries as there are frames by chance, and names and shapes with two meanings: said, or asked."""

from __future__ import annotations

from pathlib import Path

import h5py
import numpy as np

from tests.public_layouts.columns import whole
from tests.public_layouts.expectations import (
    Array,
    Encoded,
    Form,
    Layout,
    Refused,
    Serves,
    Value,
    Values,
    Video,
    case,
    rows_of,
)
from tests.public_layouts.pictures import jpeg, pixels
from tests.public_layouts.robots import numbers


@case("no one project: three frames beside a camera's matrix (3, 3), and a class as zeros and a one", option=True)
def constants_of_as_many_entries(folder: Path) -> Layout:
    """They are served as they were found, with a line for each; the schema that it names makes them values."""
    served, declared = [], []
    fields = [f'name = "{name}", kind = "value", dataset = "{{video}}/{name}"' for name in ("K", "target")]
    fields.append('name = "frames", kind = "image", dataset = "{video}/frames"')
    (folder / "s.toml").write_text(f'videos = "groups"\nfield = [{{{"}, {".join(fields)}}}]\n')
    with h5py.File(folder / "a.h5", "w") as root:
        for number in range(2):
            images, matrix, target = pixels(number, 3), np.eye(3) * (1 + number), np.eye(3)[number]
            group = root.create_group(f"v{number}")
            group["frames"], group["K"], group["target"] = images, matrix, target
            one = {"K": Array(matrix), "target": Array(target)}
            served.append(Video(f"v{number}", {"frames": Array(images), **one}))
            two = {"K": Value(matrix), "target": Value(target)}
            declared.append(Video(f"v{number}", {"frames": Array(images), **two}))
    lines = [r"'K \(constant\)'.*3 entries.*kind = \"value\"", r"'target \(constant\)'"]
    return Layout(Serves(served, left_out=lines), {"schema": "./s.toml"}, Serves(declared))


@case("no one project: rows of a table, as many as there are names of classes")
def names_of_as_many_classes(folder: Path) -> Serves:
    names = np.array([b"cat", b"dog", b"cow", b"hen"])
    with h5py.File(folder / "a.h5", "w") as root:
        root["features"], root["class_names"] = numbers(1, 4, 8), names
    videos = rows_of("a", features=numbers(1, 4, 8), class_names=names).videos
    return Serves(videos, "rows", left_out=[r"'class_names \(constant\)'.*take 'class_names' out"])


@case("no one project: a volume of bytes (D, H, W) alone in a file", option=True)
def lone_cube(folder: Path) -> Layout:
    """Slices are rows, and the schema of one sample is said, and works."""
    cube = whole(1, 24, 20, 28, below=256, dtype="u1")
    with h5py.File(folder / "a.h5", "w") as root:
        root["volume"] = cube
    field = '{name = "volume", kind = "array", dataset = "volume", shape = [24, 20, 28]}'
    (folder / "s.toml").write_text(f'videos = "files"\nfield = [{field}]\n')
    says = [r"about 'volume': its 24 rows are \(20, 28\).*shape = \[-1, -1, -1\]"]
    rows = Serves(rows_of("a", volume=cube).videos, "rows", says=says)
    return Layout(rows, {"schema": "./s.toml"}, Serves([Video("a", {"volume": Array(cube[None])})]))


@case("no one project: points of a hand as bytes, (T, 21, 3), of other lengths by group")
def points_as_bytes(folder: Path) -> Serves:
    """They are no pictures of 21 columns."""
    points = {f"v{number}": whole(number, 30 + number, 21, 3, below=256, dtype="u1") for number in range(3)}
    with h5py.File(folder / "a.h5", "w") as root:
        for name, values in points.items():
            root[f"{name}/keypoints"] = values
    return Serves([Video(name, {"keypoints": Array(values)}) for name, values in points.items()])


@case("no one project: points of a hand as bytes, (T, 21, 3), alone in a file")
def lone_points_as_bytes(folder: Path) -> Refused:
    with h5py.File(folder / "a.h5", "w") as root:
        root["x"] = whole(1, 30, 21, 3, below=256, dtype="u1")
    return Refused(["frames, or rows of a table", "one picture", r"shape = \[-1, -1, 3\]"])


@case("jcjohnson/torch-rnn: scripts/preprocess.py (train, val and test of tokens)", option=True)
def tokens_by_split(folder: Path) -> Layout:
    """Splits are never mixed, and one of them is a table."""
    tokens = {name: whole(seed, count, below=256, dtype="u1") for seed, (name, count) in enumerate(_TOKENS.items())}
    with h5py.File(folder / "a.h5", "w") as root:
        for name, values in tokens.items():
            root[name] = values
    refused = Refused(["never mixed", r"'train' \(400 rows\).*--split train or --split val or --split test"])
    return Layout(refused, {"split": "val"}, rows_of("a", val=tokens["val"]))


_TOKENS = {"train": 400, "val": 50, "test": 50}


@case("no one project: train/text, train/label beside test/text, test/label, without numbers else", option=True)
def texts_by_split(folder: Path) -> Layout:
    """Groups of texts are splits, too, and their columns rows."""
    columns = {"text": np.array([b"to be", b"or not", b"to be that"]), "label": np.array([1, 0, 1])}
    with h5py.File(folder / "a.h5", "w") as root:
        for name, count in (("train", 3), ("test", 2)):
            for key, values in columns.items():
                root[f"{name}/{key}"] = values[:count]
    refused = Refused(["never mixed", "--split train or --split test"])
    return Layout(refused, {"split": "train"}, rows_of("a", **columns))


@case("no one project: ids of users and items by split, as train/user and test/user", option=True)
def ids_by_split(folder: Path) -> Layout:
    """They were a video for each split, served together."""
    columns = {"user": np.arange(30), "item": 2 * np.arange(30), "rating": np.arange(30) % 5}
    with h5py.File(folder / "a.h5", "w") as root:
        for name, count in (("train", 30), ("test", 12)):
            for key, values in columns.items():
                root[f"{name}/{key}"] = values[:count]
    refused = Refused(["never mixed", "--split train or --split test"])
    return Layout(refused, {"split": "train"}, rows_of("a", **columns))


@case("no one project: x with the numbers of rows in train and in test, called so alone", option=True)
def rows_listed_by_bare_names(folder: Path) -> Layout:
    """What has fewer entries than the rest, and names rows once each, lists them."""
    values = numbers(1, 20, 3)
    with h5py.File(folder / "a.h5", "w") as root:
        root["x"], root["train"], root["test"] = values, np.arange(14, 20), np.arange(14)
    refused = Refused(["never mixed", r"'train' \(6 rows\), 'test' \(14 rows\)"])
    return Layout(refused, {"split": "train"}, rows_of("a", x=values[14:]))


@case("no one project: raw pictures with the same numbers, of which some are missing, in each group")
def raw_pictures_with_gaps(folder: Path) -> Refused:
    """Numbers are no names of fields."""
    with h5py.File(folder / "a.h5", "w") as root:
        for run in range(2):
            for number, image in zip((10, 210, 415), pixels(run, 3), strict=True):
                root[f"carla/{run}/{number}"] = image
    return Refused(["6 pictures in 2 groups", "most numbers are missing", "a picture each", "-1 is any side"])


@case("no one project: JPEGs with wide gaps in their numbers, in several groups", option=True)
def encoded_pictures_with_gaps(folder: Path) -> Layout:
    """Most are ids, so each is a video; the option that makes frames of them is said."""
    names = [(run, number) for run in range(2) for number in (10, 210, 415)]
    with h5py.File(folder / "a.h5", "w") as root:
        for seed, (run, number) in enumerate(names):
            root[f"carla/{run}/{number}"] = np.void(jpeg(seed))
    each = [Video(f"carla/{run}/{number}", {"frames": Encoded([jpeg(n)])}) for n, (run, number) in enumerate(names)]
    whole_runs = [
        Video(f"carla/{run}", {"frames": Encoded([jpeg(3 * run + place) for place in range(3)])}) for run in range(2)
    ]
    lines = [r"most numbers are missing.*--frames 'carla/\*/\*'"]
    return Layout(Serves(each, left_out=lines), {"frames": "carla/*/*"}, Serves(whole_runs))


@case("Spiking Heidelberg Digits: spikes/times, spikes/units, labels, extra/speaker, extra/keys, extra/meta_info")
def spikes_of_spoken_digits(folder: Path) -> Serves:
    """What has an entry for each row is a value of it, in whatever group it lies."""
    counts, speakers, labels = (5, 9, 7), np.array([4, 1, 3], np.uint16), np.array([13, 1, 6], np.uint16)
    with h5py.File(folder / "shd_train.h5", "w") as root:
        times = root.create_dataset("spikes/times", (3,), h5py.vlen_dtype(np.float32))
        units = root.create_dataset("spikes/units", (3,), h5py.vlen_dtype(np.uint16))
        for row, count in enumerate(counts):
            times[row], units[row] = numbers(row, count), whole(row, count, below=700, dtype="u2")
        root["labels"], root["extra/speaker"], root["extra/meta_info/age"] = labels, speakers, np.arange(12)
        root["extra/keys"] = np.array([b"zero", b"one"])
    videos = [
        Video(
            f"spikes/times/{row}",
            {
                "times": Array(numbers(row, count)),
                "units": Array(whole(row, count, below=700, dtype="u2")),
                "speaker": Value(speakers[row]),
            },
            int(labels[row]),
        )
        for row, count in enumerate(counts)
    ]
    return Serves(videos, left_out=["'extra/keys'.*an entry for each of the 3 rows"])


@case("super-resolution as numbered datasets of two groups (hr/0, lr/0), all of one size", option=True)
def pairs_of_resolutions(folder: Path) -> Layout:
    """Numbers are frames of one video; the schema by which each is a sample is said."""
    large, small = pixels(1, 4, 32, 48), pixels(2, 4, 16, 24)
    with h5py.File(folder / "a.h5", "w") as root:
        for number in range(4):
            root[f"hr/{number}"], root[f"lr/{number}"] = large[number], small[number]
    fields = (
        f'{{name = "{name}", kind = "image", dataset = "{name}/{{video}}", shape = [-1, -1, 3]}}'
        for name in ("hr", "lr")
    )
    schema = ", ".join(fields)
    (folder / "s.toml").write_text(f'videos = "groups"\nfield = [{schema}]\n')
    says = ["about 'hr'.*" + schema.replace("[", r"\[")]
    one = Serves([Video("a", {"hr": Array(large), "lr": Array(small)})], says=says)
    each = [Video("*", {"hr": Array(large[n : n + 1]), "lr": Array(small[n : n + 1])}) for n in range(4)]
    return Layout(one, {"schema": "./s.toml"}, Serves(each))


@case("no one project: episodes of one row each, images (1, T, H, W, 3) beside actions (1, T, 7)")
def episodes_in_batches_of_one(folder: Path) -> Serves:
    """The row is the sample, and what helps where its first axis is time is said."""
    videos = []
    with h5py.File(folder / "a.h5", "w") as root:
        for number in range(2):
            columns: dict[str, Values] = {"images": pixels(number, 5)[None], "actions": numbers(number, 1, 5, 7)}
            for name, values in columns.items():
                root[f"demo_{number}/{name}"] = values
            videos.append(Video(f"demo_{number}", {name: Array(values) for name, values in columns.items()}))
    return Serves(videos, left_out=[r"'images \(axes\)'.*write array\[0\]", r"'actions \(axes\)'"])


def _recording(group: h5py.Group, seed: int) -> dict[str, Form]:
    depth, poses = whole(seed, 3, 24, 32, below=9999, dtype="u2"), numbers(seed, 3, 4, 4)
    for number in range(3):
        group[f"rgb/{number}"] = np.void(jpeg(10 * seed + number))
        group[f"depth/{number}"], group[f"pose/{number}"] = depth[number], poses[number]
    return {
        "rgb|frames": Encoded([jpeg(10 * seed + number) for number in range(3)]),
        "depth": Array(depth),
        "pose": Array(poses),
    }


@case("no one project: JPEGs rgb/0, rgb/1, … beside arrays depth/0 and pose/0 of the same numbers, in groups")
def encoded_frames_beside_groups_of_arrays(folder: Path) -> Serves:
    with h5py.File(folder / "a.h5", "w") as root:
        return Serves([Video(f"v{seed}", _recording(root.create_group(f"v{seed}"), seed)) for seed in range(2)])


@case("no one project: JPEGs rgb/0, rgb/1, … beside arrays depth/0 and pose/0 of the same numbers, in the file")
def encoded_frames_beside_groups_in_a_file(folder: Path) -> Serves:
    with h5py.File(folder / "a.h5", "w") as root:
        return Serves([Video("a", _recording(root, 1))])


@case("no one project: a group a frame, with gaps in their numbers, and the picture in it (run0/10/rgb)")
def groups_of_frames_with_gaps(folder: Path) -> Serves:
    """Each is a video, and what makes frames of them is said."""
    with h5py.File(folder / "a.h5", "w") as root:
        for seed in range(6):
            root[f"carla/run{seed // 3}/{seed % 3 * 205}/rgb"] = np.void(jpeg(seed))
    each = [Video(f"carla/run{n // 3}/{n % 3 * 205}", {"frames": Encoded([jpeg(n)])}) for n in range(6)]
    return Serves(each, left_out=["their numbers grow by 205.*without a gap.*and `inspect` shows the schema"])
