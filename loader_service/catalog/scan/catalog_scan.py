"""Makes the catalog of the files that patterns name, reading only what is new. Knows no layout of HDF5."""

from __future__ import annotations

import hashlib
import json
import logging
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from loader_service.catalog.attempts import stat_patiently
from loader_service.catalog.cache.column_files import scan_version
from loader_service.catalog.cache.kept import ScanCache, find_catalog, keep_catalog
from loader_service.catalog.closed_folders import line_of_closed
from loader_service.catalog.columns import Catalog, FileStat
from loader_service.catalog.findings import FileScan, PackedScan, pack
from loader_service.catalog.joining import how_to_join
from loader_service.catalog.labels.class_lists import read_class_lists
from loader_service.catalog.labels.csv_file import read_csv
from loader_service.catalog.labels.label_fields import Labelling
from loader_service.catalog.paths import expand_patterns
from loader_service.catalog.scan import scan_start
from loader_service.catalog.scan.assemble import Scanned, assemble
from loader_service.catalog.scan.internal_faults import DIGITS_REMEDY, is_of_digits, told
from loader_service.catalog.scan.kinds_of_files import lines_of_kinds
from loader_service.catalog.scan.scan_pool import Outcome, ScanPool
from loader_service.catalog.splits.file_names import check_one_split, files_of_split
from loader_service.catalog.videos.readings import FilesQuestionError
from loader_service.control_groups import usable_cores
from loader_service.errors import CatalogError
from loader_service.record_class import record
from loader_service.scan_options import ScanOptions
from loader_service.stores.faults import StoreFault
from loader_service.stores.urls import is_url

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from pathlib import Path

    from loader_service.catalog.columns import Header
    from loader_service.catalog.labels.csv_file import LabelTable
    from loader_service.catalog.scan.assemble import Column

_LOG = logging.getLogger(__name__)


def scan(
    patterns: Sequence[str],
    options: ScanOptions,
    *,
    cache_dir: Path,
    processes: int | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> Catalog:
    """Return the catalog of the files that patterns name.

    What was scanned before is not read again: neither files that did not change, nor a whole catalog of them.

    Parameters
    ----------
    patterns
        See `expand_patterns`.
    options
        How files are read.
    cache_dir
        Where scans and catalogs are kept. If it cannot be written, the catalog is made in a temporary directory, which
        `Catalog.close` removes.
    processes
        How many processes may scan at once; None: one for each core. They end with the calling thread. 0: none, this
        process scans, and a damaged file can crash it.
    progress
        Called in this process with the number of files done and of all files: first with 0, then after each file and
        about once a second.

    Raises
    ------
    ConfigError
        When a pattern names no readable file, or the CSV file of labels is wrong.
    CatalogError
        When a file cannot be read (unless skipped), nothing was found, or labels are incomplete; when the files are of
        several splits, and none is chosen.
    """
    files_chosen = files_of_split(expand_patterns(patterns), options.split)
    paths, asked = files_chosen.paths, options.split
    if files_chosen.chosen_by_name:
        options = replace(options, split=None)  # nothing inside them has to say it again
    report = progress or _ignore_progress
    report(0, len(paths))
    labelling = _labelling(options)
    if labelling.table is not None and not labelling.table.has_label:
        options = replace(options, labels=None)  # those in the files count
    closed = line_of_closed(patterns)
    if closed:
        _LOG.warning("%s", closed)
    lines = tuple(filter(None, (files_chosen.left_out, closed)))
    told = f"{asked} {' '.join(lines)}"
    statuses = _stat_all(paths)
    key = _cache_key([_Identity(path, statuses[path]) for path in paths], options, labelling, told)
    if (known := find_catalog(cache_dir, key)) is not None:
        scan_start.give_up()
        report(len(paths), len(paths))
        return known
    try:
        with ScanCache(cache_dir, options) as cache:
            files, skipped = _scan_files(statuses, options, cache, processes, report)
    except CatalogError as error:
        if not files_chosen.otherwise:
            raise
        raise CatalogError(f"{error}{files_chosen.otherwise}") from error
    # Skipped files count too, so that a catalog without them is made anew each time: they may have been repaired.
    identities = [_Identity(each.path, each.scan.status) for each in files] + [_Identity(path) for path, _ in skipped]
    is_unasked = options.split is None and not files_chosen.chosen_by_name
    said = check_one_split([(each.path, each.scan) for each in files]) if is_unasked else ""
    header, columns = _assembled(files, skipped, labelling, options, processes)
    header = replace(header, split=asked or said, left_out=(*header.left_out, *lines))
    return keep_catalog(cache_dir, _cache_key(identities, options, labelling, told), header, columns)


def _assembled(
    files: Sequence[Scanned],
    skipped: Sequence[tuple[str, str]],
    labelling: Labelling,
    options: ScanOptions,
    processes: int | None,
) -> tuple[Header, dict[str, Column]]:
    """Return what `assemble` does; what it asks about several files is asked with readings that were tried on some."""
    try:
        return assemble(files, skipped, labelling, options.named)
    except FilesQuestionError as error:
        raise CatalogError(_tried(error, files, options, processes)) from error
    except ValueError as error:
        if not is_of_digits(error):
            raise
        place = max(files, key=lambda each: max(map(len, ("", *(at.key for at in each.scan.fields)))))
        raise CatalogError(f"{place.path!r}: {DIGITS_REMEDY}, or leave the file out") from error


def _tried(error: FilesQuestionError, files: Sequence[Scanned], options: ScanOptions, processes: int | None) -> str:
    """Return the words of a question about several files, with the readings whose schema works on some of them."""
    paths = list(dict.fromkeys(files[number].path for number in (0, 1, -1)))
    plain = replace(options, frames=None, label=None, labels=None, on_bad_file="raise")
    tried = []
    for reading in error.question.readings:
        declared = replace(plain, schema=reading.schema)
        outcomes = list(zip(paths, _scan_in_order(paths, declared, processes, lambda: None), strict=True))
        scanned = [Scanned(path, each.scan) for path, each in outcomes if isinstance(each, PackedScan)]
        with suppress(CatalogError):
            if len(scanned) == len(paths):
                assemble(scanned, (), Labelling(None, None, {}), declared.named)
                tried.append(reading)
    return error.question.text(tried) + error.behind


@record(frozen=True)
class _Identity:
    path: str
    status: FileStat | None = None


def _labelling(options: ScanOptions) -> Labelling:
    lists = read_class_lists(options.classes)
    if options.labels is None:
        return Labelling(options.label, None, lists)
    table = read_csv(options.labels)
    if table.has_label:
        options.check_label_free()
    return Labelling(options.label, table, lists)


def _cache_key(files: Sequence[_Identity], options: ScanOptions, labelling: Labelling, told_of_split: str) -> str:
    """Return what a catalog is kept under: equal for files of equal path, time and inode, options and labels only.

    It says that nothing needs to be read again. Whether what is read then is the same, the catalog's own fingerprint
    says, which does not depend on times and inodes.
    """
    each_file = [
        (path, status and (status.size_bytes, status.mtime_ns, status.inode))
        for path, status in ((each.path, each.status) for each in files)
    ]
    told = options.key(
        labels=None if labelling.table is None else _contents(labelling.table),
        classes={field: listed.names for field, listed in labelling.lists.items()},
    )
    facts = json.dumps([scan_version(), each_file, told, told_of_split])
    return hashlib.blake2b(facts.encode("ascii"), digest_size=16).hexdigest()


def _contents(table: LabelTable) -> list[Any]:
    """Return what a CSV file says, in whatever order its rows are; also where, if a line of `inspect` may name it.

    Lines are of columns that nobody has named and that are no fields: they have the path of the file, and a row.
    """
    columns = [[column.field, column.wanted] for column in table.columns]
    rows = list(zip(table.keys, *(column.cells for column in table.columns), strict=True))
    if not table.left_out and all(column.wanted for column in table.columns):
        return [columns, table.headed, sorted(rows)]
    return [columns, table.left_out, table.headed, table.path, table.rows, rows]


def _ignore_progress(done: int, total: int) -> None:
    """Stand in for a progress bar that nobody wants."""


def _stat_all(paths: Sequence[str]) -> dict[str, FileStat]:
    """Return what identifies files now, by path, in the order of the paths."""
    stored = [path for path in paths if is_url(path)]
    known = {} if not stored else _stat_objects(stored)
    return {path: known.get(path) or _stat(path) for path in paths}


def _stat_objects(paths: Sequence[str]) -> dict[str, FileStat]:
    # Here, not above: most services have no store.
    from loader_service.stores.listing import versions_of  # noqa: PLC0415

    try:
        versions = versions_of(paths)
    except StoreFault as fault:
        raise CatalogError(str(fault.strerror)) from fault
    return {path: FileStat.of_version(version) for path, version in zip(paths, versions, strict=True)}


def _stat(path: str) -> FileStat:
    try:
        return FileStat.of(stat_patiently(path))
    except OSError as error:
        raise CatalogError(f"cannot reach {path!r}: {error.strerror}; it was there a moment ago") from error


def _scan_files(
    statuses: Mapping[str, FileStat],
    options: ScanOptions,
    cache: ScanCache,
    processes: int | None,
    report: Callable[[int, int], None],
) -> tuple[list[Scanned], list[tuple[str, str]]]:
    """Return what files hold, and why others were skipped, each in the order of the paths."""
    outcomes: dict[str, FileScan | CatalogError] = {}
    paths = list(statuses)
    for path, status in statuses.items():
        cached = cache.load(path, status)
        if cached is not None:
            outcomes[path] = cached
    report(len(outcomes), len(paths))
    remaining = [path for path in paths if path not in outcomes]

    def tick() -> None:
        report(len(outcomes), len(paths))

    for path, outcome in zip(remaining, _scan_in_order(remaining, options, processes, tick), strict=True):
        if isinstance(outcome, PackedScan):
            cache.store(path, outcome)
        elif options.on_bad_file == "raise":
            raise _beside_others(outcome, paths) if len(paths) > 1 and options.declared is None else outcome
        else:
            _LOG.warning("skipping a file: %s", outcome)
        outcomes[path] = outcome.scan if isinstance(outcome, PackedScan) else outcome
        report(len(outcomes), len(paths))
    scans = [(path, outcomes[path]) for path in paths]
    files = [Scanned(path, outcome) for path, outcome in scans if isinstance(outcome, FileScan)]
    return files, [(path, str(outcome)) for path, outcome in scans if isinstance(outcome, CatalogError)]


def _beside_others(error: CatalogError, paths: Sequence[str]) -> CatalogError:
    """Return the error for one of several files; one that asks for a schema is perhaps none of the data."""
    if "--schema FILE" not in str(error):
        return error
    tried = "; what is shown was tried on this file alone, and a schema is for all that are given"
    kinds = "".join(f"; {line}" for line in lines_of_kinds(paths))
    return type(error)(
        f"{error}{tried * ('`videos = ' in str(error))}; or, if only the other files are meant, leave it out, as "
        f"--on-bad-file skip does{kinds or how_to_join(paths)}"
    )


def _scan_in_order(
    paths: Sequence[str], options: ScanOptions, processes: int | None, tick: Callable[[], None]
) -> Iterator[Outcome]:
    if processes == 0:
        yield from _scan_here(paths, options)
    elif paths:
        with ScanPool(options, processes or usable_cores()) as pool:
            yield from pool.scan(paths, tick)


def _scan_here(paths: Sequence[str], options: ScanOptions) -> Iterator[Outcome]:
    # Here, not above: a service has other processes do this, and never loads HDF5 itself.
    from loader_service.catalog.scan.file_scan import scan_file  # noqa: PLC0415
    from loader_service.catalog.scan.known_forms import KnownForms  # noqa: PLC0415

    known = KnownForms()
    for path in paths:
        try:
            scan = scan_file(path, options, known)
            yield PackedScan(scan, pack(scan))
        except CatalogError as error:
            yield told(error)
