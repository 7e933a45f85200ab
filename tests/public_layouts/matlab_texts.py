"""Texts as MATLAB -v7.3 writes them: `char` arrays, numbers of UTF-16."""

from __future__ import annotations

from pathlib import Path

import h5py
import numpy as np

from loader_service.schema import Schema, SchemaField
from tests.public_layouts.columns import whole
from tests.public_layouts.expectations import Array, Form, Layout, Refused, Serves, Value, Values, Video, case
from tests.public_layouts.robots import numbers


def _characters(text: str) -> Values:
    return np.frombuffer(text.encode("utf-16-le"), "<u2")


def _write(path: Path, columns: dict[str, Values]) -> None:
    """Write variables of MATLAB; those of 16 bits are its characters."""
    with h5py.File(path, "w", userblock_size=512) as root:
        for name, values in columns.items():
            root[name] = values
            is_text = values.dtype == np.uint16
            root[name].attrs["MATLAB_class"] = np.bytes_("char" if is_text else "double")
            if is_text:
                root[name].attrs["MATLAB_int_decode"] = np.int32(2)


@case("EEG trials saved with -v7.3: eeg, subject (n, 1), note (1, n) and label, a group a trial")
def texts_of_trials(folder: Path) -> Serves:
    """They are a text each, as long as they are, and no rivals of the rows; characters beyond ASCII stay."""
    columns: dict[str, Values] = {}
    videos = []
    for number, name in enumerate(("Zoë", "Jo", "Çiğdem \N{GOTHIC LETTER AHSA}")):
        eeg, kind = numbers(number, 20 + number, 8), ("rest", "task")[number % 2]
        columns |= {f"trial{number}/eeg": eeg, f"trial{number}/subject": _characters(name)[:, None]}
        columns |= {f"trial{number}/note": _characters("a")[None], f"trial{number}/label": _characters(kind)[:, None]}
        fields: dict[str, Form] = {"eeg": Array(eeg), "subject": Value(name), "note": Value("a")}
        videos.append(Video(f"trial{number}", fields, label=kind))
    _write(folder / "trials.mat", columns)
    return Serves(videos, left_out=[r"eeg \(axes\)"])


@case("MATLAB -v7.3: a matrix of features beside a text of as many characters, and lines of text", option=True)
def lines_of_text(folder: Path) -> Layout:
    """A text is no column; several lines of it are said to be such, and a schema has their numbers."""
    lines = whole(1, 7, 4, below=90, dtype="u2")
    features = numbers(1, 7, 8)
    _write(folder / "s1.mat", {"features": features, "name": _characters("subject")[:, None], "names": lines})
    text: dict[str, Form] = {"features": Array(features), "name": Value("subject")}
    served = Serves([Video("s1", text)], "rows", left_out=["names.*characters, as MATLAB keeps them.*UTF-16"])
    schema = Schema(("table",), (SchemaField("names", "array", ("names",)),))
    return Layout(served, {"schema": schema}, Serves([Video("s1", {"names": Array(lines)})], "rows"))


@case("MATLAB -v7.3: a recording a file with the name of its class", option=True)
def text_is_the_label(folder: Path) -> Layout:
    """A lone label, with or without axes, is asked about beside rows, and not dropped."""
    _write(folder / "s1.mat", {"X": numbers(1, 20, 8), "label": _characters("walk")[:, None]})
    label = SchemaField("label", "value", ("label",))
    schema = Schema(("files",), (label, SchemaField("X", "array", ("X",))))
    served = Serves([Video("s1", {"X": Array(numbers(1, 20, 8))}, label="walk")])
    return Layout(Refused(["20 labels", "a recording a file, with a label"]), {"schema": schema}, served)


@case("MATLAB -v7.3: features beside a string, a sparse matrix and complex numbers")
def no_arrays_beside_features(folder: Path) -> Serves:
    """What MATLAB writes of objects, and of sparse matrices, means nothing alone, and is said to be what it is."""
    features, counts = numbers(1, 6, 8), np.arange(7, dtype=np.uint64)
    _write(folder / "s1.mat", {"features": features, "names": whole(2, 1, 6, dtype="u4")})
    with h5py.File(folder / "s1.mat", "a") as root:
        root["names"].attrs.update(MATLAB_class=np.bytes_("string"), MATLAB_object_decode=np.int32(3))
        root["spectrum"] = np.zeros((6, 8), [("real", "f8"), ("imag", "f8")])
        root["graph/jc"], root["graph/ir"], root["graph/data"] = counts, counts[:6], numbers(3, 6)
        root["graph"].attrs["MATLAB_sparse"] = np.uint64(6)
    left_out = ["names.*object of MATLAB", *(f"graph/{name}.*sparse matrix of MATLAB" for name in ("data", "ir", "jc"))]
    left_out += ["spectrum.*complex numbers", r"features \(axes\)"]
    return Serves([Video("s1", {"features": Array(features)})], "rows", left_out=left_out)
