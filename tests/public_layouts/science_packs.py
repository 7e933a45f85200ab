"""Packs of speech, physics and the earth: samples that lie end to end, time before videos, and an array a group."""

from __future__ import annotations

from pathlib import Path

import h5py
import numpy as np

from tests.public_layouts.columns import table, texts, whole
from tests.public_layouts.expectations import Array, Layout, Refused, Serves, Value, Video, case
from tests.public_layouts.pictures import pixels
from tests.public_layouts.robots import numbers


def _schema(folder: Path, videos: str, *fields: str) -> dict[str, str]:
    """Write a schema of arrays, ``name = dataset`` and perhaps a shape each, and return the option that names it."""
    lines = []
    for name, _, rest in (field.partition(" = ") for field in fields):
        dataset, _, shape = rest.partition(" ")
        lines.append(f'name = "{name}", kind = "array", dataset = "{dataset}"' + f", shape = {shape}" * bool(shape))
    (folder / "schema.toml").write_text(f'videos = "{videos}"\nfield = [{{{"}, {".join(lines)}}}]\n')
    return {"schema": "./schema.toml"}


@case("bootphon/h5features 1: features/features, labels (times), items, index (the last row of each)", option=True)
def index_of_last_rows(folder: Path) -> Layout:
    """A clip must not cross utterances without a word, although nothing is called an end."""
    features, times, ends = numbers(1, 96, 13), np.arange(96) / 100, np.array([30, 71, 96])
    with h5py.File(folder / "features.h5", "w") as root:
        group = root.create_group("features")
        group["features"], group["labels"], group["index"] = features, times, ends - 1
        group["items"] = ["first", "second", "third"]
    videos = [
        Video(str(number), {"features": Array(features[start:end])})
        for number, (start, end) in enumerate(zip((0, 30, 71), ends.tolist(), strict=True))
    ]
    says = ["'features/index' goes from 29 to 95", "the last rows of videos", 'videos = "spans"', 'videos = "table"']
    return Layout(Refused(says), _schema(folder, "spans", "features = features/features"), Serves(videos))


@case("European XFEL runs: INDEX/trainId, INDEX/<source>/first and count, INSTRUMENT/<source>/data")
def trains_of_pulses(folder: Path) -> Serves:
    """What is called ``trainId`` counts trains, and lists no rows for training; pulses of a train are a video."""
    counts = np.array([4, 4, 2, 3])
    ends, data = np.cumsum(counts), whole(1, 13, 8, 16, dtype="u2")
    with h5py.File(folder / "run.h5", "w") as root:
        root["INDEX/trainId"] = np.arange(100, 104, dtype=np.uint64)
        root["INDEX/DET/image/first"], root["INDEX/DET/image/count"] = ends - counts, counts
        root["INSTRUMENT/DET/image/data"] = data
    videos = [
        Video(str(number), {"data|*": Array(data[end - count : end]), "trainId|INDEX/trainId": Value(100 + number)})
        for number, (count, end) in enumerate(zip(counts.tolist(), ends.tolist(), strict=True))
    ]
    return Serves(videos)


@case("IDSIA/brainstorm: data of Hutter's prize, default and targets (time, sequences, 1) as bytes")
def letters_as_bytes(folder: Path) -> Refused:
    """Two datasets of bytes with one channel are no two grey pictures without a word."""
    with h5py.File(folder / "Hutter.hdf5", "w") as root:
        for seed, name in enumerate(("default", "targets")):
            root[f"split/{name}"] = whole(seed, 100, 50, 1, below=205, dtype="u1")
    return Refused(["first axis may be time", "rows of a table", "one picture", r"shape = \[100, 50, 1\]"])


@case("no one project: sequences of one byte a step, (T, 50, 1), of other lengths by group")
def bytes_of_other_lengths(folder: Path) -> Refused:
    with h5py.File(folder / "codes.h5", "w") as root:
        for name, length in (("first", 100), ("second", 120)):
            root[f"{name}/x"] = whole(length, length, 50, 1, below=205, dtype="u1")
    return Refused(["first axis may be time", "rows of a table", "one picture"])


@case("no one project: bytes x (N, 100, 1) with labels y (N, 1, 1)")
def labels_of_one_byte(folder: Path) -> Serves:
    """A column of one byte a row is no picture of one pixel's width, and counts the rows of what lies beside it."""
    columns = {"x": whole(1, 300, 100, 1, dtype="u1"), "y": whole(2, 300, 1, 1, below=2, dtype="u1")}
    return table(folder / "train.h5", columns)


@case(
    "sjoerdvansteenkiste/Relational-NEM: balls (training/features, groups: time, videos, height, width, 1)", option=True
)
def balls_with_time_first(folder: Path) -> Layout:
    """All fields count the videos along their second axis; nothing but the shapes tells, and that is said."""
    rows = {"features": numbers(1, 12, 30, 16, 16, 1), "groups": numbers(2, 12, 30, 16, 16, 1)}
    rows["positions"] = numbers(3, 12, 30, 4, 2)
    with h5py.File(folder / "balls.h5", "w") as root:
        for split, count in (("training", 30), ("test", 20)):
            for name, values in rows.items():
                root[f"{split}/{name}"] = values[:, :count]
    training = Serves(
        [Video("balls", {name: Array(values) for name, values in rows.items()})],
        "rows",
        says=[r"about 'training/(features|groups)'.*all others have 30 first.*np.moveaxis\(array, 0, 1\)"],
    )
    return Layout(Refused(["--split training or --split test"]), {"split": "training"}, training)


@case("openmm/spice-dataset: a group a molecule, by its name (conformations, atomic_numbers, smiles)", option=True)
def molecules_by_name(folder: Path) -> Layout:
    """Names that are words, and one molecule of a single conformation: rows of each group are a remedy."""
    videos = []
    with h5py.File(folder / "spice.hdf5", "w") as root:
        for name, atoms, count in (("103147721", 15, 50), ("ala-ala", 23, 26), ("water", 3, 1)):
            group, places = root.create_group(name), numbers(atoms, count, atoms, 3)
            group["conformations"], group["dft_total_energy"] = places, numbers(count, count)
            group["atomic_numbers"], group["smiles"] = whole(1, atoms, dtype="i2"), ["[C:1]"]
            videos.append(Video(name, {"places": Array(places)}))
    options = _schema(folder, "groups", "places = {video}/conformations")
    says = ["a video each group, with the rows of 'conformations'", "one sample a group"]
    return Layout(Refused(says), options, Serves(videos))


@case("roserustowicz/crop-type-mapping: s1/<grid>, s2/<grid> (bands, height, width, times), labels/<grid>", option=True)
def grids_of_a_season(folder: Path) -> Layout:
    """As many bands as each satellite has, and times of their own: each name is one sample of all groups."""
    videos = []
    with h5py.File(folder / "crops.hdf5", "w") as root:
        for number in range(3):
            grid, times = f"{1000 + number:06d}", (10 + number, 7 + number)
            radar, colours = numbers(number, 2, 16, 16, times[0]), whole(number, 10, 16, 16, times[1], dtype="u2")
            labels = whole(number, 16, 16, below=5, dtype="u1")
            for name, values in (("s1", radar), ("s2", colours), ("labels", labels)):
                root[f"{name}/{grid}"] = values
            root[f"s1_length/{grid}"] = times[0]
            videos.append(Video(f"s1/{grid}", {"s1": Array(radar[None]), "labels": Array(labels[None])}))
    options = _schema(folder, "groups", "s1 = s1/{video} [2, 16, 16, 0]", "labels = labels/{video} [16, 16]")
    says = ["samples with an array in each group", r"dataset = .s1/\{video\}., shape = \[2, 16, 16, 0\]"]
    return Layout(Refused(says), options, Serves(videos))


@case("qiuqiangkong/piano_transcription: utils/features.py (waveform, midi_event, midi_event_time)", option=True)
def piano_and_its_notes(folder: Path) -> Layout:
    """Sound and events of a recording are two lists of one sample, of any length in each file."""
    videos = []
    for number in range(2):
        sound, times = whole(number, 1600 + 50 * number, dtype="i2"), np.sort(numbers(number, 50 + 3 * number))
        with h5py.File(folder / f"{number}.h5", "w") as root:
            root["waveform"], root["midi_event_time"] = sound, times
            root["midi_event"] = texts(*["note_on channel=0"] * len(times))
        videos.append(Video(str(number), {"waveform": Array(sound[None]), "times": Array(times[None])}))
    options = _schema(folder, "files", "waveform = waveform [0]", "times = midi_event_time [0]")
    says = ["rows of 'waveform'", "one sample a file, of lists of any length", r"shape = \[0\]"]
    return Layout(Refused(says), options, Serves(videos))


@case("telegraphic/hickle 5: a dict is a group, and its keys have quotes")
def names_with_quotes(folder: Path) -> Serves:
    images, labels = pixels(3, 20, 16, 16), whole(1, 20, below=4)
    with h5py.File(folder / "data.h5", "w") as root:
        for name, values in (("images", images), ("labels", labels)):
            root[f"data/'{name}'"] = values
            root[f"data/'{name}'"].attrs["base_type"] = b"ndarray"
    fields = {"frames|'images'": Array(images), "'labels'": Array(labels)}
    says = ["no field \"'images'/@base_type\"", "no field \"'labels'/@base_type\""]
    return Serves([Video("data", fields)], "videos|rows", says=says)
