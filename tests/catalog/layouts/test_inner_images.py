"""Images that begin behind the first byte of their element are refused by their place, and are never numbers."""

from __future__ import annotations

import pickle
import struct

import h5py
import numpy as np
import pytest

from loader_service.catalog.layouts.inner_images import image_inside
from loader_service.errors import CatalogError
from tests.public_layouts.pictures import encoded, jpegs, padded, write_vlen
from tests.support.catalogs import catalog_of

_JPEGS = jpegs(1, 5)
_PNGS = [encoded(seed, "PNG") for seed in range(5)]


def _behind(start, frames):
    return [(start or struct.pack("<I", len(frame))) + frame for frame in frames]


def _write_rows(root, frames):
    root["frames"], root["actions"] = padded(frames), np.zeros((len(frames), 4))


def _write_groups(root, frames):
    for number in range(2):
        root[f"v{number}/frames"] = padded(frames[number:])


def _write_strings(root, frames):
    root["frames"], root["actions"] = np.array(frames), np.zeros((len(frames), 4))


def _write_opaque(root, frames):
    root["frames"] = np.array([np.void(frame.ljust(max(map(len, frames)), b"\0")) for frame in frames])


def _write_each(root, frames):
    for number, frame in enumerate(frames):
        root[f"frames/{number}"] = np.frombuffer(frame, np.uint8)


_WRITERS = {
    "rows": _write_rows,
    "groups": _write_groups,
    "strings": _write_strings,
    "opaque": _write_opaque,
    "each": _write_each,
    "vlen": lambda root, frames: write_vlen(root, "frames", frames),
    "scalars": lambda root, frames: root.update({f"frames/{n}": np.void(frame) for n, frame in enumerate(frames)}),
}


@pytest.mark.parametrize("write", _WRITERS.values(), ids=_WRITERS)
@pytest.mark.parametrize("start", [b"", bytes(9), b"\x01" * 8], ids=["length", "zeros", "head"])
def test_an_image_behind_other_bytes_is_refused_by_where_it_begins(tmp_path, write, start):
    with h5py.File(tmp_path / "a.h5", "w") as root:
        write(root, _behind(start, _JPEGS))
    with pytest.raises(
        CatalogError, match=rf"frames.*found JPEG that begins behind {len(start) or 4} bytes.*vlen uint8"
    ):
        catalog_of(tmp_path)


def test_a_png_behind_a_length_and_an_image_in_a_pickle_are_so_too(tmp_path):
    for name, frames in (("a", _behind(b"", _PNGS)), ("b", [pickle.dumps(frame) for frame in _JPEGS])):
        with h5py.File(tmp_path / f"{name}.h5", "w") as root:
            _write_rows(root, frames)
        with pytest.raises(CatalogError, match=r"found (JPEG|PNG) that begins behind"):
            catalog_of(tmp_path, tmp_path / f"{name}.h5")


def test_rows_of_pixels_hold_no_image_by_chance(tmp_path):
    rng = np.random.default_rng(0)
    rows = rng.integers(0, 256, (500, 4096), np.uint8)
    rows[:, 100:104] = np.frombuffer(b"\xff\xd8\xff\xe0", np.uint8)  # how one begins, and nothing that follows
    assert not any(image_inside(row.tobytes()) for row in rows)
    with h5py.File(tmp_path / "a.h5", "w") as root:
        root["x"] = rows
    assert catalog_of(tmp_path).kind == "rows"
