"""Files of known benchmarks and programs whose axes and groups mean something else than their like elsewhere."""

from __future__ import annotations

from pathlib import Path

import h5py
import numpy as np

from tests.public_layouts.columns import table, whole
from tests.public_layouts.expectations import Array, Encoded, Layout, Refused, Serves, Video, case
from tests.public_layouts.pictures import jpeg, pixels
from tests.public_layouts.robots import numbers


@case("Bitplane Imaris 5: DataSet/ResolutionLevel 0/TimePoint 0/Channel 0/Data, with coarser copies")
def imaris(folder: Path) -> Serves:
    """A coarser copy is no second video."""
    videos = []
    with h5py.File(folder / "a.ims", "w") as root:
        for level in range(2):
            for time in range(3):
                for channel in range(2):
                    data = whole(10 * time + channel, 4, 32 >> level, 32 >> level, below=256, dtype="u1")
                    group = root.create_group(
                        f"DataSet/ResolutionLevel {level}/TimePoint {time}/Channel {channel}",
                    )
                    group["Data"], group["Histogram"] = data, np.arange(256, dtype=np.uint64)
    for time in range(3):
        fields = {
            f"Channel {channel}/Data": Array(whole(10 * time + channel, 4, 32, 32, below=256, dtype="u1"))
            for channel in range(2)
        }
        videos.append(Video(f"DataSet/ResolutionLevel 0/TimePoint {time}", fields))
    return Serves(videos, left_out=["ResolutionLevel 1.*coarser copy", "Histogram"])


@case("hyperspectral benchmarks as HDF5 (indian_pines_corrected, indian_pines_gt)", option=True)
def hyperspectral_scene(folder: Path) -> Layout:
    """Lines of a picture of many bands, beside a map of its classes, are asked about before they are rows."""
    cube, truth = whole(1, 45, 45, 20, dtype="u2"), whole(2, 45, 45, below=17, dtype="u1")
    names = ("indian_pines_corrected", "indian_pines_gt")
    table(folder / "scene.h5", dict(zip(names, (cube, truth), strict=True)))
    fields = [
        f'name = "{name}", kind = "array", dataset = "{name}", shape = {list(data.shape)}'
        for name, data in zip(names, (cube, truth), strict=True)
    ]
    (folder / "schema.toml").write_text(f'videos = "files"\nfield = [{{{"}, {".join(fields)}}}]\n')
    declared = Serves(
        [Video("scene", {name: Array(data[None]) for name, data in zip(names, (cube, truth), strict=True)})]
    )
    says = ["rows of a table", "one picture", r"shape = \[-1, -1, -1\]"]
    return Layout(Refused(says), {"schema": "./schema.toml"}, declared)


@case("NASA HDF-EOS5 grids: HDFEOS/GRIDS/<grid>/Data Fields, XDim, YDim")
def grids_of_the_earth(folder: Path) -> Refused:
    """Latitudes of a map are no rows of a table, although a map may be square."""
    root = "HDFEOS/GRIDS/VNP_Grid_BRDF"
    maps = {f"{root}/Data Fields/BRDF": numbers(1, 24, 24, 3), f"{root}/Data Fields/QA": whole(2, 24, 24, dtype="u1")}
    table(folder / "vnp43.h5", {**maps, f"{root}/XDim": np.arange(24.0), f"{root}/YDim": np.arange(24.0)})
    return Refused(["rows of a table", "one picture", r"shape = \[-1, -1, 3\]"])


@case("basveeling/pcam: x (N, 96, 96, 3) and y (N, 1, 1, 1), in one file")
def patch_camelyon(folder: Path) -> Serves:
    """A label of one byte is no picture of one pixel."""
    x, y = pixels(1, 12, 32, 32), whole(2, 12, 1, 1, 1, below=2, dtype="u1")
    return table(folder / "train.h5", {"x": x, "y": y})


@case("Moving MNIST as published, kept as HDF5: mnist_test_seq (times, videos, height, width)")
def moving_mnist_times_first(folder: Path) -> Serves:
    """Nothing but the shape tells; the other reading is said."""
    data = whole(1, 20, 50, 16, 16, below=256, dtype="u1")
    return Serves(table(folder / "mnist.h5", {"data": data}).videos, "rows", says=["about 'data'.*np.moveaxis"])


@case("ImageNet as groups by class (n01440764/n01440764_3.JPEG)")
def imagenet_by_class(folder: Path) -> Serves:
    """Numbers alone tell the classes apart, and the option that makes labels of them is said."""
    names = [f"{wnid}/{wnid}_{17 * number + 3}.JPEG" for wnid in ("n01440764", "n01443537") for number in range(3)]
    with h5py.File(folder / "val.h5", "w") as root:
        for seed, name in enumerate(names):
            root[name] = np.void(jpeg(seed))
    videos = [Video(name, {"frames": Encoded([jpeg(seed)])}) for seed, name in enumerate(names)]
    return Serves(videos, says=[r"--label '\{group\}'"])


@case("DeepLabCut: a compound table of pandas beside numbers of one's own")
def compound_beside_numbers(folder: Path) -> Serves:
    """What helps with compound elements is said also where something else is served."""
    with h5py.File(folder / "dlc.h5", "w") as root:
        root["speeds"] = numbers(1, 50, 4)
        root["df_with_missing/table"] = np.zeros(50, [("index", "i8"), ("values_block_0", "f8", (12,))])
    return Serves([Video("dlc", {"speeds": Array(numbers(1, 50, 4))})], "rows", left_out=["Compound tables"])
