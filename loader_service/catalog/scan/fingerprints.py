"""What stands for the content of a catalog, so that two can be compared without their columns. Knows no file."""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import numpy.typing as npt

    from loader_service.catalog.header import CatalogKind, FieldFacts

#: Columns that say where the files and their bytes are, and not what the bytes are: a file that was touched, copied or
#: written anew may differ in them and still give the same samples.
_PLACES = frozenset(
    {
        "file_sizes",
        "file_mtimes",
        "file_inodes",
        "file_bytes",
        "name_words",  # the names are covered
        "paths",
        "path_bounds",
        "codecs",  # the bytes of a few frames are covered
        "ways",
        "path_rules",
        "extent_offsets",
        "addresses",
        "elements",
        "firsts",
        "digits",
        "strides",
        "swapped",
    }
)


def content_fingerprint(
    kind: CatalogKind,
    fields: Sequence[FieldFacts],
    columns: Mapping[str, npt.NDArray[Any]],
) -> str:
    """Return what is equal for catalogs of equal samples: 32 hex digits.

    It covers videos, their names, order and numbers of frames, fields, values, labels and classes, sizes of pictures,
    the encoded length of every frame, and the bytes of a few frames of each file (`content_sample`).
    """
    facts = [kind, [_known(each) for each in fields]]
    total = hashlib.blake2b(json.dumps(facts).encode("ascii"), digest_size=16)
    for name in sorted(columns):
        if name.partition(".")[0] not in _PLACES:
            column: Any = np.ascontiguousarray(columns[name])
            total.update(json.dumps([name, column.dtype.str, column.shape]).encode("ascii"))
            total.update(column.reshape(-1).view(np.uint8))
    return total.hexdigest()


def _known(facts: FieldFacts) -> dict[str, Any]:
    """Return what counts of a field; the longest sides only where sides differ, as most fields' do not."""
    known = asdict(facts.field)
    if not facts.field.most:
        del known["most"]
    return known


def labels_digest(labels: Sequence[object]) -> str:
    """Return what stands for the labels that a file gives its videos."""
    return hashlib.blake2b(json.dumps(labels, default=repr).encode("ascii"), digest_size=16).hexdigest()
