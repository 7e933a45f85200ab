"""Says how what is called as videos that are a dataset each is a value of them: ``subject_1_affine``."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from loader_service.catalog.inner_paths import parent_of
from loader_service.catalog.scan.unknown_files import works
from loader_service.catalog.schema_text import pattern_of
from loader_service.catalog.sides import can_differ
from loader_service.catalog.videos.aside.set_aside import is_aside
from loader_service.catalog.videos.beside.fields_beside import small_value
from loader_service.catalog.videos.readings import in_one_line
from loader_service.schema import VIDEO, Schema, SchemaField
from loader_service.sizes import counted

if TYPE_CHECKING:
    from collections.abc import Sequence

    from loader_service.catalog.hdf5.tree import DatasetInfo
    from loader_service.catalog.scan.undeclared_file import UndeclaredFile
    from loader_service.catalog.videos.episodes import Episode

#: A name that ends in a number.
_NUMBERED = re.compile(r"(.*\D)[0-9]+", re.DOTALL)


def lines_of_values_beside(file: UndeclaredFile) -> dict[str, str]:
    """Return a line for small arrays that are called as videos are, with the same ending behind the name of each.

    The line has the schema by which each video has them as values. It was tried on the file.
    """
    filled = file.found.filled
    before = _before_numbers(file, filled)
    if not before:
        return {}
    families = _families(file, filled)
    pattern = f"{pattern_of(before, 'files')}{VIDEO}"
    main = SchemaField.at(pattern, filled[0].parts[""].kind, name="values")
    values = [SchemaField.at(f"{pattern}{end}", "value", name=end.strip("_-. ") or "value") for end in families]
    schema = Schema(("groups",), (main, *values))
    if not families or not works(file.hdf5, file.tree, schema, labelled=False):
        return {}
    members = [info for infos in families.values() for info in infos]
    line = (
        f"{counted(len(members), 'dataset')} such as {members[0].describe()} have the names of videos with more behind "
        f"them; {in_one_line(schema)} in a --schema serves them as values of these, in a file"
    )
    return dict.fromkeys([info.path for info in members], line)


def _before_numbers(file: UndeclaredFile, filled: Sequence[Episode]) -> str:
    """Return what stands before the numbers of videos that are a dataset of numbers each; empty where it differs."""
    if file.found.layout != "groups" or file.frames or len(filled) < 2:
        return ""
    before = set()
    for episode in filled:
        (key, part), *more = episode.parts.items()
        named = _NUMBERED.fullmatch(episode.name)
        if named is None or more or key or episode.root is not None or not part.has_plain_rows:
            return ""
        before.add(named[1])
    return before.pop() if len(before) == 1 and episode.name == part.path else ""


def _families(file: UndeclaredFile, filled: Sequence[Episode]) -> dict[str, list[DatasetInfo]]:
    """Return the small arrays beside videos, one for each, by what their names have behind those of the videos."""
    datasets, first = file.tree.datasets, filled[0].name
    ends = [path[len(first) :] for path in datasets if path.startswith(first) and parent_of(path) == parent_of(first)]
    families = {}
    for end in ends:
        infos = [datasets[path] for each in filled if (path := f"{each.name}{end}") in datasets]
        fits = len(infos) == len(filled) and all(small_value(info) and not is_aside(file.aside, info) for info in infos)
        alike = fits and len({info.dtype for info in infos}) == 1
        if end and not end[0].isdigit() and alike and can_differ("value", infos[0].dtype, [i.shape for i in infos]):
            families[end] = infos
    return families
