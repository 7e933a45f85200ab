"""Datasets and groups that numbers alone name: matrices, regions of pictures, reactions beside their ends."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from tests.public_layouts.columns import write
from tests.public_layouts.expectations import Array, Layout, Refused, Serves, Values, Video, case
from tests.public_layouts.pictures import pixels
from tests.public_layouts.robots import numbers


@case("mzjb/DeepH-pack: deeph/preprocess/abacus_get_data.py (hamiltonians.h5, a matrix each pair of atoms)")
def matrices_by_lists_of_numbers(folder: Path) -> Refused:
    """A matrix by cell and atoms is a sample: all of one size were columns of one table of their lines."""
    keys = [f"[{x}, 0, {z}, {one}, {two}]" for x in (-1, 0, 1) for z in (0, 1) for one in (1, 2) for two in (1, 2)]
    write(folder / "hamiltonians.h5", {key: numbers(n, 13, 13).astype("f8") for n, key in enumerate(keys)})
    return Refused(["24 matrices", "a sample each", "videos of their own"])


@case("luo3300612/image-captioning-DLCT: others/extract_region_feature.py, align (139_features, _boxes, _grids, _size)")
def regions_and_grids_of_each_picture(folder: Path) -> Refused:
    """Names with one number, whose rows do not agree, are asked about by number, and not as cameras."""
    parts: dict[str, Values] = {}
    for count, number in ((7, 139), (5, 285), (9, 632)):
        parts |= {f"{number}_features": numbers(number, count, 16), f"{number}_boxes": numbers(number + 1, count, 4)}
        parts |= {f"{number}_grids": numbers(number + 2, 49, 16), f"{number}_size": np.array([[640, 480]])}
    write(folder / "all_X101.hdf5", parts)
    return Refused(["one sample for each number", r"\{video\}_grids", "by rows of '{video}_boxes'"])


@case("matschreiner/Transition1x: <formula>/<reaction>/positions beside {reactant,product}/positions of one frame")
def reactions_with_their_ends(folder: Path) -> Refused:
    """The schema for rows of a reaction names first what its ends lack: its groups are those of reactions alone."""
    parts: dict[str, Values] = {}
    for formula, atoms in (("C2H4", 6), ("C3H6", 9)):
        for reaction, frames in (("rxn0", 8), ("rxn1", 9)):
            root = f"data/{formula}/{reaction}"
            parts |= {f"{root}/positions": numbers(frames, frames, atoms, 3), f"{root}/energy": numbers(1, frames)}
            parts[f"{root}/atomization_energy"] = numbers(2, frames)
            for end in ("reactant", "product"):
                parts |= {f"{root}/{end}/positions": numbers(3, 1, atoms, 3), f"{root}/{end}/energy": numbers(4, 1)}
    write(folder / "Transition1x.h5", parts)
    return Refused(["rows of 'data/C2H4/rxn0/positions'", r'`field = \[\{name = "atomization_energy"'])


def _systems(path: Path, lengths: Sequence[int]) -> dict[str, Values]:
    """Write two systems as DeePMD-kit has them in HDF5, and return the datasets."""
    parts: dict[str, Values] = {}
    for system, atoms in (("water/data_0", 5), ("water/data_1", 7)):
        for number, frames in enumerate(lengths):
            root = f"{system}/set.{number:03}"
            parts |= {f"{root}/coord.npy": numbers(frames + number, frames, 3 * atoms)}
            parts |= {f"{root}/box.npy": numbers(number, frames, 9), f"{root}/energy.npy": numbers(number, frames)}
        parts[f"{system}/type.raw"] = np.arange(atoms) % 2
    write(path, parts)
    return parts


@case("deepmodeling/deepmd-kit: deepmd/utils/path.py (<system>/set.000/coord.npy, set.001/coord.npy)", option=True)
def portions_of_a_system(folder: Path) -> Layout:
    """Portions of as many frames are fields of one row, with a line that has the schema for a video of each."""
    parts = _systems(folder / "data.hdf5", (6, 6))
    names = ("box.npy", "coord.npy", "energy.npy")
    systems = ("water/data_0", "water/data_1")
    whole = [
        Video(
            system,
            {f"set.{n:03}/{name}": Array(parts[f"{system}/set.{n:03}/{name}"]) for n in (0, 1) for name in names},
        )
        for system in systems
    ]
    each = [
        Video(f"{system}/set.{n:03}", {name: Array(parts[f"{system}/set.{n:03}/{name}"]) for name in names})
        for system in systems
        for n in (0, 1)
    ]
    fields = ", ".join(f'{{name = "{name}", kind = "array", dataset = "{{video}}/{name}"}}' for name in names)
    (folder / "sets.toml").write_text(f'videos = "groups"\nfield = [{fields}]\n')
    undeclared = Serves(whole, left_out=["type.raw", "called as portions of rows that follow each other"])
    return Layout(undeclared, {"schema": "./sets.toml"}, Serves(each))


@case("deepmodeling/deepmd-kit: a last set of fewer frames")
def portions_of_unlike_length(folder: Path) -> Refused:
    _systems(folder / "data.hdf5", (6, 4))
    return Refused(["a video each of the groups such as 'water/data_0/set.000'", r"\{video\}/coord.npy"])


@case("metocean converters: <quantity>/<number> (rows, columns), time, 'row coordinate [m]', 'col coordinate [m]'")
def maps_with_their_coordinates(folder: Path) -> Refused:
    """Maps by number, of several quantities, were columns of one table, as one coordinate has an entry a line."""
    maps: dict[str, Values] = {f"{name}/{n}": numbers(n, 12, 14) for name in ("rain", "wind") for n in range(8)}
    places = {"time": np.arange(8.0), "row coordinate [m]": np.arange(12.0), "col coordinate [m]": np.arange(14.0)}
    write(folder / "a.h5", maps | places)
    return Refused(["one video, of which each number is a frame", 'dataset = "rain/\\*"'])


@case("no one project: maps of one quantity by number, beside their coordinates")
def maps_of_one_quantity(folder: Path) -> Refused:
    maps: dict[str, Values] = {f"rain/{n}": numbers(n, 12, 14) for n in range(8)}
    write(folder / "a.h5", maps | {"row": np.arange(12.0), "col": np.arange(14.0)})
    return Refused(["8 matrices", "one video, of which each number is a frame", "a sample each"])


@case("CheXpert and other packs: data.hdf5 (0, 1, …: a picture each)", option=True)
def pictures_by_number_alone(folder: Path) -> Layout:
    """Pictures of nothing but numbers are frames, with the line that makes each a sample."""
    pictures = pixels(3, 11, 16, 16)
    write(folder / "data.hdf5", {str(n): picture for n, picture in enumerate(pictures)})
    (folder / "each.toml").write_text(
        'videos = "groups"\nfield = [{name = "values", kind = "image", dataset = "{video}", shape = [-1, -1, 3]}]\n'
    )
    samples = [Video(str(n), {"values": Array(picture[None])}) for n, picture in enumerate(pictures)]
    undeclared = Serves([Video("*", {"frames": Array(pictures)})], left_out=["taken for frames.*a sample of its own"])
    return Layout(undeclared, {"schema": "./each.toml"}, Serves(samples))


@case("keypoint extractors: <video>/frame_0, frame_1, … (1629,), of as many frames by chance", option=True)
def keypoints_a_dataset_each(folder: Path) -> Layout:
    """The schema of the line about pairs has the frames of each video, by their pattern."""
    points = {name: numbers(n, 6, 33).astype("f8") for n, name in enumerate(("hello.mp4", "thanks.mp4"))}
    write(folder / "k.h5", {f"{name}/frame_{n}": each for name, rows in points.items() for n, each in enumerate(rows)})
    fields = ", ".join(
        f'{{name = "{name}_frame", kind = "array", dataset = "{name}/frame_*", shape = [-1]}}' for name in points
    )
    (folder / "pairs.toml").write_text(f'videos = "files"\nfield = [{fields}]\n')
    line = r"belongs to row n of the other, `videos = \"files\"`.*hello.mp4/frame_\*"
    apart = Serves([Video(name, {"frame": Array(rows)}) for name, rows in points.items()], left_out=[line])
    together = Video("*", {f"{name}_frame": Array(rows) for name, rows in points.items()})
    return Layout(apart, {"schema": "./pairs.toml"}, Serves([together]))


@case(
    "alexandria packs: atomic_number/<n> (atoms,), frac_coord/<n> (atoms, 3) beside lattice_matrix (structures, 3, 3)"
)
def structures_beside_their_lattices(folder: Path) -> Refused:
    """A structure of as many atoms as there are structures is no column of their lattices: a sibling has another."""
    parts: dict[str, Values] = {"lattice_matrix": numbers(1, 6, 3, 3)}
    for number, atoms in enumerate((3, 4, 5, 6, 3, 4)):
        parts |= {f"atomic_number/{number}": np.arange(atoms), f"frac_coord/{number}": numbers(number, atoms, 3)}
    write(folder / "a.h5", parts)
    alone = r'`field = \[\{name = "lattice_matrix", kind = "array", dataset = "lattice_matrix"\}\]`'
    return Refused(
        [f"rows of 'lattice_matrix', `videos = \"table\"` and {alone}", "samples with an array in each group"]
    )
