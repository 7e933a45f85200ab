"""Writes a file of columns, and says what it must become: for layouts whose datasets all have an entry for each row."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import h5py
import numpy as np

from tests.public_layouts.expectations import Serves, Values, rows_of

Columns = Mapping[str, Values]


def write(path: Path, datasets: Columns, **storage: object) -> None:
    """Write datasets by their paths; `storage`: options of h5py, such as ``compression``."""
    with h5py.File(path, "w") as root:
        for name, values in datasets.items():
            root.create_dataset(name, data=values, **storage)


def table(path: Path, columns: Columns, **storage: object) -> Serves:
    """Write datasets that are columns of one table, and return that."""
    write(path, columns, **storage)
    return rows_of(path.stem, **{name.rpartition("/")[2]: values for name, values in columns.items()})


def whole(seed: int, *shape: int, below: int = 100, dtype: str = "i8") -> Values:
    """Return whole numbers that a seed decides."""
    return np.random.default_rng(seed).integers(0, below, shape).astype(dtype)


def texts(*values: str) -> Values:
    """Return fixed texts, ``S{n}``."""
    return np.array([value.encode() for value in values])
