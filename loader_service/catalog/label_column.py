"""Makes one column of the labels of all videos, from the files or from a CSV file. Knows no other column."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from loader_service.catalog.label_csv import keys_of, match
from loader_service.errors import CatalogError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from loader_service.catalog.findings import FileScan
    from loader_service.catalog.labels import Label

Column = npt.NDArray[Any]


def label_column(
    files: Sequence[tuple[str, FileScan]], names: Sequence[str], rows: Mapping[str, str] | None
) -> tuple[Column | None, tuple[str, ...] | None]:
    """Return the labels of all videos as a column, and what its numbers stand for when the labels are texts.

    Parameters
    ----------
    files
        Path and scan of each, in the order of the catalog.
    names
        Of the videos, in the same order.
    rows
        What a CSV file says of labels, as `label_csv.read_csv` returns it; None: the files' own labels hold.

    Returns
    -------
    column
        ``(videos,) int64`` for whole numbers and texts, ``float32`` otherwise; None when no video has a label.
    classes
        The different texts, sorted; a text's number is its place among them.

    Raises
    ------
    CatalogError
        When only some videos have a label, or texts and numbers are mixed.
    ConfigError
        When a row of the CSV file names several videos.
    """
    paths = [path for path, scan in files for _ in scan.names]
    labels: Sequence[Label | None] = [label for _, scan in files for label in scan.labels]
    if rows is not None:
        inner_names = (name for _, scan in files for name in scan.names)
        videos = zip(paths, names, inner_names, strict=True)
        labels = match(rows, (keys_of(path, _all_names(path, name, inner)) for path, name, inner in videos))
    missing = [number for number, label in enumerate(labels) if label is None]
    if missing and (rows is not None or len(missing) < len(labels)):
        raise CatalogError(
            f"expected a label for each of {len(labels)} videos, found {len(labels) - len(missing)}; the first without "
            f"one is {names[missing[0]]!r} in {paths[missing[0]]!r}"
            + ("; add a row for it to --labels" if rows is not None else "")
        )
    return _to_column(labels)


def _all_names(path: str, name: str, inner: str) -> list[str]:
    """Return the names that a CSV file may use for a video; where its file is the video, the file's name too."""
    if name == inner:
        return [name]
    return [each for each in dict.fromkeys((name, path.rpartition("/")[2], inner)) if each]


def _to_column(labels: Sequence[Label | None]) -> tuple[Column | None, tuple[str, ...] | None]:
    kinds = {type(label) for label in labels}
    if kinds == {type(None)}:
        return None, None
    if kinds == {str}:
        texts = [label for label in labels if isinstance(label, str)]
        classes = sorted(set(texts))
        number = {text: place for place, text in enumerate(classes)}
        return np.array([number[text] for text in texts], np.int64), tuple(classes)
    if str in kinds:
        text = next(label for label in labels if isinstance(label, str))
        raise CatalogError(f"expected labels that are all texts or all numbers, found {text!r} among numbers")
    return np.array(labels, np.int64 if kinds == {int} else np.float32), None
