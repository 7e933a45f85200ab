"""Texts, questions, captions and neural speech: tokens as tables, splits in names, labels as texts."""

from __future__ import annotations

from pathlib import Path

import h5py
import numpy as np

from tests.public_layouts.columns import Columns, table, texts, whole, write
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
from tests.public_layouts.pictures import jpegs, pixels
from tests.public_layouts.robots import numbers


@case("NVIDIA/DeepLearningExamples: BERT create_pretraining_data.py (books_0.hdf5)")
def bert_pretraining(folder: Path) -> Serves:
    """Six columns of tokens, of two widths."""
    wide = {name: whole(len(name), 8, 64, dtype="i4") for name in ("input_ids", "segment_ids", "input_mask")}
    masked = {name: whole(len(name), 8, 10, dtype="i4") for name in ("masked_lm_positions", "masked_lm_ids")}
    columns = {**wide, **masked, "next_sentence_labels": whole(1, 8, below=2, dtype="i1")}
    return table(folder / "books_0.hdf5", columns, compression="gzip")


@case("harvardnlp/seq2seq-attn: preprocess.py (demo-train.hdf5)")
def seq2seq_attn(folder: Path) -> Serves:
    """Lengths and places of batches lie beside the sentences, and are no ends of videos."""
    rows = {"source": whole(1, 12, 9), "target": whole(2, 12, 10), "target_output": whole(3, 12, 10)}
    batches = {"batch_l": np.full(3, 4), "batch_idx": np.array([1, 5, 9]), "source_l": np.array([9, 8, 7])}
    sizes = {name: np.array([100]) for name in ("source_size", "target_size")}
    write(folder / "demo-train.hdf5", {**rows, "target_l_all": whole(4, 12), **batches, **sizes})
    expected = rows_of("demo-train", **rows, target_l_all=whole(4, 12))
    return Serves(expected.videos, "rows", left_out=["batch_l|datasets"])


@case("arthurflor23/handwritten-text-recognition: src/main.py ({train,valid,test}/{dt,gt})", option=True)
def htr_flor(folder: Path) -> Layout:
    """Grey lines of text and their transcripts, in groups of splits."""
    sizes = {"train": 6, "valid": 3, "test": 4}
    datasets = {f"{split}/dt": pixels(count, count, 32, 24)[..., 0] for split, count in sizes.items()}
    lines = {split: texts(*(f"line {number}" for number in range(count))) for split, count in sizes.items()}
    write(folder / "iam.hdf5", datasets | {f"{split}/gt": each for split, each in lines.items()}, compression="gzip")
    train = rows_of("iam", dt=datasets["train/dt"], gt=lines["train"])
    return Layout(Refused(["--split train", "valid", "test"]), {"split": "train"}, train)


@case("batra-mlp-lab/visdial: data/prepro.py (ques_train … opt_list_val)", option=True)
def visdial(folder: Path) -> Layout:
    """Splits as the ends of names, and lists of another length."""
    datasets: dict[str, Values] = {}
    for split, count in (("train", 6), ("val", 3)):
        datasets |= {f"ques_{split}": whole(count, count, 10, 20), f"cap_{split}": whole(count, count, 40)}
        datasets |= {f"ques_length_{split}": whole(1, count, 10), f"img_pos_{split}": np.arange(count)}
        datasets[f"opt_list_{split}"] = whole(2, 9 * count, 20)
    write(folder / "visdial_data.h5", datasets)
    kept = {name: each for name, each in datasets.items() if name.endswith("train") and "list" not in name}
    train = Serves(rows_of("visdial_data", **kept).videos, "rows", left_out=["opt_list_train"])
    return Layout(Refused(["--split train", "--split val"]), {"split": "train"}, train)


@case("batra-mlp-lab/visdial: data/prepro_img_vgg16.lua (images_train, images_val)", option=True)
def visdial_images(folder: Path) -> Layout:
    """No split can be served without a word, and the refusal has the schema that serves one."""
    write(folder / "visdial_img.h5", {"images_train": numbers(1, 6, 64), "images_val": numbers(2, 3, 64)})
    field = 'name = "images_train", kind = "array", dataset = "images_train"'
    (folder / "s.toml").write_text(f'videos = "table"\nfield = [{{{field}}}]\n')
    train = rows_of("visdial_img", images_train=numbers(1, 6, 64))
    return Layout(Refused(['videos = "table"', "images_train"]), {"schema": "./s.toml"}, train)


@case("microsoft/SGN: data/ntu/seq_transformation.py (x, y, valid_x, valid_y, test_x, test_y)", option=True)
def sgn_ntu(folder: Path) -> Layout:
    """The training set has no word of its own: the refusal names it, and a schema serves it."""
    datasets = {f"{split}x": numbers(count, count, 30, 15) for split, count in (("", 9), ("valid_", 3), ("test_", 5))}
    datasets |= {f"{split}y": numbers(count, count, 60) for split, count in (("", 9), ("valid_", 3), ("test_", 5))}
    write(folder / "NTU_CV.h5", datasets)
    fields = ", ".join(f'{{name = "{name}", kind = "array", dataset = "{name}"}}' for name in "xy")
    (folder / "s.toml").write_text(f'videos = "table"\nfield = [{fields}]\n')
    train = rows_of("NTU_CV", x=datasets["x"], y=datasets["y"])
    return Layout(Refused(["--split valid", "--schema", "'x' and 'y'"]), {"schema": "./s.toml"}, train)


@case("rowanz/neural-motifs: VG-SGG.h5 (boxes by img_to_first_box, relationships by img_to_first_rel)")
def visual_genome(folder: Path) -> Refused:
    """Boxes and relationships are two tables in one file."""
    boxes = {"labels": whole(1, 14, 1), "boxes_1024": whole(2, 14, 4), "boxes_512": whole(3, 14, 4)}
    relations = {"relationships": whole(5, 6, 2), "predicates": whole(6, 6, 1)}
    index = {"img_to_first_box": np.array([0, 5, -1, 9], "i4"), "img_to_last_box": np.array([4, 8, -1, 13], "i4")}
    write(folder / "VG-SGG.h5", {**boxes, **relations, **index, "split": np.array([0, 0, 2, 2], "i4")})
    return Refused(["boxes_1024", "predicates|relationships", "--schema"])


@case("aelnouby/Text-to-Image-Synthesis: convert_flowers_to_hd5_script.py", option=True)
def text_to_image(folder: Path) -> Layout:
    """A group for each pair of image and caption, in groups of splits: ``np.void``, a vector, texts."""
    videos: dict[str, list[Video]] = {"train": [], "valid": [], "test": []}
    with h5py.File(folder / "flowers.hdf5", "w") as root:
        for seed, split in enumerate(videos):
            for number, image in enumerate(jpegs(seed, 3)):
                example = root.create_group(f"{split}/image_{(seed * 3 + number) * 37:05d}_{number}")
                example["img"], example["embeddings"] = np.void(image), numbers(number, 16)
                example["class"], example["name"] = "rose", f"image_{number}"
                example.create_dataset("txt", data=np.array(f"flower {number}", object), dtype=h5py.string_dtype())
                fields: dict[str, Form] = {
                    "img|frames": Encoded([image]),
                    "embeddings": Array(numbers(number, 16)[None]),
                }
                videos[split].append(Video(example.name[1:], {**fields, "txt": Value(f"flower {number}")}))
    return Layout(Refused(["--split train", "valid", "test"]), {"split": "train"}, Serves(videos["train"]))


@case("menardai/FashionGenAttnGAN, Fashion-Gen challenge (fashiongen_256_256_train.h5)")
def fashion_gen(folder: Path) -> Serves:
    """Texts as columns ``(N, 1)``."""
    named = {name: np.array([[f"{name} {number}".encode()] for number in range(5)]) for name in ("input_name",)}
    columns: Columns = {"input_image": pixels(1, 5), "input_productID": np.arange(5)[:, None], **named}
    return table(folder / "fashiongen_256_256_train.h5", columns)


@case("Neuroprosthetics-Lab/nejm-brain-to-text: model_training/dataset.py (trial_0000/input_features)")
def brain_to_text(folder: Path) -> Serves:
    """Features of a trial; phonemes are padded to one length for all, and what was said is an attribute."""
    videos = []
    with h5py.File(folder / "data_train.hdf5", "w") as root:
        for number in range(3):
            trial = root.create_group(f"trial_{number:04d}")
            trial["input_features"] = numbers(number, 20 + number, 32)
            trial["seq_class_ids"] = whole(number, 50, dtype="i4")
            trial.attrs["n_time_steps"], trial.attrs["sentence_label"] = 20 + number, f"Bring it {number}"
            fields: dict[str, Form] = {
                "input_features": Array(trial["input_features"][()]),
                "n_time_steps": Value(20 + number),
            }
            fields |= {"sentence_label": Value(f"Bring it {number}")}
            fields |= {"seq_class_ids": Value(trial["seq_class_ids"][()].tolist())}
            videos.append(Video(f"trial_{number:04d}", fields))
    return Serves(videos)
