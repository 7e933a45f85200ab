"""Says how files that hold a part of each row, pictures here and labels there, become one. Opens no file."""

from __future__ import annotations

import json
import shlex
from typing import TYPE_CHECKING

from loader_service.stores.urls import is_url

if TYPE_CHECKING:
    from collections.abc import Sequence

#: More files than these are shards of a data set, and no parts of its rows.
_MOST_PARTS = 4

#: Copies what lies at the top of each file; a name that two have gets the number of its file.
_CODE = (
    'import h5py; out = h5py.File("joined.h5", "w"); [out.copy(h5py.File(path)[name], name if name not in out else '
    'f"{{name}}_{{number}}") for number, path in enumerate({}) for name in h5py.File(path)]'
)


def how_to_join(paths: Sequence[str], counts: Sequence[int] = ()) -> str:
    """Return the end of a refusal, with the command that makes one file of a few; empty where that cannot be meant.

    `counts`: the rows of each, where they are known.
    """
    if not 1 < len(paths) <= _MOST_PARTS or len(set(counts)) > 1 or any(map(is_url, paths)):
        return ""
    command = f"python -c {shlex.quote(_CODE.format(json.dumps(list(paths), ensure_ascii=False)))}"
    return f"; or, if row n of each of these files belongs together, make one of them and give that: `{command}`"
