"""Packs of pictures for vision: resolutions and classes as groups, boxes beside pictures, splits that lack labels."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import h5py
import numpy as np

from tests.public_layouts.columns import table, whole
from tests.public_layouts.expectations import (
    Array,
    Encoded,
    Form,
    Layout,
    Ragged,
    RawPictures,
    Refused,
    Serves,
    Values,
    Video,
    case,
    rows_of,
)
from tests.public_layouts.pictures import jpegs, pixels, write_vlen
from tests.public_layouts.robots import numbers


@case("nmhkahn/CARN-pytorch: dataset/div2h5.py (HR/0, X2/0, X4/0 of any size)", option=True)
def resolutions_by_group(folder: Path) -> Layout:
    """A resolution is no video whose fields are pictures; a schema makes each number a sample."""
    videos = []
    with h5py.File(folder / "DIV2K_train.h5", "w") as root:
        for number in range(3):
            pictures = {f"X{scale}": pixels(number, 1, 48 // scale, (64 + 8 * number) // scale) for scale in (2, 4)}
            pictures["HR"] = pixels(number, 1, 48, 64 + 8 * number)
            for name, picture in pictures.items():
                root[f"{name}/{number}"] = picture[0]
            videos.append(Video(f"HR/{number}", {name: Array(picture) for name, picture in pictures.items()}))
    fields = [
        f'{{name = "{name}", kind = "image", dataset = "{name}/{{video}}", shape = [-1, 0, 3]}}'
        for name in ("HR", "X2", "X4")
    ]
    (folder / "s.toml").write_text(f'videos = "groups"\nfield = [{", ".join(fields)}]\n')
    refused = Refused([", ".join(fields).replace("[", r"\["), r'"frames", kind = "image", dataset = "\{video\}"'])
    return Layout(refused, {"schema": "./s.toml"}, Serves(videos))


@case("no one project: pictures of any size, numbered anew in each class (cat/0, cat/1, dog/0)", option=True)
def pictures_numbered_by_class(folder: Path) -> Layout:
    """A class is no video whose fields are its pictures; a schema makes each a sample."""
    videos = []
    with h5py.File(folder / "train.h5", "w") as root:
        for seed, name in enumerate(("cat/0", "cat/1", "dog/0", "dog/1")):
            root[name] = pixels(seed, 1, 24, 32 + seed)[0]
            videos.append(Video(name, {"frames": Array(pixels(seed, 1, 24, 32 + seed))}))
    field = '{name = "frames", kind = "image", dataset = "{video}", shape = [-1, 0, 3]}'
    (folder / "s.toml").write_text(f'videos = "groups"\nfield = [{field}]\n')
    return Layout(Refused([field.replace("[", r"\[")]), {"schema": "./s.toml"}, Serves(videos))


def _write_pictures(root: h5py.File, name: str, count: int) -> list[Values]:
    """Write pictures of any size as rows of bytes, channels first, with their shapes; return them channels last."""
    pictures = [pixels(number, 1, 10 + number, 12)[0] for number in range(count)]
    rows = root.create_dataset(name, (count,), h5py.vlen_dtype(np.uint8))
    for number, picture in enumerate(pictures):
        rows[number] = picture.transpose(2, 0, 1).ravel()
    root[f"{name}_shapes"] = np.array([(3, 10 + number, 12) for number in range(count)], np.uint16)
    return pictures


def _write_ranges(root: h5py.File, rows: Sequence[tuple[object, ...]]) -> None:
    kinds = [("split", "S5"), ("source", "S16"), ("start", "i8"), ("stop", "i8")]
    root.attrs["split"] = np.array(rows, kinds)


@case("mila-iqia/fuel: fuel/converters/svhn.py (format 1: boxes of each picture, with their shapes)", option=True)
def digits_with_boxes(folder: Path) -> Layout:
    """Labels of some boxes are no pictures, although their shapes lie beside them; a schema serves them as lists."""
    names = ("bbox_labels", "bbox_heights")
    lists = {
        name: [np.arange(1 + number % 3, dtype=dtype) for number in range(6)]
        for name, dtype in zip(names, ("u1", "u2"), strict=True)
    }
    with h5py.File(folder / "svhn_format_1.hdf5", "w") as root:
        pictures = _write_pictures(root, "features", 6)
        for name, rows in lists.items():
            written = root.create_dataset(name, (6,), h5py.vlen_dtype(rows[0].dtype))
            for number, row in enumerate(rows):
                written[number] = row
            root[f"{name}_shapes"] = np.array([(len(row), 1) for row in rows], np.uint16)
        ranges = [("train", 0, 4), ("test", 4, 6)]
        _write_ranges(root, [(split, name, *ends) for split, *ends in ranges for name in ("features", *names)])
    fields = [
        'name = "features", kind = "image", dataset = "features"',
        *(f'name = "{name}", kind = "array", dataset = "{name}", shape = [0]' for name in names),
    ]
    (folder / "s.toml").write_text(f'videos = "files"\nfield = [{{{"}, {".join(fields)}}}]\n')
    form: dict[str, Form] = {name: Ragged(rows[:4]) for name, rows in lists.items()}
    served = Serves([Video("svhn_format_1", {"features": RawPictures(pictures[:4]), **form})])
    return Layout(Refused(["--split train or --split test"]), {"split": "train", "schema": "./s.toml"}, served)


@case("mila-iqia/fuel: fuel/converters/dogs_vs_cats.py (targets of the training set alone)", option=True)
def targets_of_one_split(folder: Path) -> Layout:
    """Targets that end where the test set begins are a field of the training set."""
    targets = np.arange(4, dtype=np.uint8)[:, None]
    with h5py.File(folder / "dogs_vs_cats.hdf5", "w") as root:
        pictures = _write_pictures(root, "image_features", 6)
        root["targets"] = targets
        train = [("train", name, 0, 4) for name in ("image_features", "targets")]
        _write_ranges(root, [*train, ("test", "image_features", 4, 6)])
    served = Serves([Video("dogs_vs_cats", {"frames": RawPictures(pictures[:4]), "targets": Array(targets)})])
    return Layout(Refused(["--split train or --split test"]), {"split": "train"}, served)


@case("Orion-AI-Lab/S4A: a group a band (B02/B02, B02/time), labels/labels and parcels/parcels", option=True)
def bands_by_group(folder: Path) -> Layout:
    """Bands are no videos of which only their times are alike; the schema that is shown serves them."""
    bands = {"B02": whole(1, 12, 20, 20, dtype="u2"), "B05": whole(2, 12, 10, 10, dtype="u2")}
    maps = {"labels/labels": whole(3, 20, 20, dtype="u4"), "parcels/parcels": whole(4, 20, 20, dtype="u4")}
    columns = {f"{name}/{name}": band for name, band in bands.items()}
    axes = {f"{name}/{axis}": np.arange(band.shape[1]) for name, band in bands.items() for axis in "xy"}
    times = {f"{name}/time": np.arange(12) for name in bands}
    table(folder / "2019_31TBF.nc", {**columns, **axes, **times, **maps})
    fields = [f'{{name = "{name}_{name}", kind = "array", dataset = "{name}/{name}"' for name in bands]
    (folder / "s.toml").write_text(f'videos = "table"\nfield = [{"}, ".join(fields)}}}]\n')
    served = rows_of("2019_31TBF", **{f"{name}_{name}": band for name, band in bands.items()})
    return Layout(Refused([fields[0], "parcels/parcels"]), {"schema": "./s.toml"}, served)


@case("MATLAB v7.3: X of (features, N) and y of (N, 1), which HDF5 has as (N, features) and (1, N)")
def columns_of_matlab(folder: Path) -> Serves:
    """Two columns do not make one row of a file, and a column is a field of the rows."""
    columns = {"X": numbers(1, 30, 8), "y": whole(2, 30, below=3), "subject": whole(3, 30)}
    stored = {name: values if values.ndim > 1 else values[None] for name, values in columns.items()}
    table(folder / "a.mat", stored, chunks=True, compression="gzip")
    return rows_of("a", **columns)


@case("no one project: slices of a scan as datasets of words, by patient (patient_000/slice_000)", option=True)
def slices_by_patient(folder: Path) -> Layout:
    """Lines of slices are no frames; the schema that is shown makes each patient a video of slices."""
    videos = []
    with h5py.File(folder / "scans.h5", "w") as root:
        for patient in range(3):
            slices = whole(patient, 4 + patient, 20, 24, dtype="i2")
            for number, each in enumerate(slices):
                root[f"patient_{patient:03}/slice_{number:03}"] = each
            videos.append(Video(f"patient_{patient:03}", {"values": Array(slices)}))
    field = '{name = "values", kind = "array", dataset = "{video}/slice_*", shape = [-1, -1]}'
    (folder / "s.toml").write_text(f'videos = "groups"\nfield = [{field}]\n')
    says = field.replace("[", r"\[").replace("*", r"\*")
    return Layout(Refused([says]), {"schema": "./s.toml"}, Serves(videos))


@case("COCO packs: JPEGs, and boxes of all of them end to end with their image's number, and labels of boxes")
def labels_of_boxes(folder: Path) -> Serves:
    """Labels of boxes are none of the file, and no error: they have a line."""
    with h5py.File(folder / "coco.h5", "w") as root:
        write_vlen(root, "images", jpegs(1, 6))
        root["boxes"], root["labels"], root["image_index"] = numbers(1, 14, 4), whole(2, 14), np.arange(14) // 3
    return Serves([Video("coco", {"frames": Encoded(jpegs(1, 6))})], left_out=["boxes", "labels.*14", "image_index"])


@case("wilson1yan/VideoGPT: videogpt/data.py (train_data, train_idx, test_data, test_idx)", option=True)
def first_rows_of_splits(folder: Path) -> Layout:
    """First rows of another split are of no use to this one's frames; the schema that is shown serves them."""
    data = pixels(1, 30)
    table(folder / "ucf101.h5", {"train_data": data, "train_idx": np.array([0, 8, 20]), "test_data": pixels(2, 12)})
    with h5py.File(folder / "ucf101.h5", "a") as root:
        root["test_idx"] = np.array([0, 7])
    field = '{name = "train_data", kind = "image", dataset = "train_data"}'
    (folder / "s.toml").write_text(f'videos = "spans"\nfield = [{field}]\n')
    ends = ((0, 8), (8, 20), (20, 30))
    videos = [Video(str(n), {"train_data": Array(data[start:end])}) for n, (start, end) in enumerate(ends)]
    return Layout(Refused([rf'videos = "spans"` and `field = \[{field}']), {"schema": "./s.toml"}, Serves(videos))
