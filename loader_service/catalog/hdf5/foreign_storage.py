"""Datasets whose bytes lie in other files: refused, or, where the user allows them, made sure to be there.

HDF5 gives fill values for what such a dataset does not find, and says nothing. So the other files are looked at when a
file is scanned; what happens to them later, nobody sees.
"""

from __future__ import annotations

import math
import os
from typing import TYPE_CHECKING, Any

import h5py

from loader_service.errors import CatalogError

if TYPE_CHECKING:
    from collections.abc import Iterator


def lies_elsewhere(dataset: Any) -> bool:
    """Tell whether a dataset, an `h5py.h5d.DatasetID`, reads other files."""
    properties = dataset.get_create_plist()
    return properties.get_layout() == h5py.h5d.VIRTUAL or bool(properties.get_external_count())


def check_storage(file_path: str, path: str, dataset: Any, *, allow_external: bool) -> None:
    """Make sure that a dataset may be read, and will not be made up where it is missing.

    Parameters
    ----------
    file_path
        Of the file that holds it.
    path
        Of the dataset, inside.
    dataset
        `h5py.h5d.DatasetID`.
    allow_external
        Whether it may read other files.

    Raises
    ------
    CatalogError
        When it may not, and does; or when it does, and another file is not there or is too short.
    """
    properties = dataset.get_create_plist()
    if properties.get_layout() == h5py.h5d.VIRTUAL:
        if not allow_external:
            raise CatalogError(
                f"{path!r} is a virtual dataset, which reads other files; give those files, or a copy, or allow it "
                "with --allow-external"
            )
        _check_sources(file_path, path, set(_virtual_files(properties)))
    elif properties.get_external_count():
        if not allow_external:
            raise CatalogError(
                f"{path!r} is stored outside of its file; copy the data into this file, or allow it with "
                "--allow-external"
            )
        _check_pieces(path, properties, math.prod(dataset.shape) * dataset.get_type().get_size())


def _virtual_files(properties: Any) -> Iterator[str]:
    for number in range(properties.get_virtual_count()):
        yield os.fsdecode(properties.get_virtual_filename(number))


def _check_sources(file_path: str, path: str, names: set[str]) -> None:
    """Look for the files of a virtual dataset where HDF5 does: beside the file that holds it, or from here."""
    beside = os.path.dirname(file_path)
    for name in sorted(names - {"."}):  # a dot stands for the file itself
        places = (os.path.join(beside, name), os.path.join(beside, os.path.basename(name)), name)
        # A name with a percent sign may stand for many, and a prefix of the environment's for any place.
        if "%" not in name and "HDF5_VDS_PREFIX" not in os.environ and not any(map(os.path.exists, places)):
            raise CatalogError(
                f"{path!r} is a virtual dataset that reads {name!r}, which is not there; bring it back, or leave the "
                "file out"
            )


def _check_pieces(path: str, properties: Any, missing_bytes: int) -> None:
    """Look at the files that hold a dataset's bytes; one that cannot be found at all is HDF5's to report."""
    for number in range(properties.get_external_count()):
        name, offset, most_bytes = properties.get_external(number)
        expected_bytes = min(most_bytes, missing_bytes)
        missing_bytes -= expected_bytes
        place = os.fsdecode(name)
        if os.path.isfile(place) and os.path.getsize(place) < offset + expected_bytes:
            raise CatalogError(
                f"{path!r} is stored in {place!r}: expected {expected_bytes} bytes at byte {offset}, and that file has "
                f"{os.path.getsize(place)} bytes in all; restore it, or leave the file out"
            )
