"""Pages of files and videos, counts and searches, from the columns of a catalog; reads no file that it names."""

from __future__ import annotations

import functools
import re
import time
from typing import Any

import numpy as np
from numpy.typing import NDArray

from loader_service.catalog.columns import Catalog

#: Entries of a page at most, and how long one search may take, in seconds: then it says where it goes on.
MOST_ENTRIES, _SEARCH_S = 200, 0.4

#: Bytes that are searched between two looks at the clock, and bytes of a text that is searched for.
_PIECE_BYTES, _MOST_TEXT = 4 * 2**20, 200

#: Bars of a histogram, and classes that are listed.
_BARS, _MOST_CLASSES = 40, 500


class Browser:
    """What a catalog holds, page by page. Any thread may ask; nothing is changed but what is remembered.

    Parameters
    ----------
    catalog
        Stays the caller's.
    """

    def __init__(self, catalog: Catalog) -> None:
        self._catalog = catalog

    @functools.cached_property
    def summary(self) -> dict[str, Any]:
        """Counts, fields, classes, lengths, and what was left out."""
        catalog = self._catalog
        return {
            "kind": catalog.kind,
            "files": catalog.file_count,
            "videos": catalog.video_count,
            "frames": catalog.frame_count,
            "bytes": int(catalog.file_bytes.sum()),
            "split": catalog.split,
            "fields": [self._field(number) for number in range(len(catalog.fields))],
            "lengths": _histogram(catalog.frame_counts),
            "classes": self._classes(),
            "skipped": [list(each) for each in catalog.skipped[:MOST_ENTRIES]],
            "skipped_files": len(catalog.skipped),
            "left_out": list(catalog.left_out[:MOST_ENTRIES]),
            "empty_videos": catalog.empty_videos,
        }

    def files(self, text: str, after: int, count: int) -> dict[str, Any]:
        """Return files whose paths hold a text, from a number on."""
        numbers, goes_on = self._matching("paths", "path_bounds", range(after, self._catalog.file_count), text, count)
        return {"files": [self._file(each) for each in numbers], "next": goes_on, "total": self._catalog.file_count}

    def videos(self, text: str, after: int, count: int, file: int | None, label: int | None) -> dict[str, Any]:
        """Return videos whose names hold a text, of one file or of all, of one class or of all, from a number on."""
        catalog = self._catalog
        if file is not None and not 0 <= file < catalog.file_count:
            raise IndexError(f"file {file}: there are {catalog.file_count}")
        all_of_them = catalog.videos_of(file) if file is not None else range(catalog.video_count)
        left = range(max(after, all_of_them.start), all_of_them.stop)
        if label is None:
            numbers, goes_on = self._matching("names", "name_bounds", left, text, count)
        else:
            numbers, goes_on = self._of_class(left, text, count, label)
        return {"videos": [self._video(each) for each in numbers], "next": goes_on, "total": len(all_of_them)}

    def video(self, number: int) -> dict[str, Any]:
        """Return one video with its values; IndexError when there is none."""
        if not 0 <= number < self._catalog.video_count:
            raise IndexError(f"video {number}: there are {self._catalog.video_count}")
        values = {
            each.name: _value(self._catalog.values(each.name)[number], each.classes)
            for each in self._catalog.fields
            if each.kind == "value"
        }
        return {**self._video(number), "values": values}

    # ---- inside

    def _matching(self, heap: str, bounds: str, numbers: range, text: str, count: int) -> tuple[list[int], int | None]:
        """Return some of the numbers whose texts hold a text, and where to go on; None at the end."""
        if not text:
            chosen = numbers[:count]
            return list(chosen), chosen.stop if len(chosen) < len(numbers) else None
        pattern = _pattern(text[:_MOST_TEXT])
        ends, letters = self._catalog.heap(heap, bounds)
        found: list[int] = []
        deadline = time.monotonic() + _SEARCH_S
        at = numbers.start
        while at < numbers.stop:
            if time.monotonic() > deadline:
                return found, at
            last = max(at + 1, int(np.searchsorted(ends, int(ends[at]) + _PIECE_BYTES, "right")) - 1)
            last = min(last, numbers.stop)
            begin, end = int(ends[at]), int(ends[last])
            piece = letters[begin:end].tobytes()
            place = 0
            while (match := pattern.search(piece, place)) is not None:
                number = int(np.searchsorted(ends, begin + match.start(), "right")) - 1
                place = int(ends[number + 1]) - begin
                if begin + match.end() <= int(ends[number + 1]):  # not across the end of one and the next
                    found.append(number)
                else:
                    place = match.start() + 1
                if len(found) == count:
                    return found, number + 1 if number + 1 < numbers.stop else None
            at = last
        return found, None

    def _of_class(self, left: range, text: str, count: int, label: int) -> tuple[list[int], int | None]:
        labels = self._catalog.labels
        if labels is None:
            return [], None
        of_class = np.flatnonzero(labels[left.start : left.stop] == label) + left.start
        found: list[int] = []
        deadline = time.monotonic() + _SEARCH_S
        wanted = text.casefold()
        for number in of_class.tolist():
            if len(found) == count or time.monotonic() > deadline:
                return found, number
            if not wanted or wanted in self._catalog.name(number).decode("utf-8", "replace").casefold():
                found.append(number)
        return found, None

    def _file(self, number: int) -> dict[str, Any]:
        catalog = self._catalog
        return {
            "file": number,
            "path": _text(catalog.file_path(number)),
            "videos": len(catalog.videos_of(number)),
            "bytes": int(catalog.file_bytes[number]),
        }

    def _video(self, number: int) -> dict[str, Any]:
        catalog = self._catalog
        label = None if catalog.labels is None else catalog.labels[number].item()
        file = int(catalog.video_file[number])
        return {
            "video": number,
            "name": catalog.name(number).decode("utf-8", "replace"),
            "file": file,
            "path": _text(catalog.file_path(file)),
            "frames": int(catalog.frame_counts[number]),
            "label": None if label is None else _value(label, catalog.classes or ()),
        }

    def _field(self, number: int) -> dict[str, Any]:
        facts = self._catalog.facts[number]
        field = facts.field
        return {
            "name": field.name,
            "kind": field.kind,
            "dtype": field.dtype,
            "shape": list(field.shape),
            "encoded": facts.storage == "encoded",
            "formats": [each.name for each in self._catalog.codecs(field.name)],
        }

    def _classes(self) -> list[dict[str, Any]]:
        labels, classes = self._catalog.labels, self._catalog.classes
        if labels is None or labels.dtype.kind not in "iu" or not len(labels):
            return []
        values, counts = np.unique(labels, return_counts=True)
        order = np.argsort(-counts, kind="stable")[:_MOST_CLASSES]
        return [
            {"label": int(values[each]), "name": _value(int(values[each]), classes or ()), "videos": int(counts[each])}
            for each in order
        ]


def _pattern(text: str) -> re.Pattern[bytes]:
    """Return what finds a text in UTF-8, whatever its case: bytes know no case but that of ASCII."""
    letters = [sorted({each, each.lower(), each.upper()}) for each in text]
    written = [[re.escape(form.encode("utf-8", "surrogateescape")) for form in forms] for forms in letters]
    return re.compile(b"".join(b"(?:%s)" % b"|".join(forms) for forms in written))


def _histogram(counts: NDArray[np.int64]) -> dict[str, Any]:
    if not len(counts):
        return {"edges": [], "counts": []}
    low, high = int(counts.min()), int(counts.max())
    bars = min(_BARS, high - low + 1)
    found, edges = np.histogram(counts, bars, (low, high + 1))
    median = int(np.partition(counts, len(counts) // 2)[len(counts) // 2])
    return {"edges": [round(float(each), 2) for each in edges], "counts": found.tolist(), "median": median}


def _value(value: Any, classes: tuple[str, ...]) -> Any:
    found = np.asarray(value)
    if classes and found.size == 1 and found.dtype.kind in "iu" and 0 <= int(found) < len(classes):
        return classes[int(found)]
    if found.dtype.kind == "S":
        return bytes(found.reshape(-1)[0]).decode("utf-8", "replace") if found.size else ""
    numbers = [each if np.isfinite(each) else str(each) for each in found.reshape(-1)[:16].tolist()]
    return numbers[0] if found.ndim == 0 else numbers


def _text(path: str) -> str:
    """Return a path for people: bytes that are no UTF-8 are shown as such."""
    return path.encode("utf-8", "surrogateescape").decode("utf-8", "replace")
