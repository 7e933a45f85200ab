"""Arrays that can be read in more than one way, splits below words, and weights that are no data."""

from __future__ import annotations

from pathlib import Path

import h5py
import numpy as np

from loader_service.schema import Schema, SchemaField
from tests.public_layouts.columns import table, texts, whole, write
from tests.public_layouts.expectations import Array, Form, Layout, Refused, Serves, Value, Video, case, rows_of
from tests.public_layouts.pictures import pixels
from tests.public_layouts.robots import numbers


@case(
    "HiLab-git/SSL4MIS: code/dataloaders/acdc_data_processing.py (a slice a file: image, label, scribble)", option=True
)
def acdc_slices(folder: Path) -> Layout:
    """Matrices of one size, of which one is called an image: lines are no rows of a table, unless somebody says so."""
    samples = []
    for number in range(3):
        sides = (25, 20 + number)
        image, label = numbers(number, *sides), whole(number, *sides, below=4, dtype="u1")
        columns = {"image": image, "label": label, "scribble": label + 1}
        write(folder / f"patient001_frame01_slice_{number}.h5", columns, compression="gzip")
        fields: dict[str, Form] = {name: Array(values[None]) for name, values in columns.items()}
        samples.append(Video(f"patient001_frame01_slice_{number}", fields))
    schema = Schema(
        ("files",), tuple(SchemaField(name, "array", (name,), "", (0, 0)) for name in ("image", "label", "scribble"))
    )
    asked = Refused(
        [r'videos = "table"', r'videos = "files"', r"shape = \[-1, -1\]", "-1 is any side, 0 one that differs"]
    )
    return Layout(asked, {"schema": schema}, Serves(samples))


@case("tristandeleu/pytorch-meta: torchmeta/datasets/cifar100/base.py (coarse class/fine class)", option=True)
def pictures_by_class(folder: Path) -> Layout:
    """Classes of one size in groups of words are no fields of one table; the schema that is shown serves them."""
    videos = []
    with h5py.File(folder / "data.hdf5", "w") as root:
        for number, name in enumerate(("fish/ray", "fish/shark", "flowers/rose", "flowers/tulip")):
            root[name] = pixels(number, 5, 16, 16)
            videos.append(Video(name, {"frames": Array(pixels(number, 5, 16, 16))}))
    schema = Schema(("groups",), (SchemaField("frames", "image", ("{video}",)),))
    return Layout(Refused(['"{video}"', "fish/ray", 'videos = "table"']), {"schema": schema}, Serves(videos))


@case("tristandeleu/pytorch-meta: torchmeta/datasets/one_hundred_plants_margin.py (datasets/<class>)")
def features_by_class(folder: Path) -> Serves:
    """Features of one form under plain names may be columns: served as such, and the other reading is said."""
    columns = {f"datasets/{name}": numbers(number, 6, 8) for number, name in enumerate(("Acer", "Quercus", "Tilia"))}
    served = table(folder / "plants.hdf5", columns)
    return Serves(served.videos, "rows", says=["columns of one table", r'videos = "groups"', '"{video}"'])


@case("MUSDB18 as HDF5: a group a track, a source a dataset of (channels, samples)", option=True)
def sounds_of_two_channels(folder: Path) -> Layout:
    """Two lines of any length are two channels, and no two frames."""
    videos = []
    with h5py.File(folder / "musdb.h5", "w") as root:
        for number in range(2):
            fields: dict[str, Form] = {}
            for source in ("drums", "vocals"):
                root[f"track{number}/{source}"] = sound = numbers(number, 2, 40 + 7 * number)
                fields[source] = Array(sound[None])
            videos.append(Video(f"track{number}", fields))
    names = ("drums", "vocals")
    schema = Schema(
        ("groups",), tuple(SchemaField(each, "array", (f"{{video}}/{each}",), "", (2, 0)) for each in names)
    )
    return Layout(Refused(["2 channels", r"shape = \[-1, 0\]", "2 frames"]), {"schema": schema}, Serves(videos))


@case("Sleep-EDF as HDF5: signals/eeg/<electrode>, hypnogram", option=True)
def channels_with_numbers(folder: Path) -> Layout:
    """Few signals of one length whose names end with a number may be channels of one recording."""
    columns = {"signals/eeg/C3": numbers(1, 90), "signals/eeg/C4": numbers(2, 90)}
    write(folder / "night.h5", {**columns, "hypnogram": whole(1, 3)})
    schema = Schema(("table",), tuple(SchemaField(path[-2:], "array", (path,)) for path in columns))
    served = rows_of("night", **{path[-2:]: values for path, values in columns.items()})
    return Layout(Refused(["fields of one table", "videos of their own", "--schema"]), {"schema": schema}, served)


@case("ratschlab/HIRID-ICU-Benchmark: icu_benchmarks/data/preprocess.py (data/train, labels/train, …)", option=True)
def splits_below_words(folder: Path) -> Layout:
    """Groups say what it is, and datasets the split: columns of one table, and windows of another length a line."""
    columns = {"data": (3, "f8"), "labels": (1, "f8")}
    datasets = {"data/columns": texts("hr", "map", "spo2"), "labels/tasks": texts("mortality")}
    for split, count in (("train", 20), ("val", 8), ("test", 6)):
        for number, (name, (width, dtype)) in enumerate(columns.items()):
            datasets[f"{name}/{split}"] = numbers(number, count, width).astype(dtype)
        datasets[f"patient_windows/{split}"] = np.array([[0, count // 2, 1], [count // 2, count, 2]])
    write(folder / "ml_stage_12h.h5", datasets)
    train = {"data/train": Array(datasets["data/train"]), "labels/train": Array(datasets["labels/train"])}
    served = Serves([Video("ml_stage_12h", dict(train))], "rows", left_out=["patient_windows/train", "data/columns"])
    return Layout(Refused(["--split train", "val", "test", "20 rows"]), {"split": "train"}, served)


@case("Image sets as images/train beside labels/train and names/train", option=True)
def labels_below_words(folder: Path) -> Layout:
    """Labels and texts of a split come with its pictures."""
    datasets = {}
    for number, (split, count) in enumerate((("train", 7), ("test", 4))):
        datasets[f"images/{split}"] = pixels(number, count, 16, 16)
        datasets[f"labels/{split}"] = whole(number, count)
        datasets[f"names/{split}"] = texts(*(f"n{each}" for each in range(count)))
    write(folder / "set.h5", datasets)
    train: dict[str, Form] = {"frames": Array(datasets["images/train"])}
    train |= {f"{each}/train": Array(datasets[f"{each}/train"]) for each in ("labels", "names")}
    return Layout(Refused(["--split train", "--split test"]), {"split": "train"}, Serves([Video("set", train)]))


@case("aiqm/ANI1x_datasets: dataloader.py (a group a formula, atoms and conformations of any count)")
def molecules_of_any_size(folder: Path) -> Serves:
    """Atomic numbers are a constant of each molecule, also where one has as many atoms as conformations."""
    videos = []
    with h5py.File(folder / "ani1x.h5", "w") as root:
        for number, (name, atoms, count) in enumerate((("C1H4", 5, 4), ("C2H6", 8, 8), ("H2O1", 3, 7))):
            kinds = np.arange(atoms, dtype=np.uint8) + 1
            coordinates, energies = numbers(number, count, atoms, 3), numbers(number, count).astype(np.float64)
            root[f"{name}/atomic_numbers"], root[f"{name}/coordinates"] = kinds, coordinates
            root[f"{name}/wb97x_dz.energy"] = energies
            fields: dict[str, Form] = {"coordinates": Array(coordinates), "wb97x_dz.energy": Array(energies)}
            videos.append(Video(name, {**fields, "atomic_numbers": Value(kinds)}))
    return Serves(videos)


@case("isayev/ANI1_dataset: pyanitools.py (coordinates beside coordinatesHE, of another count)", option=True)
def molecules_with_two_counts(folder: Path) -> Layout:
    """Two counts in each group: asked, with a schema that serves all groups, and what has the same count."""
    videos = []
    with h5py.File(folder / "ani_gdb_s01.h5", "w") as root:
        for number, count in enumerate((9, 7)):
            group = root.create_group(f"gdb11_s01/gdb11_s01-{number}")
            group["coordinates"], group["coordinatesHE"] = numbers(1, count, 5, 3), numbers(2, count - 4, 5, 3)
            group["energies"], group["energiesHE"] = numbers(3, count), numbers(4, count - 4)
            fields = {"coordinates": Array(numbers(1, count, 5, 3)), "energies": Array(numbers(3, count))}
            videos.append(Video(f"gdb11_s01/gdb11_s01-{number}", dict(fields)))
    schema = Schema(
        ("groups",), tuple(SchemaField(each, "array", (f"{{video}}/{each}",)) for each in ("coordinates", "energies"))
    )
    asked = Refused([r'"{video}/coordinates"}, {name = "energies"', r'"{video}/coordinatesHE"', "--schema"])
    return Layout(asked, {"schema": schema}, Serves(videos))


@case("keras-team/keras: legacy weights (layer/layer_W_1:0) and rowanz/neural-motifs: save_net (layer.weight)")
def weights_by_layer(folder: Path) -> Refused:
    """Weights of earlier Keras, and those of PyTorch, are no table of what has as many lines by chance."""
    with h5py.File(folder / "vgg16.h5", "w") as root:
        for layer in ("block1_conv1", "block1_conv2"):
            root[f"{layer}/{layer}_W_1:0"], root[f"{layer}/{layer}_b_1:0"] = numbers(1, 3, 3, 3, 8), numbers(2, 8)
    write(folder / "vgg_relation.h5", {"features.0.weight": numbers(1, 8, 3, 3, 3), "features.0.bias": numbers(2, 8)})
    return Refused(["block1_conv1", "weights of a model"])


@case("NVIDIA/tacotron2-like packs: a mel spectrum (80, frames) by utterance", option=True)
def spectra_by_utterance(folder: Path) -> Layout:
    """As many lines each, of any length: no columns of one table, as which ids are no names."""
    videos = []
    with h5py.File(folder / "mels.h5", "w") as root:
        for number in range(3):
            name = f"LJ001-{number:04d}"
            root[name] = mel = numbers(number, 20, 40 + 7 * number)
            videos.append(Video(name, {"values": Array(mel[None])}))
    schema = Schema(("groups",), (SchemaField("values", "array", ("{video}",), "", (20, 0)),))
    asked = Refused([r"shape = \[-1, 0\]", "20 frames each", 'videos = "table"'])
    return Layout(asked, {"schema": schema}, Serves(videos))


@case("A volume with its spacing and affine (nibabel and SimpleITK exports)", option=True)
def volume_beside_its_affine(folder: Path) -> Layout:
    """Four rows of a matrix do not push the volume out."""
    volume = whole(1, 20, 24, 22, below=999, dtype="i2")
    write(folder / "scan.h5", {"data": volume, "spacing": numbers(1, 3), "affine": numbers(2, 4, 4)})
    schema = Schema(("files",), (SchemaField("data", "array", ("data",), "", (0, 0, 0)),))
    served = Serves([Video("scan", {"data": Array(volume[None])})])
    return Layout(Refused(["'data'", "'affine'", "--schema"]), {"schema": schema}, served)


@case("A table of pictures whose labels are an enumeration (h5py.enum_dtype)")
def labels_of_an_enumeration(folder: Path) -> Serves:
    """Numbers of rows are served as they are, and what they stand for is said."""
    labels = np.array([0, 1, 0, 1, 1], np.int8)
    with h5py.File(folder / "pets.h5", "w") as root:
        root["image"] = pixels(1, 5, 16, 16)
        root.create_dataset("label", data=labels, dtype=h5py.enum_dtype({"CAT": 0, "DOG": 1}, "i1"))
    served = rows_of("pets", image=pixels(1, 5, 16, 16), label=labels)
    return Serves(served.videos, "rows", left_out=["0 is 'CAT', 1 is 'DOG'"])


@case("Signals cut by start and end of each part (event detection packs)")
def parts_called_as_a_field_of_every_stream(folder: Path) -> Refused:
    """A schema that is shown has no name that every stream has: ``start``."""
    parts = {"start": np.array([0, 100, 180]), "end": np.array([100, 180, 300]), "label": whole(1, 3)}
    write(folder / "events.h5", {"signal": numbers(1, 300), **parts})
    return Refused(["'signal'", 'name = "start_of_file"', "--schema"])


@case("open2c/cooler: bins, chroms, pixels and indexes, a table each")
def tables_beside_each_other(folder: Path) -> Refused:
    """Columns called ``bin1_id`` and ``bin2_id`` are no videos, nor are those of the tables beside theirs."""
    columns = {"bins/start": np.arange(20), "bins/end": np.arange(20) + 1, "chroms/length": whole(1, 3)}
    columns |= {f"pixels/{name}": whole(2, 90) for name in ("bin1_id", "bin2_id", "count")}
    write(folder / "map.cool", {**columns, "indexes/bin1_offset": np.arange(21), "indexes/chrom_offset": np.arange(4)})
    return Refused(["pixels/bin1_id", "bins/start|bins/end", "--schema"])
