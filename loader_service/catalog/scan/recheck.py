"""Compares a file whose time or inode has changed with what a catalog says of it; knows no process and no stream."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import numpy as np

from loader_service.catalog.columns import FileStat
from loader_service.catalog.dtypes import is_text
from loader_service.catalog.scan.common_fields import ONLY_CAMERA, by_key, whole
from loader_service.catalog.scan.fingerprints import labels_digest
from loader_service.catalog.sides import fits
from loader_service.errors import CatalogError
from loader_service.record_class import record
from loader_service.scan_options import ScanOptions
from loader_service.sizes import counted
from loader_service.stores.urls import is_url

if TYPE_CHECKING:
    from collections.abc import Iterator

    from loader_service.catalog.columns import Catalog, FieldFacts
    from loader_service.catalog.findings import FieldScan, FileScan
    from loader_service.catalog.scan.known_forms import KnownForms


@record(frozen=True)
class FileVerdict:
    """What came of a comparison.

    Attributes
    ----------
    size_bytes, mtime_ns, inode
        Of the file that was compared.
    difference
        In words; empty when the samples are the same, and lie where they did.
    """

    size_bytes: int
    mtime_ns: int
    inode: int
    difference: str

    @property
    def status(self) -> FileStat:
        """What identifies the file that was compared."""
        return FileStat(self.size_bytes, self.mtime_ns, self.inode)


class Recheck:
    """Compares files with a catalog.

    Parameters
    ----------
    catalog
        Stays the caller's.
    options
        Those with which it was made.
    """

    def __init__(self, catalog: Catalog, options: ScanOptions) -> None:
        self._catalog = catalog
        self._options = options
        self._numbers = {catalog.file_path(number): number for number in range(catalog.file_count)}

    def judge(self, path: str, known: KnownForms | None = None) -> FileVerdict:
        """Scan a file again, and compare it; `known`: as of `scan_file`.

        Raises
        ------
        CatalogError
            When it cannot be read, or is being written.
        """
        # Here, not above: who only wants to know what a verdict is needs no HDF5.
        from loader_service.catalog.scan.file_scan import scan_file  # noqa: PLC0415

        scan = scan_file(path, self._options, known)
        try:
            # Of an object in a store all bytes are of one version, whose number the scan has.
            now = scan.status if is_url(path) else FileStat.of(os.stat(path))
        except OSError as error:
            raise CatalogError(f"{path!r}: {error.strerror}") from error
        if now != scan.status:
            raise CatalogError(f"{path!r} changed while it was looked at; wait until its writer is done")
        difference = next(self._differences(self._numbers[path], scan), "")
        return FileVerdict(now.size_bytes, now.mtime_ns, now.inode, difference)

    def _differences(self, file: int, scan: FileScan) -> Iterator[str]:
        videos = self._catalog.videos_of(file)
        yield from self._in_videos(videos, scan)
        if labels_digest(scan.labels) != self._catalog.labels_digest(file):
            yield "its labels are not those that it had"
        named = self._options.named
        found = by_key(scan, named, alone=any(facts.key == ONLY_CAMERA for facts in self._catalog.facts))
        for facts in self._catalog.facts:
            if facts.key is not None:  # else the labels, which have been compared
                yield from self._in_field(file, facts, found.get(facts.key))

    def _in_videos(self, videos: range, scan: FileScan) -> Iterator[str]:
        expected = [self._name(video) for video in videos]
        names = scan.names
        if len(names) == len(expected) == 1 and names[0] in ("", "video"):  # it bears the name of its file
            names = expected
        missing, new = set(expected) - set(names), set(names) - set(expected)
        if missing:
            yield f"video {min(missing)!r} is missing" + _more(missing, "others")
        if new:
            yield f"video {min(new)!r} is new" + _more(new, "others")
        if names != expected:
            yield "its videos come in another order"
        counts = self._catalog.frame_counts[videos.start : videos.stop]
        for name, before, now in zip(names, counts.tolist(), scan.frame_counts.tolist(), strict=True):
            if before != now:
                yield f"video {name!r} has {counted(now, 'frame')} where it had {before}"

    def _in_field(self, file: int, facts: FieldFacts, scan: FieldScan | None) -> Iterator[str]:
        name, videos = facts.field.name, self._catalog.videos_of(file)
        if not videos:
            return
        if scan is None:
            yield f"the field {name!r} is missing, or not alike in all videos"
            return
        if scan.storage == facts.storage == "raw" and len(scan.shape) + 1 == len(facts.field.shape):
            scan = whole(scan)
        if scan.storage != facts.storage or not _fits(scan, facts):
            yield f"the field {name!r} is {scan.dtype} of shape {scan.shape}, and was {facts.field.dtype}"
            return
        sides = next(self._in_sides(facts, videos, scan), None)
        if sides is not None:
            yield sides
            return
        if facts.storage == "value":
            yield from self._in_values(name, videos, scan)
            return
        if facts.storage in {"encoded", "lists"}:
            yield from self._in_frames(name, videos, scan, "extent_lengths", "has {now} bytes where it had {before}")
        if facts.storage == "encoded":
            sizes = zip(self._catalog.sizes(name), (scan.columns["heights"], scan.columns["widths"]), strict=True)
            if any((before[videos.start : videos.stop] != now).any() for before, now in sizes):
                yield f"the pictures of {name!r} have another size"
        if scan.sample != self._catalog.sample(file, name):
            yield f"the bytes of {name!r} are not those that they were, in as many frames of the same form"
        if facts.storage in {"encoded", "lists"}:
            lies = "lies elsewhere in the file, which was written anew"
            yield from self._in_frames(name, videos, scan, "extent_offsets", lies)
        if facts.storage in {"encoded", "lists"}:
            moved = [self._catalog.way(video, name) for video in videos] != [
                scan.ways[number] for number in scan.columns["ways"]
            ]
        else:
            moved = any(
                (self._catalog.column(column, name)[videos.start : videos.stop] != scan.columns[column]).any()
                for column in ("addresses", "elements", "firsts", "digits", "strides")
            )
        if moved or [self._catalog.dataset_path(video, name) for video in videos] != scan.paths:
            yield f"the bytes of {name!r} lie elsewhere in the file, which was written anew"

    def _in_sides(self, facts: FieldFacts, videos: range, scan: FieldScan) -> Iterator[str]:
        if facts.storage not in {"raw", "value"} or 0 not in (*facts.field.shape, *scan.shape):
            return
        name, found = facts.field.name, scan.columns.get("sides")
        for number, video in enumerate(videos):
            before = self._catalog.shape_in(video, name)
            now = scan.shape if found is None else tuple(found[number].tolist())
            if before != now:
                yield f"{name!r} of video {self._name(video)!r} has shape {now} where it had {before}"

    def _in_values(self, name: str, videos: range, scan: FieldScan) -> Iterator[str]:
        now = scan.columns["values"]
        place = (slice(videos.start, videos.stop), *map(slice, now.shape[1:]))
        before = self._catalog.values(name)[place]
        other = np.flatnonzero(_unequal(before, now).reshape(len(before), -1).any(axis=1))
        if len(other):
            video = int(other[0])
            yield (
                f"{name!r} of video {self._name(videos[video])!r} is {now[video]!s} where it was {before[video]!s}"
                + _more(other, "other videos")
            )

    def _in_frames(self, name: str, videos: range, scan: FieldScan, column: str, words: str) -> Iterator[str]:
        bounds = self._catalog.frame_bounds(videos)
        before, now = self._catalog.column(column, name)[bounds[0] : bounds[-1]], scan.columns[column]
        other = np.flatnonzero(before != now)
        if len(other):
            place = int(other[0]) + int(bounds[0])
            video = int(np.searchsorted(bounds, place, side="right")) - 1
            where = f"frame {place - int(bounds[video])} of video {self._name(videos[video])!r}"
            said = words.format(before=before[other[0]], now=now[other[0]])
            yield f"{where} {said}" + _more(other, "other frames")

    def _name(self, video: int) -> str:
        return self._catalog.name(video).decode("utf-8", "surrogateescape")


def _fits(scan: FieldScan, facts: FieldFacts) -> bool:
    if facts.storage == "encoded":
        return True
    if is_text(scan.dtype) and is_text(facts.field.dtype):
        return int(scan.dtype[1:]) <= int(facts.field.dtype[1:]) and scan.shape == facts.field.shape
    return scan.dtype == facts.field.dtype and fits(facts.field.shape, scan.shape)


def _unequal(before: Any, now: Any) -> Any:
    """Return where two arrays differ; a NaN is no difference to a NaN."""
    return (before != now) & ~((before != before) & (now != now))  # noqa: PLR0124


def _more(things: Any, what: str) -> str:
    return f", and {len(things) - 1} {what} differ too" if len(things) > 1 else ""
