"""A group for each field, with a dataset for each video, frame or sample in it: ``images/7`` beside ``masks/7``."""

from __future__ import annotations

from pathlib import Path

import h5py
import numpy as np

from tests.public_layouts.columns import Columns, whole
from tests.public_layouts.expectations import Array, Encoded, Form, Layout, Refused, Serves, Value, Video, case
from tests.public_layouts.pictures import encoded, jpegs, pixels, write_vlen
from tests.public_layouts.robots import numbers


@case("hysts/pytorch_mpiigaze: tools/preprocess_mpiigaze.py (p00/image/0000, p00/gaze/0000, p00/pose/0000)")
def mpii_gaze(folder: Path) -> Serves:
    """Grey eyes, gazes and poses of a person, a dataset each."""
    videos = []
    with h5py.File(folder / "MPIIGaze.h5", "w") as root:
        for person in range(2):
            columns: Columns = {
                "image": pixels(person, 5, 18, 30)[..., 0],
                "gaze": numbers(1, 5, 2),
                "pose": numbers(2, 5, 2),
            }
            for name, values in columns.items():
                for number, value in enumerate(values):
                    root[f"p{person:02}/{name}/{number:04}"] = value
            videos.append(Video(f"p{person:02}", {name: Array(values) for name, values in columns.items()}))
    return Serves(videos)


@case("no one project: visual/<id> beside audio/<id>, of the video's length")
def modalities_by_group(folder: Path) -> Serves:
    """As many videos as ids, and not as many as groups."""
    videos = []
    with h5py.File(folder / "features.h5", "w") as root:
        for number in range(3):
            fields: dict[str, Form] = {}
            for name, width in (("visual", 16), ("audio", 8)):
                root[f"{name}/v_abc{number}"] = numbers(number, 7 + number, width)
                fields[name] = Array(numbers(number, 7 + number, width))
            videos.append(Video(f"visual/v_abc{number}|audio/v_abc{number}", fields))
    return Serves(videos)


@case("no one project: features/0 beside targets/0, one number each")
def values_by_group(folder: Path) -> Serves:
    """One number for each video is a value of it."""
    videos = []
    with h5py.File(folder / "features.h5", "w") as root:
        for number in range(4):
            root[f"features/{number}"], root[f"targets/{number}"] = numbers(number, 7 + number, 16), number % 2
            fields: dict[str, Form] = {"features": Array(numbers(number, 7 + number, 16)), "targets": Value(number % 2)}
            videos.append(Video(f"features/{number}", fields))
    return Serves(videos)


@case("no one project: images/0 beside masks/0 and label/0 (segmentation exercises)")
def images_masks_and_labels_by_group(folder: Path) -> Serves:
    """Numbered pictures with a mask and a number each: frames of one video."""
    images, masks, labels = pixels(1, 12), pixels(2, 12)[..., 0], np.arange(12) % 3
    with h5py.File(folder / "train.h5", "w") as root:
        for number in range(12):
            root[f"images/{number}"], root[f"masks/{number}"] = images[number], masks[number]
            root[f"kind/{number}"] = labels[number]
    fields = {"images|frames": Array(images), "masks": Array(masks), "kind": Array(labels)}
    return Serves([Video("train", fields)])


@case("no one project: images/<id> as JPEG beside masks/<id> as PNG")
def encoded_images_and_masks_by_group(folder: Path) -> Serves:
    """Masks are no videos of their own."""
    videos = []
    with h5py.File(folder / "train.h5", "w") as root:
        for number, image in enumerate(jpegs(1, 5)):
            mask, name = encoded(number, "PNG"), f"a{number}7x"
            root[f"images/{name}"], root[f"masks/{name}"] = np.frombuffer(image, "u1"), np.frombuffer(mask, "u1")
            videos.append(Video(f"images/{name}", {"images": Encoded([image]), "masks": Encoded([mask])}))
    return Serves(videos)


@case("no one project: rgb/<id> as vlen JPEGs beside audio/<id>")
def frames_beside_audio_by_group(folder: Path) -> Serves:
    """Numbers of the same name and length belong to the frames."""
    videos = []
    with h5py.File(folder / "clips.h5", "w") as root:
        for number in range(2):
            frames, name = jpegs(number, 4 + number), f"vid_a{number}"
            write_vlen(root.require_group("rgb"), name, frames)
            root[f"audio/{name}"] = numbers(number, 4 + number, 8)
            fields: dict[str, Form] = {"rgb|frames": Encoded(frames), "audio": Array(numbers(number, 4 + number, 8))}
            videos.append(Video(f"rgb/{name}", fields))
    return Serves(videos)


@case("yjn870/SRCNN-pytorch: prepare.py (eval: lr/0, hr/0, … of different sides)", option=True)
def super_resolution_eval(folder: Path) -> Layout:
    """Lines of pictures are no frames, and two groups are no two videos; a schema makes each pair a sample."""
    videos = []
    with h5py.File(folder / "Set5_x3.h5", "w") as root:
        for number in range(4):
            picture = numbers(number, 30 + number, 40 + number)
            root[f"lr/{number}"] = root[f"hr/{number}"] = picture
            videos.append(Video(f"hr/{number}", {name: Array(picture[None]) for name in ("hr", "lr")}))
    fields = [
        f'{{name = "{name}", kind = "array", dataset = "{name}/{{video}}", shape = [0, 0]}}' for name in ("hr", "lr")
    ]
    (folder / "s.toml").write_text(f'videos = "groups"\nfield = [{", ".join(fields)}]\n')
    refused = Refused([r'"hr/\{video\}", shape = \[0, 0\]', "--schema"])
    return Layout(refused, {"schema": "./s.toml"}, Serves(videos))


@case("yjn870/FSRCNN-pytorch: prepare.py (eval: lr/0, hr/0, … of equal sides)", option=True)
def super_resolution_eval_of_equal_sides(folder: Path) -> Layout:
    """The schema that the refusal shows makes each pair a frame."""
    small, large = numbers(1, 4, 10, 14), numbers(2, 4, 30, 42)
    with h5py.File(folder / "Set5_x3.h5", "w") as root:
        for number in range(4):
            root[f"lr/{number}"], root[f"hr/{number}"] = small[number], large[number]
    fields = [f'{{name = "{name}", kind = "array", dataset = "{name}/*", shape = ' for name in ("hr", "lr")]
    (folder / "s.toml").write_text(f'videos = "files"\nfield = [{fields[0]}[30, 42]}}, {fields[1]}[10, 14]}}]\n')
    served = Serves([Video("Set5_x3", {"hr": Array(large), "lr": Array(small)})])
    return Layout(Refused([r'"hr/\*", shape = \[-1, -1\]', "--schema"]), {"schema": "./s.toml"}, served)


@case("csdwren/PReNet: prepare data (train_target.h5: 0, 1, … of (3, 100, 100))", option=True)
def derained_patches(folder: Path) -> Layout:
    """A dataset a patch, channels first: one of the readings is a frame for each number."""
    patches = numbers(1, 12, 3, 20, 20)
    with h5py.File(folder / "train_target.h5", "w") as root:
        for number in range(12):
            root[str(number)] = patches[number]
    field = 'name = "patch", kind = "array", dataset = "*", shape = [3, 20, 20]'
    (folder / "s.toml").write_text(f'videos = "files"\nfield = [{{{field}}}]\n')
    served = Serves([Video("train_target", {"patch": Array(patches)})])
    return Layout(Refused([r'dataset = "\*", shape = \[-1, -1, -1\]', "--schema"]), {"schema": "./s.toml"}, served)


@case("cszn/DnCNN, SaoYan/DnCNN-PyTorch: dataset.py (train.h5: 0, 1, … of (1, 40, 40))")
def denoising_patches(folder: Path) -> Serves:
    """A dataset a patch, with an axis of one before."""
    videos = []
    with h5py.File(folder / "train.h5", "w") as root:
        for number in range(12):
            root[str(number)] = numbers(number, 1, 40, 40)
            videos.append(Video(str(number), {"*": Array(numbers(number, 1, 40, 40))}))
    return Serves(videos)


@case("cvg/Hierarchical-Localization: hloc/match_features.py (a.jpg/b.jpg/matches0)")
def image_matches(folder: Path) -> Serves:
    """A group for each pair, in the group of its first picture, which has as many as it likes."""
    videos = []
    with h5py.File(folder / "matches.h5", "w") as root:
        for first, second in ((0, 1), (0, 2), (1, 2)):
            pair, count = root.create_group(f"{first}.jpg/{second}.jpg"), 6 + 3 * first + second
            pair["matches0"], pair["matching_scores0"] = whole(first, count, dtype="i4"), numbers(second, count)
            fields = {"matches0": Array(pair["matches0"][()]), "matching_scores0": Array(numbers(second, count))}
            videos.append(Video(f"{first}.jpg/{second}.jpg", fields))
    return Serves(videos)


@case("cvg/Hierarchical-Localization: hloc/extract_features.py (db/1.jpg/keypoints)")
def image_features(folder: Path) -> Serves:
    """Keypoints are rows, descriptors have theirs last, and a line."""
    videos = []
    with h5py.File(folder / "feats-superpoint.h5", "w") as root:
        for number in range(3):
            image, count = root.create_group(f"db/{number}.jpg"), 6 + number
            image["keypoints"], image["scores"] = numbers(number, count, 2), numbers(number, count)
            image["descriptors"], image["image_size"] = numbers(number, 16, count), np.array([640, 480])
            fields: dict[str, Form] = {"keypoints": Array(numbers(number, count, 2))}
            fields |= {"scores": Array(numbers(number, count)), "image_size": Value([640, 480])}
            videos.append(Video(f"db/{number}.jpg", fields))
    return Serves(videos, left_out=["descriptors"])


@case("no one project: acc/0 beside gyro/0, of one form (activity recognition exercises)", option=True)
def sensors_by_group(folder: Path) -> Layout:
    """Groups of one form can be classes or sensors: neither is guessed, and the schema shown serves them."""
    videos = []
    with h5py.File(folder / "har.h5", "w") as root:
        for number in range(3):
            for seed, sensor in enumerate(("acc", "gyro")):
                root[f"{sensor}/{number}"] = numbers(seed + number, 50 + number, 3)
            fields = {name: Array(numbers(seed + number, 50 + number, 3)) for seed, name in enumerate(("acc", "gyro"))}
            videos.append(Video(f"acc/{number}", dict(fields)))
    fields_of_it = ", ".join(
        f'{{name = "{name}", kind = "array", dataset = "{name}/{{video}}"}}' for name in ("acc", "gyro")
    )
    (folder / "s.toml").write_text(f'videos = "groups"\nfield = [{fields_of_it}]\n')
    return Layout(Refused(['"acc/{video}"', "'gyro/0'", "--schema"]), {"schema": "./s.toml"}, Serves(videos))
