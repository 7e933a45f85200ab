"""Matrices whose rows are genes, or other features, and whose columns are samples, by the lists beside them. Pure."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

    from loader_service.catalog.hdf5.tree import DatasetInfo

#: What has one number in each sample, as lists, or groups of them, are called; ``row_attrs`` by loom.
_FEATURES = re.compile(
    r"(^|[/_])(genes?|gene_?(names?|ids?|symbols?)|transcripts?|isoforms?|features?|variables?|probe(set)?s?|proteins?|"
    r"peaks?|markers?|snps?|cpgs?|otus?|taxa|row_attrs)(_?(names?|ids?|index))?(/|$)",
    re.IGNORECASE,
)

#: What samples are called, in the same places.
_SAMPLES = re.compile(
    r"(^|[/_])(cells?|barcodes?|samples?|patients?|subjects?|participants?|donors?|individuals?|specimens?|spots?|"
    r"observations?|persons?|col_attrs)(_?(names?|ids?|index))?(/|$)",
    re.IGNORECASE,
)

_MATRIX_AXES = 2


def line_of_samples_in_columns(matrix: DatasetInfo, datasets: Iterable[DatasetInfo]) -> str:
    """Return the words for a matrix ``(features, samples)``: what names its rows and its columns; empty if none is."""
    if len(matrix.shape) != _MATRIX_AXES:
        return ""
    lists = [info for info in datasets if len(info.shape) == 1]
    features = [info.path for info in lists if info.shape[0] == matrix.shape[0] and _FEATURES.search(info.path)]
    samples = [info.path for info in lists if info.shape[0] == matrix.shape[1] and _SAMPLES.search(info.path)]
    if not features or not samples or set(features) & set(samples):
        return ""
    return (
        f"{matrix.describe()} has a row for each of {features[0]!r}, and a column for each of {samples[0]!r}: samples "
        "are its columns, it seems, and rows are samples here; write np.transpose(array); as it lies, it is"
    )
