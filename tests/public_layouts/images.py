"""Collections of single images by name, with captions or boxes, encoded or of any size."""

from __future__ import annotations

import base64
from pathlib import Path

import h5py
import numpy as np

from tests.public_layouts.expectations import (
    Array,
    Encoded,
    Form,
    Layout,
    Ragged,
    Refused,
    Serves,
    Value,
    Values,
    Video,
    case,
)
from tests.public_layouts.pictures import encoded, jpeg, jpegs, pixels, write_vlen
from tests.public_layouts.robots import numbers


@case("mila-iqia/fuel: fuel/converters/ilsvrc2010.py, ilsvrc2012.py", option=True)
def fuel_ilsvrc(folder: Path) -> Layout:
    """Images of three sets in one vlen dataset, ``(N, 1)`` targets and names; an attribute says the sets."""
    images, targets = jpegs(600, 9), np.arange(9, dtype=np.int16)[:, None]
    names = np.array([[f"n0144_{number}.JPEG".encode()] for number in range(9)], "S32")
    sets = (("train", 0, 5), ("valid", 5, 7), ("test", 7, 9))
    columns = ("split", "S5"), ("source", "S14"), ("start", "i8"), ("stop", "i8"), ("available", "?"), ("comment", "S1")
    splits = [
        (split.encode(), source, start, stop, True, b"")
        for split, start, stop in sets
        for source in (b"encoded_images", b"targets", b"filenames")
    ]
    with h5py.File(folder / "ilsvrc2012.hdf5", "w") as root:
        root.attrs["split"] = np.array(splits, np.dtype(list(columns)))
        write_vlen(root, "encoded_images", images)
        root["targets"], root["filenames"] = targets, names

    def rows(first: int, end: int) -> list[Video]:
        fields: dict[str, Form] = {
            "encoded_images|frames": Encoded(images[first:end]),
            "targets": Array(targets[first:end]),
        }
        return [Video("*ilsvrc2012", {**fields, "filenames": Array(names[first:end])})]

    both = "rows|videos"
    asked = Serves(rows(0, 9), both, says=["--split"], otherwise=Refused(["--split", "train", "valid", "test"]))
    return Layout(asked, {"split": "train"}, Serves(rows(0, 5), both))


@case("ISIC 2024 Challenge (Kaggle): train-image.hdf5 and train-metadata.csv", option=True)
def isic_2024(folder: Path) -> Layout:
    """A scalar of bytes for each image, named by its id: numbers with gaps are names, not frames of one video."""
    ids = ["ISIC_0015670", "ISIC_0015845", "ISIC_0015864", "ISIC_0082829"]
    with h5py.File(folder / "train-image.hdf5", "w") as root:
        for number, name in enumerate(ids):
            root[name] = np.void(jpeg(610 + number, 20 + 2 * number, 20 + 2 * number))
    lines = "".join(f"{name},{number % 2},IP_{number},NA\n" for number, name in enumerate(ids))
    (folder / "train-metadata.csv").write_text("isic_id,target,patient_id,age_approx\n" + lines)
    videos = [
        Video(name, {"frames": Encoded([jpeg(610 + n, 20 + 2 * n, 20 + 2 * n)])}, n % 2) for n, name in enumerate(ids)
    ]
    option = "./train-metadata.csv:video=isic_id,label=target"
    return Layout(Serves([Video(each.name, each.fields) for each in videos]), {"labels": option}, Serves(videos))


@case("ankush-me/SynthText: gen.py, visualize_results.py")
def synth_text(folder: Path) -> Serves:
    """``data/<image>`` : ``(height, width, 3) uint8`` of any size: each is one image, and its lines are no rows.

    As many boxes of words in its attributes as there are words.
    """
    videos = []
    with h5py.File(folder / "SynthText.h5", "w") as root:
        for number, name in enumerate(("ant+hill_1.jpg_0", "ballet_106.jpg_0", "ballet_107.jpg_0")):
            picture = pixels(660 + number, 1, 20 + number, 30)
            image = root.create_dataset(f"data/{name}", data=picture[0])
            letters, words = numbers(1, 2, 4, 9), numbers(2, 2, 4, 2 + number)
            image.attrs["charBB"], image.attrs["wordBB"] = letters, words
            image.attrs["txt"] = np.array([b"Lines:\nof", b"text"])
            fields: dict[str, Form] = {"*": Array(picture), "charBB": Value(letters), "wordBB": Value(words)}
            videos.append(Video(f"data/{name}", fields))
    return Serves(videos, left_out=["txt"])


@case("one raw image a group, with its mask and boxes (Mask R-CNN exercises)")
def image_and_mask_by_group(folder: Path) -> Serves:
    """``/<id>/image`` and ``/<id>/mask``: sides are equal by chance, and are not frames of a video."""
    videos = []
    with h5py.File(folder / "cells.h5", "w") as root:
        for number in range(3):
            picture, mask = pixels(670 + number, 1, 24, 24), np.eye(24, dtype=np.uint8)[None] * number
            root[f"{number:03d}/image"], root[f"{number:03d}/mask"] = picture[0], mask[0]
            videos.append(Video(f"{number:03d}", {"image|frames": Array(picture), "mask": Array(mask)}))
    return Serves(videos)


@case("karpathy/neuraltalk2: prepro.py (label_start_ix, label_end_ix)")
def neuraltalk2(folder: Path) -> Serves:
    """Captions end to end, with 1-based first and last rows for each image: they are not the images' rows."""
    images, captions = pixels(690, 4, 16, 16).transpose(0, 3, 1, 2), np.arange(9 * 16, dtype=np.uint32).reshape(9, 16)
    starts, ends = np.array([1, 3, 4, 8], np.uint32), np.array([2, 3, 7, 9], np.uint32)
    with h5py.File(folder / "cocotalk.h5", "w") as root:
        root["images"], root["labels"] = images, captions
        root["label_start_ix"], root["label_end_ix"] = starts, ends
        root["label_length"] = np.full(9, 16, np.uint32)
    fields: dict[str, Form] = {"images": Array(images), "label_start_ix": Array(starts), "label_end_ix": Array(ends)}
    return Serves([Video("cocotalk", fields)], kind="rows", left_out=["labels", "label_length"])


@case("hengyuan-hu/bottom-up-attention-vqa: tools/adaptive_detection_features_converter.py")
def bottom_up_attention(folder: Path) -> Serves:
    """Boxes of all images end to end; ``pos_boxes`` has start and end for each image."""
    boxes, features, spatial = numbers(1, 11, 4), numbers(2, 11, 32), numbers(3, 11, 6)
    with h5py.File(folder / "train.hdf5", "w") as root:
        root["image_bb"], root["image_features"], root["spatial_features"] = boxes, features, spatial
        root["pos_boxes"] = np.array([[0, 3], [3, 4], [4, 11]], np.int32)
    columns: dict[str, Values] = {"image_bb": boxes, "image_features": features, "spatial_features": spatial}
    cuts = zip([0, 3, 4], [3, 4, 11], strict=True)
    return Serves([Video(f"*{a}", {name: Array(each[a:b]) for name, each in columns.items()}) for a, b in cuts])


@case("Detection sets: vlen JPEGs with vlen boxes (yolo and SSD exercises)")
def images_with_boxes(folder: Path) -> Serves:
    """Boxes are vlen numbers, five for each object: a ragged field."""
    images, counts = jpegs(700, 4), [2, 0, 1, 3]
    boxes = [numbers(count, 5 * count) for count in counts]
    with h5py.File(folder / "pascal_voc.hdf5", "w") as root:
        group = root.create_group("train")
        write_vlen(group, "images", images)
        dataset = group.create_dataset("boxes", (4,), h5py.vlen_dtype(np.float32))
        for number, each in enumerate(boxes):
            dataset[number] = each
    fields: dict[str, Form] = {"frames|images": Encoded(images), "boxes": Ragged(boxes)}
    return Serves([Video("*train", fields)], kind="rows|videos")


@case("PNG bytes by h5py.special_dtype(vlen=uint8) (realpython and other tutorials)")
def png_images(folder: Path) -> Serves:
    """8-bit PNGs are images."""
    images = [encoded(710 + number, "PNG") for number in range(4)]
    with h5py.File(folder / "cifar_png.h5", "w") as root:
        write_vlen(root, "images", images)
        root["meta"] = np.arange(4, dtype=np.uint8)
    fields: dict[str, Form] = {"images|frames": Encoded(images), "meta": Array(np.arange(4, dtype=np.uint8))}
    return Serves([Video("*cifar_png", fields)], kind="rows|videos")


@case("no one project: JPEGs as base64 texts")
def jpegs_as_base64_texts(folder: Path) -> Refused:
    """Base64 is text, not JPEG: said by name."""
    with h5py.File(folder / "faces.h5", "w") as root:
        root["images"] = [base64.b64encode(each).decode() for each in jpegs(720, 3)]
    return Refused(["images", "base64", r"pack|--source|--schema"])
