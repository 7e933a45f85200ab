"""Pairs and what belongs to them: pictures with flow or masks, parts of flow, two cameras, labels of volumes."""

from __future__ import annotations

from pathlib import Path

import h5py
import numpy as np

from loader_service.schema import Schema, SchemaField
from tests.public_layouts.columns import whole, write
from tests.public_layouts.expectations import Array, Encoded, Layout, Refused, Serves, Values, Video, case
from tests.public_layouts.pictures import jpegs, pixels, write_vlen
from tests.public_layouts.robots import numbers


def _picture(name: str, height: int, width: int) -> SchemaField:
    return SchemaField(name, "image", (f"{{video}}/{name}",), "", (height, width, 3))


@case("FlyingChairs, AnimeInterp and others as HDF5: img1, img2 and flow (2, H, W), a group a pair", option=True)
def flow_between_two_pictures(folder: Path) -> Layout:
    """The two parts of flow are as many as the pictures, and no times."""
    samples = []
    with h5py.File(folder / "chairs.h5", "w") as root:
        for number in range(3):
            pair, flow = pixels(number, 2, 24, 32), numbers(number, 2, 24, 32)
            columns = {"img1": pair[0], "img2": pair[1], "flow": flow}
            for name, values in columns.items():
                root[f"{number:05d}/{name}"] = values
            samples.append(Video(f"{number:05d}", {name: Array(each[None]) for name, each in columns.items()}))
    flow_field = SchemaField("flow", "array", ("{video}/flow",), "", (2, 24, 32))
    schema = Schema(("groups",), (_picture("img1", 24, 32), _picture("img2", 24, 32), flow_field))
    asked = Refused(["which has their sides", r"\{video\}/flow\", shape", r"img\*.*\{video\}/flow\"\}"])
    return Layout(asked, {"schema": schema}, Serves(samples))


@case("LEVIR-CD and other changes as HDF5: image1, image2 and mask, a group a place", option=True)
def mask_of_two_pictures(folder: Path) -> Layout:
    """Before and after are a sample with what has changed, and no film of two frames without it."""
    samples = []
    with h5py.File(folder / "changes.h5", "w") as root:
        for number in range(3):
            pair, mask = pixels(number, 2, 24, 32), whole(number, 24, 32, below=2, dtype="u1")
            columns = {"image1": pair[0], "image2": pair[1], "mask": mask}
            for name, values in columns.items():
                root[f"place_{number}/{name}"] = values
            samples.append(Video(f"place_{number}", {name: Array(each[None]) for name, each in columns.items()}))
    mask_field = SchemaField("mask", "array", ("{video}/mask",), "", (24, 32))
    schema = Schema(("groups",), (_picture("image1", 24, 32), _picture("image2", 24, 32), mask_field))
    return Layout(Refused(["which has their sides", "without that"]), {"schema": schema}, Serves(samples))


@case("two-stream networks as HDF5: u/<video> and v/<video> of JPEGs", option=True)
def flow_in_two_groups(folder: Path) -> Layout:
    """Each video of one group has its like in the other: no label or word says so, their lengths do."""
    videos = []
    with h5py.File(folder / "flow.h5", "w") as root:
        for number in range(4):
            parts = {name: jpegs(8 * number + seed, 5 + number) for seed, name in enumerate("uv")}
            for name, frames in parts.items():
                write_vlen(root.require_group(name), f"vid_{number}", frames)
            videos.append(Video(f"u/vid_{number}", {name: Encoded(frames) for name, frames in parts.items()}))
    schema = Schema(("groups",), tuple(SchemaField(name, "image", (f"{name}/{{video}}",)) for name in "uv"))
    return Layout(Refused([r"u/\{video\}", r"--label '\{group\}'"]), {"schema": schema}, Serves(videos))


@case("the same, of classes: cat/<video> and dog/<video>", option=True)
def classes_with_lengths_alike(folder: Path) -> Layout:
    """Whoever says that groups are classes is not asked."""
    videos = []
    with h5py.File(folder / "films.h5", "w") as root:
        for seed, name in enumerate(("cat", "dog")):
            for number in range(3):
                frames = jpegs(8 * seed + number, 4 + number)
                write_vlen(root.require_group(name), f"vid_{number}", frames)
                videos.append(Video(f"{name}/vid_{number}", {"frames": Encoded(frames)}, name))
    return Layout(Refused([r"cat/\{video\}"]), {"label": "{group}"}, Serves(videos))


@case("CUHK03 as HDF5 for siamese networks: a/detected/<person>, b/detected/<person> (pictures, H, W, 3)", option=True)
def two_cameras_of_persons(folder: Path) -> Layout:
    """A camera has other pictures of a person, and more of them, than the other, in a group below its own."""
    persons = []
    with h5py.File(folder / "cuhk-03.h5", "w") as root:
        for number in range(4):
            views = {f"{name}_detected": numbers(number, 4 + seed, 24, 12, 3) for seed, name in enumerate("ab")}
            for name, values in views.items():
                root[f"{name.replace('_', '/')}/{number}"] = values
            persons.append(Video(f"a/detected/{number}", {name: Array(each[None]) for name, each in views.items()}))
    fields = tuple(
        SchemaField(f"{name}_detected", "array", (f"{name}/detected/{{video}}",), "", (4 + seed, 24, 12, 3))
        for seed, name in enumerate("ab")
    )
    return Layout(Refused([r"a/detected/\{video\}"]), {"schema": Schema(("groups",), fields)}, Serves(persons))


@case("COCO as HDF5: image, masks (objects, H, W), boxes, labels, a group a picture")
def masks_of_pictures_of_any_size(folder: Path) -> Serves:
    """Three masks of one picture are no colours, whatever its size."""
    samples = []
    with h5py.File(folder / "coco.h5", "w") as root:
        for number in range(4):
            height, objects = 24 + number, 1 + number % 3
            picture, masks = pixels(number, 1, height, 32), whole(number, objects, height, 32, below=2, dtype="?")
            boxes, labels = numbers(number, objects, 4), whole(number, objects)
            group = root.create_group(f"{number:012d}")
            group.update({"image": picture[0], "masks": masks, "boxes": boxes, "labels": labels})
            beside = {name: Array(group[name][()][None]) for name in ("masks", "boxes", "labels")}
            samples.append(Video(f"{number:012d}", {"frames": Array(picture), **beside}))
    return Serves(samples)


@case("CAMUS as HDF5: im (2, H, W, 1) of floats and gt of bytes, a group a view")
def truth_beside_pictures_of_floats(folder: Path) -> Serves:
    """What is true of a picture keeps its name: the only bytes of a file are not its frames."""
    videos = []
    with h5py.File(folder / "camus.h5", "w") as root:
        for number in range(3):
            columns: dict[str, Values] = {"im": numbers(number, 5 + number, 24, 32, 1)}
            columns["gt"] = pixels(number, 5 + number, 24, 32)[..., :1]
            for name, values in columns.items():
                root[f"patient{number:04d}/{name}"] = values
            videos.append(Video(f"patient{number:04d}", {name: Array(values) for name, values in columns.items()}))
    return Serves(videos, left_out=[r"gt \(map\).*stay numbers"])


@case("pragathi's AVLetters, LIDC and ADNI as HDF5: a volume (H, W, D) and a label, a file each", option=True)
def volumes_with_a_label(folder: Path) -> Layout:
    """A label a file is one of a sample, and not of lines."""
    samples = []
    for number in range(2):
        volume = numbers(number, 24, 24, 9 + number)
        write(folder / f"{number}.h5", {"volume": volume, "label": np.int64(number)})
        samples.append(Video(f"{number}", {"volume": Array(volume[None])}, number))
    fields = (SchemaField("label", "value", ("label",)), SchemaField("volume", "array", ("volume",), "", (24, 24, 0)))
    asked = Refused(["one sample a file, such as a volume, with a label", r"volume\", shape = "])
    return Layout(asked, {"schema": Schema(("files",), fields)}, Serves(samples))


@case("image matching challenges: R and K (3, 3), T (3,), a file a camera")
def matrices_of_cameras(folder: Path) -> Serves:
    """Files with three rows each may be matrices, as `inspect` says."""
    cameras = []
    for number in range(3):
        columns = {"R": numbers(number, 3, 3), "K": numbers(9 + number, 3, 3), "T": numbers(number, 3)}
        write(folder / f"calibration_{number}.h5", columns)
        cameras.append(Video(f"calibration_{number}", {name: Array(values) for name, values in columns.items()}))
    return Serves(cameras, "rows", says=[r"each of 3 files has 3 rows; if a file is one sample.*shape = \[0, 0\]"])
