"""What laboratories write beside their rows: lengths in columns, lists of no classes, groups that share too little."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from tests.public_layouts.columns import Columns, texts, whole, write
from tests.public_layouts.expectations import Array, Form, Refused, Serves, Value, Values, Video, case
from tests.public_layouts.robots import numbers


def _utterances(lengths: np.ndarray[tuple[int, ...], np.dtype[np.int32]]) -> Columns:
    rows = int(lengths[:, 0].sum())
    return {
        "inputs": numbers(1, rows, 5),
        "seqLengths": lengths,
        "seqTags": texts(*(f"train/{number}" for number in range(len(lengths)))),
    }


def _served(columns: Columns, left_out: list[str]) -> Serves:
    ends = np.cumsum(np.asarray(columns["seqLengths"])[:, 0])
    inputs = np.split(np.asarray(columns["inputs"]), ends[:-1])
    tags = np.asarray(columns["seqTags"])
    videos = [
        Video(str(number), {"inputs": Array(rows), "seqTags": Value(tags[number])})
        for number, rows in enumerate(inputs)
    ]
    return Serves(videos, left_out=left_out)


@case("rwth-i6/returnn: returnn/datasets/util/hdf.py (SimpleHDFWriter: inputs, seqLengths (N, 1), labels of none)")
def lengths_beside_no_classes(folder: Path) -> Serves:
    """A list of no classes is no video without frames, and lengths may be a column."""
    columns = _utterances(np.array([[7], [4], [9]], "i4"))
    write(folder / "feats.hdf", {**columns, "labels": np.zeros(0, "S5")})
    return _served(columns, [r"'?labels"])


@case("rwth-i6/returnn: demos/mdlstm/artificial/create_test_h5.py (seqLengths (N, 2): of inputs, and of targets)")
def lengths_in_two_columns(folder: Path) -> Serves:
    """The column that sums to the rows cuts them; the other one, of targets, is no sequence of these rows."""
    columns = _utterances(np.array([[7, 3], [4, 2], [9, 4]], "i4"))
    classes = {"labels": texts("a", "b"), "targets/data/classes": whole(2, 9, below=2, dtype="i4")}
    write(folder / "train.hdf", {**columns, **classes})
    return _served(columns, [r"'?labels", "targets/data/classes"])


@case("rwth-i6/returnn: lengths of which no column sums to the rows")
def lengths_of_other_rows(folder: Path) -> Refused:
    """What is called lengths and does not fit is no table of rows that a clip may cross."""
    columns = _utterances(np.array([[7, 3], [4, 2], [9, 4]], "i4"))
    write(folder / "train.hdf", {**columns, "inputs": numbers(1, 21, 5)})
    return Refused(["'seqLengths'", "sum to 21", "found sums of 20, 9", "one video of all rows"])


@case("Tank cubes of OpenFOAM: raw/<case>/{centers,U} beside processed/<case>/{U,mask,distance}")
def cases_at_two_stages(folder: Path) -> Refused:
    """Groups of two kinds share a name and no length: it is asked, and each schema that is shown has fields."""
    stages: dict[str, Values] = {}
    for each in ("Cube1", "Cube2"):
        stages |= {f"raw/{each}/centers": numbers(1, 11, 3), f"raw/{each}/U": numbers(2, 11, 3)}
        stages |= {f"processed/{each}/U": numbers(3, 4, 4, 4, 3), f"processed/{each}/distance": numbers(4, 4, 4, 4)}
    write(folder / "tank.h5", stages)
    return Refused(["of different length", 'videos = "files"'])


@case("piximi: annotations/{bounding_box,mask,mask_length,plane} as flat lists")
def masks_beside_their_lengths(folder: Path) -> Refused:
    """One sample of lists has a field `mask`, whose real length is `mask_length`: the file's own has another name."""
    lists = {"mask_length": np.array([3, 5, 4], "u1"), "mask": whole(1, 12, below=9, dtype="u1")}
    boxes = {"bounding_box": whole(2, 12, dtype="u1"), "plane": np.zeros(3, "u1")}
    write(folder / "x.h5", {f"annotations/{name}": each for name, each in (lists | boxes).items()})
    return Refused(["of different length", "annotations_mask_length_of_file"])


@case("MVP of point clouds: 26 incomplete_pcds to each of complete_pcds, and labels of the former")
def labels_of_some_clouds(folder: Path) -> Refused:
    """Two sequences as videos of their own would need two labels: that reading is not offered."""
    clouds = {"incomplete_pcds": numbers(1, 8, 30, 3), "complete_pcds": numbers(2, 2, 40, 3)}
    write(folder / "train.h5", {**clouds, "labels": whole(3, 8, below=16)})
    return Refused(["of different length", "rows of 'incomplete_pcds'"])


@case("TimoStoff/events_contrast_maximization: images/image000000000, flow/flow000000000")
def flow_between_pictures(folder: Path) -> Serves:
    """Datasets of other names are no fields of one sample: the schema for samples names those of one group."""
    datasets = {f"images/image{number:09d}": numbers(number, 12, 16) for number in range(12)}
    datasets |= {f"flow/flow{number:09d}": numbers(number, 2, 12, 16) for number in range(11)}
    write(folder / "seq.h5", datasets)
    fields = {
        "flow": Array(np.stack([numbers(number, 2, 12, 16) for number in range(11)])),
        "images": Array(np.stack([numbers(number, 12, 16) for number in range(12)])),
    }
    said = r'`field = \[\{name = "images", kind = "array", dataset = "images/\{video\}", shape = \[-1, -1\]\}\]`'
    return Serves([Video("seq", fields)], left_out=[said])


@case("EEG of seizures, augmented: <class>/seg_0000000/{original (C, T), augmented (views, C, T)}")
def views_of_a_segment(folder: Path) -> Serves:
    """Three views beside four channels are taken for what lies between frames; a line says that, and what it takes."""
    datasets: dict[str, Values] = {}
    videos = []
    for number in range(6):
        original, augmented = numbers(number, 4, 60), numbers(number + 9, 3, 4, 60)
        segment = f"{('ictal', 'normal')[number // 3]}/seg_{number:07d}"
        datasets |= {f"{segment}/original": original, f"{segment}/augmented": augmented}
        fields: dict[str, Form] = {"original": Array(original), "augmented": Array(augmented)}
        videos.append(Video(segment, fields))
    write(folder / "aug.h5", datasets)
    return Serves(
        videos,
        says=["about 'ictal/'", "about 'augmented': .* has 3 entries for 4 frames.*without it they have all frames"],
    )
