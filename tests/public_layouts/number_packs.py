"""Packs of numbers: features by number, lists beside each other, matrices whose samples are last, tables and splits."""

from __future__ import annotations

import pickle
from pathlib import Path

import h5py
import numpy as np

from tests.public_layouts.columns import table, whole
from tests.public_layouts.expectations import (
    Array,
    Form,
    Layout,
    Ragged,
    Refused,
    Serves,
    Value,
    Values,
    Video,
    case,
    rows_of,
)
from tests.public_layouts.robots import numbers


def _schema(folder: Path, videos: str, *fields: str) -> dict[str, str]:
    """Write a schema, and return the option that names it."""
    (folder / "s.toml").write_text(f'videos = "{videos}"\nfield = [{{{"}, {".join(fields)}}}]\n')
    return {"schema": "./s.toml"}


def _says(*texts: str) -> Refused:
    return Refused([text.replace("[", r"\[").replace("{", r"\{") for text in texts])


@case("aimagelab/meshed-memory-transformer: data/field.py (139_features, 139_boxes, of some boxes each)")
def features_by_number(folder: Path) -> Serves:
    """The number of a video may begin the names of its datasets."""
    videos = []
    with h5py.File(folder / "coco_detections.hdf5", "w") as root:
        for seed, number in enumerate((139, 285, 724)):
            fields: dict[str, Form] = {}
            for name, width in (("features", 16), ("boxes", 4)):
                root[f"{number}_{name}"] = numbers(seed, 9 + seed, width)
                fields[name] = Array(numbers(seed, 9 + seed, width))
            videos.append(Video(str(number), fields))
    return Serves(videos)


@case("aimagelab/meshed-memory-transformer: data/field.py, with 36 boxes each", option=True)
def features_by_number_of_one_length(folder: Path) -> Layout:
    """They can be columns of one table as well; the schema that is shown serves them."""
    videos = []
    with h5py.File(folder / "coco_detections.hdf5", "w") as root:
        for seed, number in enumerate((139, 285, 724)):
            root[f"{number}_features"], root[f"{number}_boxes"] = numbers(seed, 36, 16), numbers(seed, 36, 4)
            fields: dict[str, Form] = {"features": Array(numbers(seed, 36, 16)), "boxes": Array(numbers(seed, 36, 4))}
            videos.append(Video(str(number), fields))
    field = 'name = "features", kind = "array", dataset = "{video}_features", shape = [-1]'
    schema = _schema(folder, "groups", field, field.replace("features", "boxes").replace("16", "4"))
    return Layout(_says(field), schema, Serves(videos))


def _write_lists(path: Path, columns: dict[str, list[Values]], **beside: Values) -> None:
    with h5py.File(path, "w") as root:
        for name, rows in columns.items():
            written = root.create_dataset(name, (len(rows),), h5py.vlen_dtype(rows[0].dtype))
            for number, row in enumerate(rows):
                written[number] = row
        for name, values in beside.items():
            root[name] = values


@case(
    "kdexd/updown-baseline: updown/data/readers.py (boxes and features of each image as lists, num_boxes)", option=True
)
def lists_of_images(folder: Path) -> Layout:
    """Lists of unlike length are no recordings, of which one would be left out; a schema serves both."""
    columns = {
        name: [numbers(n, (2 + n % 3) * width) for n in range(5)] for name, width in (("boxes", 4), ("features", 16))
    }
    _write_lists(folder / "coco.h5", columns, image_id=np.arange(5), num_boxes=np.arange(5) % 3 + 2)
    fields = [f'name = "{name}", kind = "array", dataset = "{name}", shape = [0]' for name in columns]
    served = Serves([Video("coco", {name: Ragged(rows) for name, rows in columns.items()})], kind="rows")
    return Layout(_says(*fields, 'videos = "vlen"'), _schema(folder, "table", *fields), served)


@case("no one project: recordings of a sensor as lists x, y and z of one length")
def lists_of_one_length(folder: Path) -> Serves:
    """Lists that are as long in each row are fields of one recording."""
    columns = {name: [numbers(seed + n, 20 + n) for n in range(4)] for seed, name in enumerate("xyz")}
    _write_lists(folder / "acc.h5", columns, user=np.arange(4))
    videos = []
    for number in range(4):
        fields: dict[str, Form] = {name: Array(rows[number]) for name, rows in columns.items()}
        videos.append(Video(f"x/{number}", {**fields, "user": Value(number)}))
    return Serves(videos)


@case("no one project: sounds as lists, beside lists called labels")
def sounds_beside_lists_of_labels(folder: Path) -> Serves:
    """A sound is much longer than its tokens, which have a line; a list is no label of a video."""
    sounds, tokens = [numbers(n, 300 + n) for n in range(3)], [whole(n, 4 + n) for n in range(3)]
    _write_lists(folder / "asr.h5", {"audio": sounds, "labels": tokens})
    videos = [Video(f"audio/{number}", {"audio": Array(sound)}) for number, sound in enumerate(sounds)]
    return Serves(videos, left_out=["labels.*of other lengths"])


@case("FunctionLab/deepsea: train.mat (trainxdata (1000, 4, N), traindata (919, N))", option=True)
def samples_in_the_last_axis(folder: Path) -> Layout:
    """Samples are last in both; the message says so, and has a schema for what is there as it lies."""
    data = {"trainxdata": whole(1, 40, 4, 90, dtype="u1"), "traindata": whole(2, 30, 90, dtype="u1")}
    table(folder / "train.mat", data)
    schema = _schema(folder, "table", 'name = "x", kind = "array", dataset = "trainxdata"')
    return Layout(_says("counts samples", "np.moveaxis"), schema, rows_of("train", x=data["trainxdata"]))


@case("allenai/allennlp: elmo command (0, 1, … of (3, tokens, width), sentence_to_index)", option=True)
def layers_of_sentences(folder: Path) -> Layout:
    """Three layers are no three frames, and a sentence is no column; a schema makes each a sample."""
    sentences = [numbers(n, 3, 4 + n, 16) for n in range(5)]
    with h5py.File(folder / "elmo.hdf5", "w") as root:
        for number, sentence in enumerate(sentences):
            root[str(number)] = sentence
        root.create_dataset("sentence_to_index", data=['{"a": "0"}'], dtype=h5py.string_dtype())
    field = 'name = "values", kind = "array", dataset = "{video}", shape = [-1, 0, -1]'
    videos = [Video(str(number), {"values": Array(sentence[None])}) for number, sentence in enumerate(sentences)]
    return Layout(_says(field), _schema(folder, "groups", field), Serves(videos))


@case("seisbench/seisbench: data/base.py (data/bucket0, … of (rows, channels, samples))", option=True)
def buckets_of_rows(folder: Path) -> Layout:
    """Each bucket has rows of its own length; one row less than another is no sign of actions between frames."""
    buckets = [numbers(number, 7 - number, 3, 40 + 10 * number) for number in range(3)]
    with h5py.File(folder / "waveforms.hdf5", "w") as root:
        for number, bucket in enumerate(buckets):
            root[f"data/bucket{number}"] = bucket
    field = 'name = "values", kind = "array", dataset = "{video}"'
    videos = [Video(f"data/bucket{number}", {"values": Array(bucket)}) for number, bucket in enumerate(buckets)]
    return Layout(_says("videos of their own", field), _schema(folder, "groups", field), Serves(videos))


@case("ruotianluo/ImageCaptioning.pytorch: prepro_labels.py (labels, label_length, label_start_ix, …)", option=True)
def captions_of_images(folder: Path) -> Layout:
    """Captions are called labels, and are what a schema for their rows has."""
    rows = {"labels": whole(1, 9, 16, dtype="u4"), "label_length": whole(2, 9, dtype="u4")}
    starts = np.array([1, 5, 8], "u4")
    table(folder / "cocotalk_label.h5", {**rows, "label_start_ix": starts, "label_end_ix": starts + 1})
    fields = [f'name = "{name}", kind = "array", dataset = "{name}"' for name in rows]
    return Layout(_says(*fields), _schema(folder, "table", *fields), rows_of("cocotalk_label", **rows))


@case("pdebench/PDEBench: gen_diff_sorp.py (0000/data (T, X, 1), 0000/grid/t)")
def lines_in_time(folder: Path) -> Serves:
    """Times below a group count the first axis of what lies in it, so that it is no picture of one channel."""
    videos = []
    with h5py.File(folder / "1D_diff-sorp.h5", "w") as root:
        for number in range(3):
            parts = {"data": numbers(number, 6, 20, 1), "grid/x": numbers(9, 20), "grid/t": numbers(8, 6)}
            for name, values in parts.items():
                root[f"{number:04}/{name}"] = values
            fields: dict[str, Form] = {"data": Array(parts["data"]), "t": Array(parts["grid/t"])}
            videos.append(Video(f"{number:04}", {**fields, "x": Value(parts["grid/x"])}))
    return Serves(videos)


@case("BigEarthNet as HDF5: a group a patch, bands of three sizes", option=True)
def bands_of_patches(folder: Path) -> Layout:
    """A patch is one sample of all bands, whatever their sizes; the schema that is shown says so."""
    videos = []
    with h5py.File(folder / "ben.h5", "w") as root:
        for number in range(3):
            bands = {f"B0{band}": whole(number, side, side, dtype="u2") for band, side in ((1, 20), (2, 60), (5, 30))}
            for name, band in bands.items():
                root[f"S2A_{number}_{45 + number}/{name}"] = band
            fields: dict[str, Form] = {name: Array(band[None]) for name, band in bands.items()}
            videos.append(Video(f"S2A_{number}_{45 + number}", fields))
    fields_ = [
        f'name = "B0{band}", kind = "array", dataset = "{{video}}/B0{band}", shape = [-1, -1]' for band in (1, 2, 5)
    ]
    return Layout(_says(*fields_), _schema(folder, "groups", *fields_), Serves(videos))


@case("no one project: ratings of users and items as columns, beside features of the items", option=True)
def ratings_beside_items(folder: Path) -> Layout:
    """The larger of two tables is not left out because the other one has matrices."""
    columns = {name: whole(seed, 90) for seed, name in enumerate(("item_ids", "times", "user_ids"))}
    columns["ratings"] = numbers(4, 90)
    table(folder / "ml.h5", {**columns, "item_features": numbers(5, 20, 8)})
    fields = [f'name = "{name}", kind = "array", dataset = "{name}"' for name in sorted(columns)]
    return Layout(_says(fields[0], "item_features"), _schema(folder, "table", *fields), rows_of("ml", **columns))


@case(
    "vlfeat/matconvnet: examples/imagenet/cnn_imagenet_setup_data.m (images/data, labels, set), kept as v7.3",
    option=True,
)
def sets_by_number(folder: Path) -> Layout:
    """Numbers in a column called set may be splits: said, with the option that serves one alone."""
    columns = {
        "data": numbers(1, 9, 3, 8, 8),
        "labels": whole(2, 9, 1).astype("f8"),
        "set": np.array([[1.0]] * 6 + [[3.0]] * 3),
    }
    table(folder / "imdb.mat", {f"images/{name}": values for name, values in columns.items()})
    rows = rows_of("imdb", **columns)
    undeclared = Serves(
        rows.videos, "rows", says=["about 'images/set': its numbers may be splits.*--split 1 or --split 3"]
    )
    test = rows_of("imdb", **{name: values[6:] for name, values in columns.items()})
    return Layout(undeclared, {"split": "3"}, test)


@case("facebookresearch/fastMRI: test sets (complex kspace, and the mask of its columns)")
def complex_beside_a_mask(folder: Path) -> Refused:
    """A mask of columns is not what the file holds."""
    kspace = (numbers(1, 5, 4, 32, 24) + 1j * numbers(2, 5, 4, 32, 24)).astype(np.complex64)
    table(folder / "file1.h5", {"kspace": kspace, "mask": numbers(3, 24)})
    return _says("complex numbers are not served", 'dataset = "mask"')


@case("ECMWF ERA5 as NetCDF4: t2m int16 with scale_factor, add_offset and _FillValue")
def packed_numbers(folder: Path) -> Serves:
    """Numbers are served as stored, and what they stand for is said."""
    columns = {"t2m": whole(1, 20, 6, 7, dtype="i2"), "time": np.arange(20)}
    table(folder / "era5.nc", columns)
    with h5py.File(folder / "era5.nc", "a") as root:
        root["t2m"].attrs.update(scale_factor=0.001, add_offset=273.15, _FillValue=np.int16(-32767))
    says = [r"about 't2m': .* number \* 0.001 \+ 273.15, and -32767 stands for"]
    return Serves(rows_of("era5", **columns).videos, "rows", says=says)


@case("UniProt: per-protein.h5 (an id each, one vector of one length)", option=True)
def embeddings_by_id(folder: Path) -> Layout:
    """Vectors of one length may be a sample each: the schema that is shown makes them such."""
    vectors = {f"A0A{number:03}X{number}": numbers(number, 24) for number in range(20)}
    table(folder / "per-protein.h5", vectors)
    field = 'name = "values", kind = "array", dataset = "{video}", shape = [24]'
    frames = Serves([Video(name, {"*": Array(vector)}) for name, vector in vectors.items()], says=[r"shape = \[-1\]"])
    samples = Serves([Video(name, {"values": Array(vector[None])}) for name, vector in vectors.items()])
    return Layout(frames, _schema(folder, "groups", field), samples)


@case("INGV/instance: data/<trace> (3, samples), all of one length", option=True)
def channels_of_traces(folder: Path) -> Layout:
    """Three channels may be a sample; the schema that is shown makes them such."""
    traces = {f"data/1002{number}.IV.ACER..HH": numbers(number, 3, 60) for number in range(6)}
    table(folder / "events.hdf5", traces)
    field = 'name = "values", kind = "array", dataset = "{video}", shape = [-1, -1]'
    frames = Serves(
        [Video(name, {"*": Array(each)}) for name, each in traces.items()], says=["3 rows of 60", r"\[-1, -1"]
    )
    samples = Serves([Video(name, {"values": Array(trace[None])}) for name, trace in traces.items()])
    return Layout(frames, _schema(folder, "groups", field), samples)


@case("no one project: targets of a regression called label, some of them unknown", option=True)
def unknown_labels(folder: Path) -> Layout:
    """A label that is no number is refused, and served by another name."""
    label = np.where(np.arange(6) == 2, np.nan, np.arange(6.0))
    table(folder / "a.h5", {"x": numbers(1, 6, 3), "label": label})
    field = 'name = "target", kind = "array", dataset = "label"'
    schema = _schema(folder, "table", 'name = "x", kind = "array", dataset = "x"', field)
    says = Refused(["entry 2 of 'label'.*name = \"target\".*--schema FILE"])
    return Layout(says, schema, rows_of("a", x=numbers(1, 6, 3), target=label))


@case("pandas-dev/pandas: DataFrame.to_hdf (fixed) with a column of texts, pickled as vlen bytes", option=True)
def pickled_texts(folder: Path) -> Layout:
    """Bytes that are no images do not keep the numbers beside them from being served by a schema."""
    table(folder / "df.h5", {"df/block0_values": numbers(1, 6, 3)})
    with h5py.File(folder / "df.h5", "a") as root:
        root.create_dataset("df/block1_values", (1,), h5py.vlen_dtype(np.uint8))[0] = np.frombuffer(
            pickle.dumps(["a", "b"] * 40), np.uint8
        )
    schema = _schema(folder, "table", 'name = "x", kind = "array", dataset = "df/block0_values"')
    return Layout(Refused(["raw bytes", "--schema FILE"]), schema, rows_of("df", x=numbers(1, 6, 3)))


@case("sound event detection (SELD): a file a clip, with feature (channels, times, bands)", option=True)
def features_by_file(folder: Path) -> Layout:
    """Channels are rows of each file, and the schema that makes a file one sample is said."""
    features = [numbers(number, 7, 50, 16) for number in range(3)]
    for number, feature in enumerate(features):
        table(folder / f"mix{number}.h5", {"feature": feature})
    field = 'name = "feature", kind = "array", dataset = "feature", shape = [0, 0, 0]'
    rows = [Video(f"mix{number}", {"feature": Array(feature)}) for number, feature in enumerate(features)]
    samples = [Video(f"mix{number}", {"feature": Array(feature[None])}) for number, feature in enumerate(features)]
    says = ["each of 3 files has 7 rows.*" + field.replace("[", r"\[")]
    return Layout(Serves(rows, "rows", says=says), _schema(folder, "files", field), Serves(samples))


@case("text classification: texts and labels as columns, and nothing else", option=True)
def texts_with_labels(folder: Path) -> Layout:
    """Texts alone are no table that is found; the refusal has the schema that serves them."""
    columns = {"label": whole(1, 6, below=2), "text": np.array([b"good", b"bad"] * 3)}
    table(folder / "reviews.h5", columns)
    fields = [f'name = "{name}", kind = "array", dataset = "{name}"' for name in columns]
    return Layout(_says(*fields), _schema(folder, "table", *fields), rows_of("reviews", **columns))


@case("speech as mu-law bytes: a dataset of uint8 for each utterance", option=True)
def bytes_by_utterance(folder: Path) -> Layout:
    """Bytes of any length are asked about, with the schema that makes each a recording."""
    sounds = {f"utt_{number:03}": whole(number, 300 + number, below=256, dtype="u1") for number in range(4)}
    table(folder / "speech.h5", sounds)
    field = 'name = "values", kind = "array", dataset = "{video}"'
    served = Serves([Video(name, {"values": Array(sound)}) for name, sound in sounds.items()])
    return Layout(_says(field), _schema(folder, "groups", field), served)


@case("no one project: grey pictures of any size, a dataset each (0007.png)", option=True)
def grey_pictures_by_name(folder: Path) -> Layout:
    """Lines of pictures do not count anything; the schema that is shown makes each a sample."""
    pictures = {f"{number:04}.png": whole(number, 30 + number, 40, below=256, dtype="u1") for number in (7, 8, 9)}
    table(folder / "photos.h5", pictures)
    field = 'name = "values", kind = "array", dataset = "{video}", shape = [0, -1]'
    served = Serves([Video(name, {"values": Array(picture[None])}) for name, picture in pictures.items()])
    return Layout(_says(field), _schema(folder, "groups", field), served)
