"""Scans one HDF5 file: which videos it holds, where their frames lie, what their labels are. Knows no other file."""

from __future__ import annotations

import os
from dataclasses import replace
from typing import TYPE_CHECKING

import h5py
import numpy as np

from loader_service.catalog.attempts import Attempts
from loader_service.catalog.columns import FileStat
from loader_service.catalog.content_sample import sample_of
from loader_service.catalog.declared_videos import declares_label, find_declared
from loader_service.catalog.episodes import Found, group_frames
from loader_service.catalog.extents import Source
from loader_service.catalog.field_scan import scan_fields
from loader_service.catalog.fields_beside import add_members
from loader_service.catalog.findings import FieldScan, FileScan, ScanOptions
from loader_service.catalog.labels import read_labels, to_label
from loader_service.catalog.layouts import EXPECTED, find_frames
from loader_service.catalog.names import FOLDER, GROUP
from loader_service.catalog.plain import HDF5_ERRORS
from loader_service.catalog.tables import EXPECTED as EXPECTED_WITHOUT_FRAMES
from loader_service.catalog.tables import find_without_frames
from loader_service.catalog.tree import Tree, read_tree
from loader_service.errors import CatalogError, FileInUse

if TYPE_CHECKING:
    from loader_service.catalog.label_values import Label

#: How long a file is tried again when the disk or the network fails, in seconds.
_PATIENCE_S = 20.0

#: Why an external link that is allowed is no field.
_LINK = "found an external link, which is not followed, in a group"


def scan_file(path: str, options: ScanOptions) -> FileScan:
    """Scan one file; begin anew, for a while, when the disk or the network fails meanwhile.

    Raises
    ------
    CatalogError
        When it cannot be read, is no HDF5 file, or does not hold what is expected; the message names it.
    """
    attempts = Attempts(min(_PATIENCE_S, options.timeout_s / 2))
    while True:
        try:
            return _scan_once(path, options)
        except CatalogError as error:
            cause = error.__cause__ or error
            if not attempts.again(cause):
                if attempts.count == 1:
                    raise
                raise CatalogError(
                    f"{path!r} cannot be read: {attempts.describe(cause)}; check the disk, or the network"
                ) from error


def _scan_once(path: str, options: ScanOptions) -> FileScan:
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except OSError as error:
        raise CatalogError(f"cannot open {path!r}: {error.strerror}") from error
    try:
        status = FileStat.of(os.fstat(descriptor))
        with _open_hdf5(path, status) as file:
            return _scan(Source.of(file, descriptor), status, options)
    except CatalogError as error:
        raise type(error)(f"{path!r}: {error}") from error.__cause__
    except HDF5_ERRORS as error:
        raise CatalogError(
            f"{path!r}: HDF5 cannot read it: {error}; check it with `h5dump -H`, or copy it anew"
        ) from error
    finally:
        os.close(descriptor)


def _open_hdf5(path: str, status: FileStat) -> h5py.File:
    if not status.size_bytes:
        raise CatalogError("expected an HDF5 file, got an empty one; write it again or leave it out")
    try:
        return h5py.File(os.fsencode(path), "r")
    except OSError as error:
        used = _explain_use(str(error))
        raise FileInUse(used) if used else CatalogError(_explain(str(error))) from error


def _explain_use(message: str) -> str:
    """Return who has a file open for writing, and what to do, where that is why HDF5 does not open it; else nothing."""
    if "unable to lock" in message or "lock file" in message:
        return f"another program has it open for writing ({message}); wait until the writer has closed it"
    if "consistency flag" in message or "already open for" in message:
        return f"its writer has not closed it ({message}); wait for the writer, or, if it died, run `h5clear -s` on it"
    return ""


def _explain(message: str) -> str:
    """Return what HDF5 means by the error with which it refuses to open a file, and what to do."""
    if "signature not found" in message:
        return f"expected an HDF5 file, got something else ({message}); leave it out"
    if "truncated file" in message:
        return f"the file is truncated ({message}); its writer is not finished, or was killed: write it again"
    return f"HDF5 cannot open it: {message}; check it with `h5dump -H`, or copy it anew"


def _scan(source: Source, status: FileStat, options: ScanOptions) -> FileScan:
    tree = read_tree(source.file, allow_external=options.allow_external)
    found = _find(source, tree, options)
    filled = [number for number, episode in enumerate(found.episodes) if episode.frame_count]
    fields, left_out = scan_fields(source, found, options.schema)
    declared = next((field for field in fields if declares_label(options.schema) and _is_label(field)), None)
    labels: list[Label | None] = [None] * len(found.episodes)
    if options.labels_csv is None and declared is not None:
        for number, value in zip(filled, declared.columns["values"], strict=True):
            labels[number] = to_label(value, f"{declared.source!r} of {found.episodes[number].name!r}")
    elif options.labels_csv is None and found.layout != "table" and not declares_label(options.schema):
        if options.label not in {FOLDER, GROUP}:
            labels = read_labels(source.file, tree, found.episodes, options.label)
    elif options.label is not None:
        raise CatalogError(
            f"--label {options.label!r} says where labels of videos are, and the file is a table of rows; leave it "
            "out: a dataset 'label' or 'labels' with an entry for each row is a field of its own"
        )
    counts = np.array([found.episodes[number].frame_count for number in filled], np.int64)
    return FileScan(
        status=status,
        names=[found.episodes[number].name for number in filled],
        labels=[labels[number] for number in filled],
        frame_counts=counts,
        fields=[replace(field, sample=sample_of(source, field, counts)) for field in fields if field is not declared],
        empty_videos=len(found.episodes) - len(filled),
        layout=found.layout,
        label_source="" if declared is None else declared.source,
        left_out=left_out | dict.fromkeys(tree.external_links, _LINK),
    )


def _is_label(field: FieldScan) -> bool:
    return field.key == "label" and field.kind == "value"


def _find(source: Source, tree: Tree, options: ScanOptions) -> Found:
    """Return the videos of a file: what a schema declares, else JPEGs, else what numbers there are."""
    if options.schema is not None:
        return find_declared(source, tree, options.schema)
    frames = find_frames(source.file, tree, options.frames)
    found = group_frames(tree, frames) if frames else find_without_frames(source, tree)
    if found is None:
        raise CatalogError(
            f"found no video: expected {EXPECTED}; or, without JPEGs, {EXPECTED_WITHOUT_FRAMES}; found "
            f"{tree.describe()}; name them with --frames PATTERN or --schema FILE"
        )
    add_members(source.file, tree, found)
    return found
