"""A schema that a refusal shows of one file serves files of its writer with other lengths and sizes."""

from __future__ import annotations

import re
import shutil
from contextlib import closing
from pathlib import Path

import h5py
import numpy as np
import pytest

from loader_service.errors import CatalogError, ConfigError
from tests.catalog.advice import schemas_in
from tests.public_layouts.expectations import Case, Refused
from tests.public_layouts.reading import files_of
from tests.public_layouts.table import TABLE
from tests.support.catalogs import catalog_of, names_of

_SHAPE = re.compile(r"shape = \[[^]]*]")


@pytest.mark.parametrize("case", [pytest.param(each, id=each.name) for each in TABLE.values() if each.may_be_refused])
def test_each_schema_that_a_refusal_shows_serves_a_file_of_other_sizes(tmp_path: Path, case: Case) -> None:
    (tmp_path / "written").mkdir()
    layout = case.write(tmp_path / "written")
    if not isinstance(layout.undeclared, Refused):
        pytest.skip("not refused")
    file = files_of(tmp_path / "written", layout)[0]
    shown = _shown(tmp_path, file)
    if not shown:
        pytest.skip("no schema shown")
    of_other = _shown(tmp_path, _resized(file, tmp_path / f"other_{file.name}"))
    if [_SHAPE.sub("shape", each) for each in shown] != [_SHAPE.sub("shape", each) for each in of_other]:
        pytest.skip("of other sizes it is another layout")
    for schema, own in zip(shown, of_other, strict=True):
        facts = [_facts(tmp_path, tmp_path / f"other_{file.name}", each) for each in (schema, own)]
        assert facts[0] == facts[1]


def _shown(folder: Path, file: Path) -> list[str]:
    try:
        catalog_of(folder, file).close()
    except (CatalogError, ConfigError) as error:
        return schemas_in(str(error)) if "`videos = " in str(error) else []
    return []


def _facts(folder: Path, file: Path, schema: str) -> object:
    """Return what a schema makes of a file, but for which sides differ: those that did where it was made."""
    (folder / "schema.toml").write_text(schema, encoding="utf-8")
    with closing(catalog_of(folder, file, schema=str(folder / "schema.toml"))) as found:
        fields = [(each.name, each.kind, each.dtype, each.most or each.shape) for each in found.fields]
        return fields, names_of(found), found.frame_counts.tolist()


#: Sides up to this one count channels or coordinates, and stay.
_MOST_KEPT = 4


def _resized(file: Path, copy: Path) -> Path:
    """Return a copy of a file in which each side but the smallest ones is longer by two."""
    shutil.copy(file, copy)
    with h5py.File(copy, "r+") as root:
        paths: list[str] = []
        root.visititems(lambda path, node: paths.append(path) if isinstance(node, h5py.Dataset) else None)
        for path in paths:
            shape = tuple(side + 2 * (side > _MOST_KEPT) for side in root[path].shape or ())
            if shape != root[path].shape and root[path].shape and not root[path].is_virtual:
                values, dtype, attributes = root[path][()], root[path].dtype, dict(root[path].attrs)
                for axis, side in enumerate(shape):
                    values = np.take(values, np.arange(side) % values.shape[axis], axis=axis)
                del root[path]
                root.create_dataset(path, data=values, dtype=dtype).attrs.update(attributes)
    return copy
