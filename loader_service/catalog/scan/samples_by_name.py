"""How files that hold a part of each sample under its name, pictures and their features, become one. Opens no file."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from loader_service.catalog.joining import NUMBERS, Joined, how_to_join
from loader_service.catalog.schema_text import pattern_of
from loader_service.catalog.videos.readings import in_one_line
from loader_service.schema import Schema, SchemaField

if TYPE_CHECKING:
    from collections.abc import Sequence

    from loader_service.catalog.findings import FileScan

    #: The scan of each file, with its path.
    Files = Sequence[tuple[str, FileScan]]

#: Names that come back by chance in the next file are fewer.
_FEWEST = 2


def how_to_join_samples(files: Files) -> str:
    """Return the end of a refusal, with the command and the schema by which what has one name is one sample.

    Empty where the datasets of the files have other names, or none of the files holds one picture, or array, a name.
    """
    (_, first), stems = files[0], [Path(path).stem for path, _ in files]
    alike = all(scan.names == first.names and _is_one_each(scan) for _, scan in files)
    single = any((scan.frame_counts == 1).all() for _, scan in files)
    if not alike or not single or len(first.names) < _FEWEST or len(set(stems)) < len(stems):
        return ""
    command = how_to_join([path for path, _ in files], how=Joined.FILES)
    if not command or NUMBERS in command:
        return ""
    fields = tuple(_field(stem, scan) for stem, (_, scan) in zip(stems, files, strict=True))
    return f"{command}, with a --schema FILE: {in_one_line(Schema(('groups',), fields))}"


def _is_one_each(scan: FileScan) -> bool:
    """Tell whether each video of a file is one dataset."""
    return scan.layout == "groups" and [field.key for field in scan.fields] == [""] and not scan.empty_videos


def _field(stem: str, scan: FileScan) -> SchemaField:
    """Return what a file holds as a field, each dataset being one entry; encoded pictures are so as they are."""
    (field,), counts = scan.fields, set(scan.frame_counts.tolist())
    shape = field.shape if counts == {1} else (0 if len(counts) > 1 else min(counts), *field.shape)
    whole = None if field.storage == "encoded" else shape
    return SchemaField.across(pattern_of(stem, "files"), field.kind, whole, name=stem)
