"""What laboratories write beside their rows: lengths in columns, lists of no classes, groups that share too little."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from tests.public_layouts.columns import texts, whole, write
from tests.public_layouts.expectations import Array, Refused, Serves, Value, Video, case
from tests.public_layouts.robots import numbers


def _utterances(lengths: np.ndarray[tuple[int, ...], np.dtype[np.int32]]) -> dict[str, object]:
    rows = int(lengths[:, 0].sum())
    return {
        "inputs": numbers(1, rows, 5),
        "seqLengths": lengths,
        "seqTags": texts(*(f"train/{number}" for number in range(len(lengths)))),
    }


def _served(columns: dict[str, object], left_out: list[str]) -> Serves:
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
