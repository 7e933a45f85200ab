"""Files that are one sample each, tables without pictures, sparse matrices, and HDF5 that is no data at all."""

from __future__ import annotations

from pathlib import Path

import h5py
import numpy as np

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
from tests.public_layouts.pictures import encoded, pixels
from tests.public_layouts.robots import numbers


@case("apple/ml-hypersim: frame.0000.color.hdf5 (dataset), frame.0000.depth_meters.hdf5")
def hypersim(folder: Path) -> Serves:
    """A file a picture, ``dataset (height, width, 3) float16``: a sample, whose lines are no rows."""
    place = folder / "ai_001_001" / "images" / "scene_cam_00_final_hdf5"
    place.mkdir(parents=True)
    videos = []
    for number in range(3):
        picture = numbers(number, 18, 24, 3).astype(np.float16)
        with h5py.File(place / f"frame.{number:04d}.color.hdf5", "w") as root:
            root.create_dataset("dataset", data=picture, compression="gzip")
        videos.append(Video(f"frame.{number:04d}.color", {"*": Array(picture[None])}))
    return Serves(videos, kind="rows|videos", otherwise=Refused(["dataset", "--schema"]))


@case("fangchangma/sparse-to-dense.pytorch: dataloaders/dataloader.py (rgb, depth)")
def sparse_to_dense(folder: Path) -> Serves:
    """A file a sample: ``rgb (3, height, width)`` and ``depth (height, width)``; three channels are no three frames."""
    videos = []
    for number in range(3):
        rgb, depth = pixels(1200 + number, 1, 16, 24)[0].transpose(2, 0, 1), numbers(number, 16, 24)
        (folder / "bathroom_0001").mkdir(exist_ok=True)
        with h5py.File(folder / "bathroom_0001" / f"{number + 1:05d}.h5", "w") as root:
            root["rgb"], root["depth"] = rgb, depth
        videos.append(Video(f"{number + 1:05d}", {"rgb": Array(rgb[None]), "depth": Array(depth[None])}))
    return Serves(videos, kind="rows|videos", otherwise=Refused(["rgb", "depth", "--schema"]))


@case("leeyeehoo/CSRNet-pytorch: make_dataset.ipynb (density)")
def density_maps(folder: Path) -> Serves:
    """A file a picture, one map ``(height, width)``, whose sides differ."""
    videos = []
    for number in range(3):
        density = numbers(number, 16 + number, 24).astype(np.float64)
        with h5py.File(folder / f"IMG_{number + 1}.h5", "w") as root:
            root["density"] = density
        videos.append(Video(f"IMG_{number + 1}", {"density": Array(density[None])}))
    return Serves(videos, kind="rows|videos", otherwise=Refused(["density", "--schema"]))


@case("talmolab/sleap: sleap/io/video.py (packages, video0/video)")
def sleap_package(folder: Path) -> Serves:
    """PNGs as vlen *int8*, a group a video, with the frames' numbers; sides and format are attributes."""
    videos = []
    with h5py.File(folder / "labels.pkg.slp", "w") as root:
        for number in range(2):
            frames = [encoded(1210 + 10 * number + frame, "PNG") for frame in range(3)]
            pictures = root.create_dataset(f"video{number}/video", (3,), h5py.vlen_dtype(np.int8))
            for frame, data in enumerate(frames):
                pictures[frame] = np.frombuffer(data, np.int8)
            pictures.attrs["format"], pictures.attrs["channels"], pictures.attrs["height"] = "png", 3, 24
            root[f"video{number}/frame_numbers"] = np.array([5, 90, 700])
            fields: dict[str, Form] = {"frames": Encoded(frames), "frame_numbers": Array(np.array([5, 90, 700]))}
            videos.append(Video(f"video{number}", fields))
    return Serves(videos)


@case("CMU-MultiComp-Lab/CMU-MultimodalSDK: mmdatasdk/computational_sequence")
def cmu_mosei(folder: Path) -> Serves:
    """``<sequence>/data/<video>/features`` with ``intervals``; metadata are texts of shape ``(1,)``."""
    videos = []
    with h5py.File(folder / "CMU_MOSEI_COVAREP.csd", "w") as root:
        for number, name in enumerate(("-3g5yACwYnA", "-3nNcZdcdvU", "-9y-fZ3swSY")):
            place = f"COVAREP/data/{name}"
            root[f"{place}/features"], root[f"{place}/intervals"] = (
                numbers(number, 5 + number, 7),
                numbers(9, 5 + number, 2),
            )
            fields = {"features": Array(numbers(number, 5 + number, 7)), "intervals": Array(numbers(9, 5 + number, 2))}
            videos.append(Video(place, fields))
        root.create_dataset("COVAREP/metadata/md5", data=['"0123"'], dtype=h5py.string_dtype())
    return Serves(videos, left_out=["metadata/md5"])


@case("facebookresearch/clevr-iep: scripts/preprocess_questions.py")
def clevr_questions(folder: Path) -> Serves:
    """A table of questions, with the number of the image that each is about, which lies in another file."""
    columns: dict[str, Values] = {"questions": np.arange(60).reshape(6, 10), "image_idxs": np.arange(6) // 2}
    columns |= {"answers": np.arange(6), "programs": np.arange(48).reshape(6, 8)}
    with h5py.File(folder / "train_questions.h5", "w") as root:
        for name, values in columns.items():
            root[name] = values
    return rows_of("train_questions", **columns)


@case("netCDF4 (Unidata): ERA5 and WeatherBench files, with dimension scales")
def netcdf(folder: Path) -> Serves:
    """Times first; scales of places have the length of other axes, and are listed."""
    values, times = numbers(1, 9, 6, 8), np.arange(9, dtype=np.int32)
    with h5py.File(folder / "2m_temperature_1979.nc", "w") as root:
        root["t2m"], root["time"] = values, times
        root["latitude"], root["longitude"] = numbers(2, 6), numbers(3, 8)
        for axis, name in enumerate(("time", "latitude", "longitude")):
            root[name].make_scale(name)
            root["t2m"].dims[axis].attach_scale(root[name])
    table = Video("2m_temperature_1979", {"t2m": Array(values), "time": Array(times)})
    return Serves([table], kind="rows|videos", left_out=["latitude", "longitude"])


@case("scverse/anndata: h5ad, dense X")
def anndata_dense(folder: Path) -> Serves:
    """A matrix of cells and genes; columns of cells are aligned, columns of genes are listed."""
    with h5py.File(folder / "cells.h5ad", "w") as root:
        root["X"], root["obs/n_genes"] = numbers(1, 9, 12), np.arange(9)
        root["obs/leiden/codes"], root["obs/leiden/categories"] = np.arange(9, dtype=np.int8) % 3, [b"0", b"1", b"2"]
        root["var/highly_variable"] = np.arange(12) % 2 == 0
    fields: dict[str, Form] = {"X": Array(numbers(1, 9, 12)), "n_genes": Array(np.arange(9))}
    table = Video("cells", {**fields, "codes": Array(np.arange(9, dtype=np.int8) % 3)})
    return Serves([table], kind="rows", left_out=["categories", "highly_variable"])


@case("scverse/anndata: h5ad, sparse X (data, indices, indptr)")
def anndata_sparse(folder: Path) -> Refused:
    """A sparse matrix is three arrays that mean nothing alone."""
    with h5py.File(folder / "cells.h5ad", "w") as root:
        matrix = root.create_group("X")
        matrix.attrs["encoding-type"], matrix.attrs["shape"] = "csr_matrix", [4, 12]
        matrix["data"], matrix["indices"] = numbers(1, 9), np.arange(9, dtype=np.int32)
        matrix["indptr"] = np.array([0, 2, 3, 7, 9], np.int32)
        root["obs/n_genes"], root["obs/score"] = np.arange(4), numbers(2, 4)
    return Refused(["X", "sparse", "--source"])


@case("keras-team/keras: weights of a model (model.weights.h5)")
def keras_weights(folder: Path) -> Refused:
    """Weights given by mistake are refused, and are no table."""
    with h5py.File(folder / "model.weights.h5", "w") as root:
        for layer in ("conv2d", "dense"):
            root[f"layers/{layer}/vars/0"], root[f"layers/{layer}/vars/1"] = numbers(1, 8, 16), numbers(2, 16)
        root["optimizer/vars/0"] = np.int64(5)
    return Refused(["layers/conv2d", "weights|no data|--schema"])


@case("Two-stream features kept together (rgb and flow by video, THUMOS and Charades I3D)")
def two_stream_features(folder: Path) -> Serves:
    """``<video>/rgb`` and ``<video>/flow``, of one length in each: fields of one video."""
    videos = []
    with h5py.File(folder / "i3d.h5", "w") as root:
        for number in range(3):
            rgb, flow = numbers(number, 5 + number, 16), numbers(number + 9, 5 + number, 16)
            root[f"video_{number}/rgb"], root[f"video_{number}/flow"] = rgb, flow
            videos.append(Video(f"video_{number}", {"rgb": Array(rgb), "flow": Array(flow)}))
    return Serves(videos)


@case("Lists of files instead of pictures (captioning exercises)")
def paths_instead_of_pictures(folder: Path) -> Refused:
    """Paths of pictures are no pictures: said, with what helps."""
    with h5py.File(folder / "train.h5", "w") as root:
        root["image_path"], root["label"] = ["a/1.jpg", "b/2.jpg", "b/3.jpg"], np.array([0, 1, 1])
    return Refused(["image_path", "path|text", "pack|--source"])


@case("no one project: an embedding of each object, a file each (object_feats, scene_name)", option=True)
def embeddings_a_file_each(folder: Path) -> Layout:
    """Numbers in time are served; as many in each file have the schema that makes them one sample."""
    vectors = [numbers(number, 24) for number in range(3)]
    for number, vector in enumerate(vectors):
        with h5py.File(folder / f"object_{number}.h5", "w") as root:
            root["object_feats"], root["scene_name"] = vector, "room_1"
    (folder / "one.toml").write_text(
        'videos = "files"\nfield = [{name = "object_feats", kind = "array", dataset = "object_feats", shape = [-1]}]\n'
    )
    videos = [
        Video(f"object_{n}", {"object_feats": Array(vector), "scene_name": Value("room_1")})
        for n, vector in enumerate(vectors)
    ]
    samples = [Video(f"object_{n}", {"object_feats": Array(vector[None])}) for n, vector in enumerate(vectors)]
    undeclared = Serves(videos, says=["each of 3 videos is 24 numbers.*one sample", r'videos = "files"'])
    return Layout(undeclared, {"schema": "./one.toml"}, Serves(samples))
