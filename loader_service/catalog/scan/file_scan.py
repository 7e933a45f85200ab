"""Scans one HDF5 file: which videos it holds, where their frames lie, what their labels are. Knows no other file."""

from __future__ import annotations

import codecs
import os
import re
from contextlib import closing
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, TypeVar

import h5py
import numpy as np

from loader_service.catalog.attempts import Attempts
from loader_service.catalog.columns import FileStat
from loader_service.catalog.findings import FieldScan, FileScan
from loader_service.catalog.hdf5.enum_names import lines_of_names
from loader_service.catalog.hdf5.file import HDF5File
from loader_service.catalog.hdf5.object_bytes import ObjectBytes
from loader_service.catalog.hdf5.plain import CHUNK_CACHE_BYTES, HDF5_ERRORS
from loader_service.catalog.hdf5.read_tree import read_tree
from loader_service.catalog.scan.content_sample import SampledFrame, places_of, sample_of
from loader_service.catalog.scan.internal_faults import DIGITS_REMEDY, PROGRAMMING_ERRORS, internal_fault, is_of_digits
from loader_service.catalog.scan.known_forms import KnownForms
from loader_service.catalog.scan.static_numbers import numbers_of
from loader_service.catalog.scan.tried_readings import asked
from loader_service.catalog.scan.undeclared import find_undeclared
from loader_service.catalog.scan.whole_files import labels_of_whole_files
from loader_service.catalog.splits.choose import Chosen, find_in_split
from loader_service.catalog.splits.row_ranges import cut
from loader_service.catalog.videos.aside.noted_kinds import with_noted_kinds
from loader_service.catalog.videos.aside.set_aside import lines_of_links, without_copies
from loader_service.catalog.videos.axes.matlab_axes import hint_of_axes, lines_of_axes
from loader_service.catalog.videos.beside.file_labels import LABELS_REMEDY, read_labels, to_label
from loader_service.catalog.videos.declared.declared_videos import declares_label, find_declared
from loader_service.catalog.videos.declared.unnamed import lines_of_unnamed
from loader_service.catalog.videos.field_scan import scan_fields
from loader_service.catalog.videos.lines.packed_numbers import lines_of_packing
from loader_service.catalog.videos.readings import TwoReadingsError
from loader_service.errors import CatalogError, FileInUse
from loader_service.scan_options import FOLDER, GROUP, NONE, ScanOptions
from loader_service.stores.faults import StoreFault
from loader_service.stores.urls import is_url

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from loader_service.catalog.columns import Int64s
    from loader_service.catalog.hdf5.tree import Tree
    from loader_service.catalog.labels.encode import Label
    from loader_service.catalog.videos.episodes import Found

#: How long a file is tried again when the disk or the network fails, in seconds.
_PATIENCE_S = 20.0

_EMPTY = "expected an HDF5 file, got an empty one; write it again or leave it out"

#: How files begin that stand where one should be, and what to do.
_PLACEHOLDERS = {
    b"version https://git-lfs": "a pointer of Git LFS to it; run `git lfs pull` in its folder",
    b"<!doctype html": "a web page; download the file again, by the address of the file itself",
    b"<html": "a web page; download the file again, by the address of the file itself",
}

#: Bytes of a file that is not HDF5 by which it is told what it is.
_LOOKED_AT = 512

#: How `h5py.File` opens files, which would make one anew for each: 94 µs to open and close a small one, and not 151.
_ACCESS = h5py.h5p.create(h5py.h5p.FILE_ACCESS)
_ACCESS.set_fclose_degree(h5py.h5f.CLOSE_STRONG)
_ACCESS.set_sieve_buf_size(4096)  # a look at a few numbers of a dataset would read 64 KB of it
_ACCESS.set_cache(0, 521, CHUNK_CACHE_BYTES, 0.75)  # 521 places of chunks, and what goes first: as HDF5 has them

_File = TypeVar("_File", h5py.File, h5py.h5f.FileID)

#: Why an external link that is allowed is no field.
_LINK = "found an external link, which is not followed, in a group"


def scan_file(path: str, options: ScanOptions, known: KnownForms | None = None) -> FileScan:
    """Scan one file; begin anew, for a while, when the disk or the network fails meanwhile.

    Parameters
    ----------
    path, options
        The file, and how it is scanned.
    known
        What was found in files that were scanned before, with these options; this one is added.

    Raises
    ------
    CatalogError
        When it cannot be read, is no HDF5 file, or does not hold what is expected; the message names it.
    """
    attempts = Attempts(min(_PATIENCE_S, options.scan_timeout / 2))
    while True:
        try:
            return _scan_once(path, options, known or KnownForms())
        except CatalogError as error:
            cause = error.__cause__ or error
            if not attempts.again(cause):
                if attempts.count == 1:
                    raise
                raise CatalogError(
                    f"{path!r} cannot be read: {attempts.describe(cause)}; check the disk, or the network"
                ) from error


def _scan_once(path: str, options: ScanOptions, known: KnownForms) -> FileScan:
    return _scan_object(path, options, known) if is_url(path) else _scan_local(path, options, known)


def _scan_object(path: str, options: ScanOptions, known: KnownForms) -> FileScan:
    """Scan a file that lies in a store; what it could name of other files is of another machine."""
    try:
        source = ObjectBytes(path)
    except StoreFault as fault:
        raise CatalogError(str(fault.strerror)) from fault
    try:
        with _open_stored(source) as file:
            found = HDF5File(file.id, source, source.status.size_bytes)
            scan = _scan(found, source.status, replace(options, allow_external=False), known)
            return replace(scan, fetched_bytes=source.file.fetched_bytes, requests=source.file.requests)
    except StoreFault as fault:
        raise CatalogError(str(fault.strerror)) from fault
    except (CatalogError, *HDF5_ERRORS, *PROGRAMMING_ERRORS) as error:
        if source.file.fault is not None:  # HDF5 has its own words for it
            raise CatalogError(str(source.file.fault.strerror)) from source.file.fault
        if isinstance(error, CatalogError):
            raise type(error)(f"{path!r}: {error}") from error.__cause__
        raise _unreadable(path, error, "copy it anew") from error


def _scan_local(path: str, options: ScanOptions, known: KnownForms) -> FileScan:
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except OSError as error:
        raise CatalogError(f"cannot open {path!r}: {error.strerror}") from error
    try:
        status = FileStat.of(os.fstat(descriptor))
        with closing(HDF5File(_open_hdf5(path, status), descriptor, status.size_bytes)) as hdf5:
            return _scan(hdf5, status, options, known)
    except CatalogError as error:
        raise type(error)(f"{path!r}: {error}") from error.__cause__
    except (*HDF5_ERRORS, *PROGRAMMING_ERRORS) as error:
        raise _unreadable(path, error, _remedy(str(error))) from error
    finally:
        os.close(descriptor)


def _unreadable(path: str, error: Exception, remedy: str) -> CatalogError:
    if is_of_digits(error):
        return CatalogError(f"{path!r}: {DIGITS_REMEDY}, or leave the file out")
    return internal_fault(path, error) or CatalogError(f"{path!r}: HDF5 cannot read it: {error}; {remedy}")


def _open_hdf5(path: str, status: FileStat) -> h5py.h5f.FileID:
    if not status.size_bytes:
        raise CatalogError(_EMPTY)
    try:
        return _opened(lambda: h5py.h5f.open(os.fsencode(path), h5py.h5f.ACC_RDONLY, fapl=_ACCESS))
    except CatalogError as error:
        with open(path, "rb") as stream:
            start = stream.read(_LOOKED_AT)
        for known, words in _PLACEHOLDERS.items():
            if start.lower().startswith(known):
                raise CatalogError(f"expected an HDF5 file, got {words}") from error
        if _is_text(start):
            raise CatalogError(f"expected an HDF5 file, got a text; {_text_remedy(path)}") from error
        raise


def _is_text(start: bytes) -> bool:
    """Tell whether a file that begins so holds lines of text."""
    text = codecs.getincrementaldecoder("utf-8-sig")("replace").decode(start)  # what is cut off at the end is no error
    return "\ufffd" not in text and all(each.isprintable() or each in "\t\r\n" for each in text)


def _text_remedy(path: str) -> str:
    if path.lower().endswith((".csv", ".tsv")):
        return f"where it has the labels of videos, give --labels {path!r} beside the HDF5 files; else leave it out"
    return "leave it out; `loader-service pack` cannot make HDF5 of it either"


def _open_stored(source: ObjectBytes) -> h5py.File:
    if not source.status.size_bytes:
        raise CatalogError(_EMPTY)
    return _opened(lambda: source.open_hdf5(CHUNK_CACHE_BYTES))


def _opened(open_file: Callable[[], _File]) -> _File:
    try:
        return open_file()
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
        return (
            f"expected an HDF5 file, got something else ({message}); leave it out, or, if it is a picture, film, "
            "TFRecord file, tar or LeRobot set, make HDF5 of it with `loader-service pack`"
        )
    if "truncated file" in message:
        return f"the file is truncated ({message}); its writer is not finished, or was killed: write it again"
    return f"HDF5 cannot open it: {message}; {_remedy(message)}"


def _remedy(message: str) -> str:
    """Return what to do where HDF5 cannot read a file: a format that it does not know is a newer one, it may be."""
    if _OTHER_VERSION.search(message):
        newer = f"a newer HDF5 than {h5py.version.hdf5_version}, which is here, may have written it"
        return f"{newer}: `pip install --upgrade h5py`; or it is damaged: check it with `h5dump -H`, or copy it anew"
    return "check it with `h5dump -H`, or copy it anew"


_OTHER_VERSION = re.compile(r"bad .*version|version.*not supported|unknown .*version")


def _scan(hdf5: HDF5File, status: FileStat, options: ScanOptions, known: KnownForms) -> FileScan:
    tree = read_tree(hdf5.id, allow_external=options.allow_external, expect=hdf5.expect, keep=hdf5.keep)
    tree = with_noted_kinds(hdf5, tree)
    schema = options.declared
    chosen = known.choose(
        hdf5,
        tree,
        lambda looked_at: find_in_split(looked_at, tree, options, partial(_find, looked_at, options)),
        by_name=bool(options.split or options.frames or schema),
    )
    found, rows = chosen.found, chosen.rows
    filled = [number for number, episode in enumerate(found.episodes) if episode.frame_count]
    fields, left_out = scan_fields(hdf5, found, schema)
    said = {key: line(hdf5) for key, line in found.words.items() if left_out.get(key) == ""}
    left_out |= said
    if said and "" in said.values():  # what a library wrote, as it is seen now
        left_out = {key: line for key, line in left_out.items() if line}
    left_out |= _lines_of_first(hdf5, tree, found)
    declared = next((field for field in fields if _is_label(field)), None) if declares_label(schema) else None
    labels = _labels(hdf5, tree, chosen, options, declared, fields)
    counts = np.array([found.episodes[number].frame_count for number in filled], np.int64)
    if rows is not None:
        fields = [cut(field, rows, int(counts[0])) for field in fields]
        counts = np.array([rows.count], np.int64)
    places = places_of(counts)
    return FileScan(
        status=status,
        names=[found.episodes[number].name for number in filled],
        labels=[labels[number] for number in filled],
        frame_counts=counts,
        fields=[_with_numbers(hdf5, tree, field, counts, places) for field in fields if field is not declared],
        empty_videos=len(found.episodes) - len(filled),
        layout=found.layout,
        label_source="" if declared is None else declared.source,
        not_chosen=chosen.others,
        split=chosen.word,
        left_out=left_out | dict.fromkeys(tree.external_links, _LINK) | lines_of_links(tree),
    )


def _lines_of_first(hdf5: HDF5File, tree: Tree, found: Found) -> dict[str, str]:
    """Return what attributes say of the fields of the first video: names of numbers, axes, and how they are packed."""
    parts = found.episodes[0].parts if found.episodes else {}
    infos = {key: part.info for key, part in parts.items() if part.info is not None}
    attributed = set(tree.attributed) - {""}
    with_attributes = {key: info for key, info in infos.items() if info.path in attributed}
    return (
        lines_of_names(hdf5, infos) | lines_of_axes(hdf5, infos, attributed) | lines_of_packing(hdf5, with_attributes)
    )


def _labels(
    hdf5: HDF5File,
    tree: Tree,
    chosen: Chosen,
    options: ScanOptions,
    declared: FieldScan | None,
    fields: Sequence[FieldScan],
) -> list[Label | None]:
    """Return the label of each chosen video, as far as its file has one and is meant to; `declared`: by a schema.

    Raises
    ------
    CatalogError
        When ``--label`` names labels of videos, and there are rows, or a schema says where labels are.
    """
    episodes = chosen.found.episodes
    labels: list[Label | None] = [None] * len(episodes)
    if options.labels is None and declared is not None:
        filled = [number for number, episode in enumerate(episodes) if episode.frame_count]
        for number, value in zip(filled, declared.columns["values"], strict=True):
            labels[number] = to_label(value, f"{declared.source!r} of {episodes[number].name!r}", LABELS_REMEDY)
    elif options.labels is None and chosen.found.layout != "table" and not declares_label(options.declared):
        if options.label not in {FOLDER, GROUP, NONE}:
            labels = read_labels(hdf5, tree, chosen.all_videos, options.label)
            labels = [labels[number] for number in chosen.origins] if chosen.of else labels
    elif options.label not in {None, NONE}:
        raise CatalogError(
            f"--label {options.label!r} says where labels of videos are, and the file is a table of rows; leave it "
            "out: a dataset 'label' or 'labels' with an entry for each row is a field of its own"
            f"{labels_of_whole_files(fields)}"
        )
    return labels


def _with_numbers(
    hdf5: HDF5File, tree: Tree, field: FieldScan, counts: Int64s, places: Sequence[SampledFrame]
) -> FieldScan:
    """Return a field with what tells its content: a sample, and all of a small array, unless `pack` wrote it."""
    if field.storage == "value":
        return field
    numbers = {} if tree.is_packed else numbers_of(hdf5, field, counts)
    told = {"sample": sample_of(hdf5, field, places), "columns": {**field.columns, **numbers}}
    return FieldScan(**{**vars(field), **told})  # `replace` takes 15 calls


def _is_label(field: FieldScan) -> bool:
    return field.key == "label" and field.kind == "value"


def _labels_beside(options: ScanOptions, found: Found) -> str | None:
    """Return what is read as labels beside a schema, as `lines_of_unnamed` takes it."""
    free = options.labels is None and found.layout != "table" and not declares_label(options.declared)
    return None if not free or options.label in {FOLDER, GROUP, NONE} else options.label or ""


def _find(hdf5: HDF5File, options: ScanOptions, tree: Tree) -> Found:
    """Return the videos of a file: what a schema declares, else JPEGs, else what numbers there are."""
    try:
        if options.declared is not None:
            tree = without_copies(tree, options.declared)
            found = find_declared(hdf5, tree, options.declared)
            found.left_out.update(lines_of_unnamed(tree, found, _labels_beside(options, found)))
            return found
        return find_undeclared(hdf5, tree, options)
    except TwoReadingsError as error:
        error.found += "" if "np.moveaxis" in error.found else hint_of_axes(hdf5, tree)
        raise CatalogError(asked(hdf5, tree, error, options)) from error
