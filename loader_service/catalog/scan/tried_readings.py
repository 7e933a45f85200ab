"""The readings that a question about a file offers: those whose schema works on it, with the labels of their rows."""

from __future__ import annotations

import os
from dataclasses import replace
from typing import TYPE_CHECKING

from loader_service.catalog.hdf5.tree import ElementKind
from loader_service.catalog.inner_paths import basename_of, join, parent_of
from loader_service.catalog.joining import how_to_flatten
from loader_service.catalog.names import LABEL_NAMES
from loader_service.catalog.scan.unknown_files import works
from loader_service.catalog.videos.declared.declared_videos import declares_label, find_declared
from loader_service.scan_options import FOLDER, GROUP, NONE
from loader_service.schema import SchemaField
from loader_service.sizes import counted

if TYPE_CHECKING:
    from collections.abc import Sequence

    from loader_service.catalog.hdf5.file import HDF5File
    from loader_service.catalog.hdf5.tree import Tree
    from loader_service.catalog.videos.readings import Reading, TwoReadingsError
    from loader_service.scan_options import ScanOptions
    from loader_service.schema import Schema


def asked(hdf5: HDF5File, tree: Tree, error: TwoReadingsError, options: ScanOptions) -> str:
    """Return a question with the readings that work; where labels fit none of them, with those that work without."""
    behind = _of_complex_numbers(hdf5, tree, error)
    readings = tried(hdf5, tree, error.readings)
    if readings:
        return error.text(readings) + behind
    unlabelled = [each for each in error.readings if works(hdf5, tree, each.schema, labelled=False)]
    are_read = options.labels is None and options.label not in {FOLDER, GROUP, NONE}
    remedy = f"; give --label '{NONE}' with it, as labels of the file fit none of these"
    return error.text(unlabelled) + remedy * (are_read and bool(unlabelled)) + behind


def _of_complex_numbers(hdf5: HDF5File, tree: Tree, error: TwoReadingsError) -> str:
    """Return what is said of complex numbers, which no reading serves, as the end of a question; empty without any."""
    unserved = [info for info in tree.datasets.values() if info.kind is ElementKind.COMPLEX]
    if not unserved:
        return ""
    more = f" and {counted(len(unserved) - 1, 'dataset')} more" * (len(unserved) > 1)
    remedy = "serve complex numbers by --source package.module:Name"
    said = f"; none of these serves {unserved[0].describe()}{more}: {remedy}"
    return said * ("complex numbers" not in error.found) + how_to_flatten(os.fsdecode(hdf5.file.filename))


def tried(hdf5: HDF5File, tree: Tree, readings: Sequence[Reading]) -> list[Reading]:
    """Return the readings whose schema works, each with what is called as labels are and has an entry for each row."""
    return [_with_labels(hdf5, tree, each) for each in readings if works(hdf5, tree, each.schema)]


def _with_labels(hdf5: HDF5File, tree: Tree, reading: Reading) -> Reading:
    main, *others = reading.schema.fields
    if main.kind == "value" or main.shape is not None or declares_label(reading.schema):
        return reading
    named = {path for field in reading.schema.fields for path in field.dataset}
    for name in LABEL_NAMES:
        path = join(parent_of(main.dataset[0]), name)
        schema = replace(reading.schema, fields=(main, SchemaField("label", "array", (path,)), *others))
        if path not in named and works(hdf5, tree, schema) and _are_of_all_rows(hdf5, tree, schema, name):
            return replace(reading, schema=schema)
    return reading


def _are_of_all_rows(hdf5: HDF5File, tree: Tree, schema: Schema, name: str) -> bool:
    """Tell whether labels have as many entries as rows, and not one less, as the only label of two rows has."""
    parts = [part for episode in find_declared(hdf5, tree, schema).episodes for part in episode.parts.values()]
    return not any(part.missing for part in parts if basename_of(part.path) == name)
