"""Splits that files say in other ways than by lists of rows: links to videos, keys of them, names of files."""

from __future__ import annotations

from pathlib import Path

import h5py
import numpy as np

from tests.public_layouts.expectations import Array, Form, Layout, Refused, Serves, Values, Video, case, rows_of
from tests.public_layouts.pictures import pixels
from tests.public_layouts.robots import numbers


def _write_molecules(folder: Path, *, soft: bool) -> Layout:
    videos = []
    with h5py.File(folder / "molecules.h5", "w") as root:
        for number in range(11):
            name, count = f"data/rxn{number}", 4 + number
            root[f"{name}/positions"], root[f"{name}/energy"] = numbers(number, count, 5, 3), numbers(99, count)
            said = f"{'train' if number % 3 else 'test'}/rxn{number}"
            root[said] = h5py.SoftLink(f"/{name}") if soft else root[name]
            fields: dict[str, Form] = {key: Array(root[name][key][()]) for key in ("positions", "energy")}
            videos.append(Video(name, fields))
    test = [video for number, video in enumerate(videos) if number % 3 == 0]
    return Layout(Refused(["train", "test", "--split"]), {"split": "test"}, Serves(test))


@case("gitlab.com/matschreiner/Transition1x: data/<reaction>, and train/, test/ that link to these", option=True)
def molecules_by_soft_links(folder: Path) -> Layout:
    """Links say which split a molecule is in."""
    return _write_molecules(folder, soft=True)


@case("gitlab.com/matschreiner/Transition1x: the same with hard links", option=True)
def molecules_by_hard_links(folder: Path) -> Layout:
    """A second name of a group is neither a video of its own nor an empty one."""
    return _write_molecules(folder, soft=False)


@case("nmi-lab/torchneuromorphic: n_mnist.hdf5 (data/0/times, extra/train_keys, extra/test_keys)", option=True)
def events_by_keys(folder: Path) -> Layout:
    """Numbers in lists are names of videos, whatever the order of these."""
    videos = []
    with h5py.File(folder / "n_mnist.hdf5", "w") as root:
        for number in range(12):
            group, count = root.create_group(f"data/{number}"), 5 + number
            group["times"] = np.arange(count, dtype=np.uint32) * (number + 1)
            group["addrs"], group["labels"] = numbers(number, count, 3), number % 10
            fields: dict[str, Form] = {key: Array(group[key][()]) for key in ("times", "addrs")}
            videos.append(Video(f"data/{number}", fields, number % 10))
        root["extra/train_keys"], root["extra/test_keys"] = np.arange(0, 12, 2), np.arange(1, 12, 2)
    return Layout(Refused(["train", "test", "--split"]), {"split": "test"}, Serves(videos[1::2]))


@case("qiuqiangkong/audioset_classification: packed_features (bal_train.h5, eval.h5)", option=True)
def packed_features(folder: Path) -> Layout:
    """Names of files that all say a split are splits, also where they have nothing else in common."""
    columns: dict[str, dict[str, Values]] = {}
    for name, count in (("bal_train", 8), ("eval", 5)):
        columns[name] = {"x": numbers(count, count, 10, 128), "y": np.eye(count, 20, dtype=bool)}
        with h5py.File(folder / f"{name}.h5", "w") as root:
            root["x"], root["y"] = columns[name]["x"], columns[name]["y"]
    return Layout(Refused(["train", "eval", "--split"]), {"split": "eval"}, rows_of("eval", **columns["eval"]))


@case("no one project: Market-1501 as train/images, query/images, gallery/images", option=True)
def sets_of_re_identification(folder: Path) -> Layout:
    """What is searched for, and in, are no pictures to train with."""
    sets: dict[str, dict[str, Values]] = {}
    with h5py.File(folder / "market.h5", "w") as root:
        for seed, name in enumerate(("train", "query", "gallery")):
            sets[name] = {"images": pixels(seed, 4 + seed), "pids": np.arange(4 + seed)}
            for key, values in sets[name].items():
                root[f"{name}/{key}"] = values
    query = Video("market", {"frames": Array(sets["query"]["images"]), "pids": Array(sets["query"]["pids"])})
    return Layout(Refused(["--split query or --split gallery"]), {"split": "query"}, Serves([query]))
