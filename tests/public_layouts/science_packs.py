"""Packs of speech, physics and the earth: samples that lie end to end, time before videos, and an array a group."""

from __future__ import annotations

from pathlib import Path

import h5py
import numpy as np

from tests.public_layouts.columns import table, texts, whole
from tests.public_layouts.expectations import Array, Layout, Refused, Serves, Value, Values, Video, case
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


@case("neurodata NWB: units/waveforms beside units/waveforms_index (the row behind the last one of each)")
def index_of_rows_behind(folder: Path) -> Refused:
    with h5py.File(folder / "units.nwb.h5", "w") as root:
        root["units/waveforms"], root["units/id"] = numbers(1, 60, 32), np.arange(3)
        root["units/waveforms_index"] = np.array([20, 45, 60], np.uint32)
    return Refused(["'units/waveforms_index' goes from 20 to 60", 'videos = "spans"', 'videos = "table"'])


@case("NASA GEDI L1B and MATLAB: first rows that are counted from 1, beside how many there are")
def rows_that_are_counted_from_1(folder: Path) -> Serves:
    """The last sequence would end one row behind the rows, so nothing else can be meant."""
    counts, features = np.array([10, 7, 13]), numbers(1, 30, 8)
    ends = np.cumsum(counts)
    with h5py.File(folder / "shots.h5", "w") as root:
        root["features"], root["seg_start"], root["seg_len"] = features, ends - counts + 1, counts
    return Serves(
        [
            Video(str(number), {"features": Array(features[end - count : end])})
            for number, (count, end) in enumerate(zip(counts.tolist(), ends.tolist(), strict=True))
        ]
    )


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
    return Refused(["first axis may be time", "rows of a table", "one picture", r"shape = \[-1, -1, 1\]"])


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
    says = ["samples with an array in each group", r"dataset = .s1/\{video\}., shape = \[-1, -1, -1, 0\]"]
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


@case("H5MD: particles/all/<what>/value, step and time, and observables of another kind at a rate of their own")
def particles_beside_observables(folder: Path) -> Serves:
    """What `inspect --toml` prints must not take energies for places, which have names of the same fields."""
    videos = []
    with h5py.File(folder / "trajectory.h5", "w") as root:
        for name, frames in (("position", 20), ("velocity", 10)):
            fields: dict[str, Values] = {"value": numbers(frames, frames, 50, 3), "time": np.arange(frames) / 10}
            fields["step"] = np.arange(frames) * (400 // frames)
            for key, values in fields.items():
                root[f"particles/all/{name}/{key}"] = values
            videos.append(Video(f"particles/all/{name}", {key: Array(values) for key, values in fields.items()}))
        root["observables/energy/value"], root["observables/energy/step"] = numbers(1, 200), np.arange(200)
    return Serves(videos, left_out=["observables/energy/value"])


@case("GPM IMERG: Grid/precipitation (1, lon, lat), lat, lon, time (1), a file a time")
def one_map_with_its_axes(folder: Path) -> Serves:
    """Axes are arrays of the only row, and `inspect --toml` says with which shape."""
    axes: dict[str, Values] = {"lat": np.arange(18.0), "lon": np.arange(36.0)}
    rows: dict[str, Values] = {"precipitation": numbers(1, 1, 36, 18), "time": np.array([7])}
    with h5py.File(folder / "rain.h5", "w") as root:
        for name, values in {**axes, **rows}.items():
            root[f"Grid/{name}"] = values
    whole_arrays = {name: Array(values[None]) for name, values in axes.items()}
    return Serves([Video("rain", {**whole_arrays, **{name: Array(values) for name, values in rows.items()}})], "rows")


@case("timothygebhard/ggwd: injection_samples and noise_samples (event_time, h1_strain, l1_strain)")
def strains_of_detectors(folder: Path) -> Serves:
    """Names with a number of a detector are fields, and no ids of samples: their forms differ."""
    videos = []
    with h5py.File(folder / "train.hdf", "w") as root:
        for name, count in (("injection_samples", 12), ("noise_samples", 8)):
            fields = {f"{each}_strain": numbers(count, count, 256) for each in ("h1", "l1")}
            fields["event_time"] = np.arange(count) + 1.2e9
            for key, values in fields.items():
                root[f"{name}/{key}"] = values
            videos.append(Video(name, {key: Array(values) for key, values in fields.items()}))
        root["injection_parameters/mass1"] = numbers(1, 12)
    return Serves(videos, left_out=["injection_parameters/mass1"])


@case("no one project, like CellH5: plate/<well>/image/channel (channels, times, depth, height, width)")
def channels_of_wells(folder: Path) -> Serves:
    """Few entries of many axes may be channels, and each well one sample; the schema for that is said."""
    videos = []
    with h5py.File(folder / "plate.h5", "w") as root:
        for number, well in enumerate(("A1", "A2")):
            data = whole(number, 2, 5, 1, 16, 16, below=256, dtype="u1")
            root[f"plate/{well}/image/channel"] = data
            videos.append(Video(f"*{well}", {"*": Array(data)}))
    return Serves(videos, says=[r"each of 2 videos is 2 arrays of 5 x 1 x 16 x 16.*shape = \[-1, -1, -1, -1, -1\]"])


@case(
    "BraTS as HDF5: data (modalities, height, width, depth) beside seg and affine (4, 4), a file a patient", option=True
)
def modalities_beside_their_segmentation(folder: Path) -> Layout:
    """Four modalities are no four rows, although the scanner's matrix has as many lines."""
    videos = []
    for number in range(2):
        scan, truth = numbers(number, 4, 24, 20, 18), whole(number, 24, 20, 18, below=4, dtype="u1")
        with h5py.File(folder / f"patient{number}.h5", "w") as root:
            root["data"], root["seg"], root["affine"] = scan, truth, np.eye(4)
        videos.append(Video(f"patient{number}", {"data": Array(scan[None]), "seg": Array(truth[None])}))
    options = _schema(folder, "files", "data = data [4, 24, 20, 18]", "seg = seg [24, 20, 18]")
    return Layout(
        Refused(["rows of 'data'", "one sample a file", r"shape = \[-1, -1, -1, -1\]"]), options, Serves(videos)
    )


@case("BraTS as HDF5: data (modalities, height, width, depth) beside seg, a group a patient")
def modalities_by_patient(folder: Path) -> Refused:
    with h5py.File(folder / "brats.h5", "w") as root:
        for number in range(3):
            root[f"BraTS_{number:03d}/data"] = numbers(number, 4, 24, 20, 18)
            root[f"BraTS_{number:03d}/seg"] = whole(number, 24, 20, 18, below=4, dtype="u1")
    return Refused(["one sample a group", "a video each group, with the rows of 'data'"])


@case("no one project: subject/session/trial_0, trial_1, … (frames, 6), with the label of each as its attribute")
def trials_of_sessions(folder: Path) -> Serves:
    """Trials of one length are videos at any depth, and no fields of their session with the first one's label."""
    names = [f"sub-{number // 6:02d}/ses-{number // 3 % 2:02d}/trial_{number % 3}" for number in range(12)]
    return Serves(_labelled(folder / "gait.h5", names, "*"))


@case("no one project: subject/0, subject/1, … (frames, 6), of one length, with a label each", option=True)
def numbers_of_subjects(folder: Path) -> Layout:
    """A number alone does not say whether it is a sensor's or a trial's."""
    videos = _labelled(folder / "gait.h5", [f"sub-{number // 3:04d}/{number % 3}" for number in range(6)], "values")
    says = ["which only numbers tell apart", "videos of their own", "one video a group, with a field for each number"]
    return Layout(Refused(says), _schema(folder, "groups", "values = {video}"), Serves(videos))


def _labelled(path: Path, names: list[str], field: str) -> list[Video]:
    """Write a sequence of one length by each name, with a label as its attribute; return them as videos."""
    videos = []
    with h5py.File(path, "w") as root:
        for number, name in enumerate(names):
            root[name] = numbers(number, 50, 6)
            root[name].attrs["label"] = number % 2
            videos.append(Video(name, {field: Array(numbers(number, 50, 6))}, number % 2))
    return videos


@case("no one project: X (features, samples) beside y (samples), as MATLAB's users write them by h5py")
def samples_behind_features(folder: Path) -> Serves:
    """Labels that have an entry for each of the last axis are left out, and what that may mean is said."""
    features = numbers(1, 64, 200)
    with h5py.File(folder / "train.h5", "w") as root:
        root["X"], root["y"] = features, whole(1, 200, below=2)
    says = [r"about 'X'.*64 rows are \(200,\) each, and 'y' has 200 entries.*np.moveaxis\(array, -1, 0\)"]
    return Serves([Video("train", {"X": Array(features)})], "rows", left_out=["'y'"], says=says)


@case("no one project: class/subject/0, class/subject/1, … of 16-bit sounds, with the label of each", option=True)
def sounds_with_a_label_each(folder: Path) -> Layout:
    """Of channels of one recording there is one label; where they differ, the first one's is not taken for all."""
    videos = []
    with h5py.File(folder / "words.h5", "w") as root:
        for number in range(12):
            name = f"spk{number // 6}/book{number // 3 % 2}/{number % 3}"
            root[name] = whole(number, 400, dtype="i2")
            root[name].attrs["label"] = number % 2
            videos.append(Video(name, {"frames": Array(root[name][()][None])}, number % 2))
    says = ["with the label 0 beside .* with the label 1", "a sample each", "videos of their own"]
    return Layout(Refused(says), _schema(folder, "groups", "frames = {video} [400]"), Serves(videos))


@case("PROBA-V of VITO: LEVEL3/RADIOMETRY/<band>/TOA, LEVEL3/NDVI/NDVI (lines, pixels), a group a map")
def maps_in_groups_of_their_own(folder: Path) -> Refused:
    """Lines of maps are no rows of a table, also where each map lies in a group of its own."""
    paths = ("RADIOMETRY/RED/TOA", "RADIOMETRY/NIR/TOA", "NDVI/NDVI")
    maps = {f"LEVEL3/{path}": whole(seed, 48, 48, below=900, dtype="i2") for seed, path in enumerate(paths)}
    table(folder / "tile.h5", maps)
    return Refused(["rows of a table", "one picture", r"shape = \[-1, -1\]"])
