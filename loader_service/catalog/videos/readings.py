"""What to say where a file has two readings: both, each with the line of a schema that decides. Pure but for the trial.

`file_scan` tries each schema on the file before it is offered, so that what is advised works.
"""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING

from loader_service.catalog.sides import of_siblings
from loader_service.catalog.videos.frame_axis import kind_of_rows
from loader_service.errors import CatalogError
from loader_service.record_class import record
from loader_service.schema import VIDEO, Schema, SchemaField, free_name
from loader_service.sizes import counted

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from loader_service.catalog.hdf5.tree import DatasetInfo
    from loader_service.schema import FieldKind, VideoLayout

#: Fields that a line of schema shows; a user adds the others alike.
_MOST_FIELDS = 3


@record(frozen=True)
class Reading:
    """One reading of a file: what it would be, in words, and the schema that says so."""

    words: str
    schema: Schema

    @classmethod
    def of(cls, layout: VideoLayout, words: str, fields: Iterable[SchemaField]) -> Reading:
        """Return the reading by which each video is what a schema says in a word."""
        return cls(words, Schema((layout,), tuple(fields)))

    @classmethod
    def of_groups(cls, words: str, fields: Iterable[SchemaField]) -> Reading:
        """Return the reading by which each group, or each dataset, is a video."""
        return cls.of("groups", words, fields)

    @classmethod
    def of_table(cls, words: str, fields: Iterable[SchemaField]) -> Reading:
        """Return the reading of a file as one table."""
        return cls.of("table", words, fields)

    @classmethod
    def of_file(cls, words: str, fields: Iterable[SchemaField]) -> Reading:
        """Return the reading of a file as one video, or sample."""
        return cls.of("files", words, fields)


class TwoReadingsError(Exception):
    """A file can be read in more than one way, and nothing in it says which is meant.

    Parameters
    ----------
    found
        What was found, in words.
    readings
        What it can be.
    """

    def __init__(self, found: str, readings: Sequence[Reading]) -> None:
        super().__init__(found)
        self.found = found
        schemas = [(each, for_siblings(with_own_names(each.schema))) for each in readings if _counts(each.schema)]
        self.readings = tuple(replace(each, schema=schema) for each, schema in schemas)

    def text(self, tried: Sequence[Reading]) -> str:
        """Return the error in one line, with the readings whose schema was tried and works, or with all."""
        meant = ": " * bool(self.readings) + " or ".join(reading.words for reading in tried or self.readings)
        lines = "; or, ".join(f"for {reading.words}, {in_one_line(reading.schema)}" for reading in tried)
        remedy = f"say which in a --schema FILE: {lines}" if tried else "serve them by --source package.module:Name"
        sides = any(field.shape for reading in tried for field in reading.schema.fields)
        return f"{self.found}{meant}; {remedy}{_SIDES * sides}"


class FilesQuestionError(CatalogError):
    """Several files can be read in more than one way together; `scan` tries the schemas before they are shown.

    Parameters
    ----------
    question
        With all readings.
    behind
        What else helps, as the end of the message.
    """

    def __init__(self, question: TwoReadingsError, behind: str = "") -> None:
        super().__init__(f"{question.text(question.readings)}{behind}")
        self.question = question
        self.behind = behind


#: What is said of shapes in schemas.
_SIDES = "; in a shape, -1 is any side, 0 one that differs"


def for_siblings(schema: Schema) -> Schema:
    """Return a schema that was made of one file for others of its writer too, whose sides may differ."""
    fields = (replace(each, shape=None if each.shape is None else of_siblings(each.shape)) for each in schema.fields)
    return replace(schema, fields=tuple(fields))


def with_own_names(schema: Schema) -> Schema:
    """Return a schema of which each field has a name of its own, nor that of the real sides of one: ``mask_length``.

    Fields of one name are called by their paths, and by a number behind where these are alike too.
    """
    counts = Counter(field.name for field in schema.fields)
    own = [each if counts[each.name] == 1 else replace(each, name=_name_by_path(each)) for each in schema.fields]
    taken = {f"{field.name}_{sides}" for field in own for sides in ("length", "shape")}
    fields: list[SchemaField] = []
    for each in own:
        name = f"{each.name}_of_file" if each.name in taken else each.name
        used = {field.name for field in fields}
        free = (f"{name}_{number}" for number in range(2, len(own) + 2) if f"{name}_{number}" not in used)
        fields.append(replace(each, name=next(free) if name in used else name))
    return replace(schema, fields=tuple(fields))


def _name_by_path(field: SchemaField) -> str:
    """Return what a field is called by its path, without what stands for a video or a frame."""
    parts = (part for part in field.dataset[0].split("/") if part not in {VIDEO, "*"})
    return free_name("/".join(parts)) or field.name


def _counts(schema: Schema) -> bool:
    """Tell whether a field of a schema can say how many frames there are: without one, it is no reading."""
    return any(field.kind != "value" for field in schema.fields)


def in_one_line(schema: Schema) -> str:
    """Return a schema as two lines of TOML, or three, which a message shows as one; it serves siblings of its file."""
    schema = for_siblings(schema)
    fields = ", ".join(_inline(field) for field in schema.fields[:_MOST_FIELDS])
    rest = len(schema.fields) - _MOST_FIELDS
    more = f" (and {counted(rest, 'more field')} alike, as far as wanted)" if rest > 0 else ""
    lengths = "" if schema.lengths == "equal" else f', `lengths = "{schema.lengths}"`'
    return f"`videos = {json.dumps(schema.videos[0])}`{lengths} and `field = [{fields}]`{more}"


def _inline(field: SchemaField) -> str:
    shape = "" if field.shape is None else f", shape = {list(field.shape)}"
    dataset = json.dumps(field.dataset[0], ensure_ascii=False)
    return f'{{name = {json.dumps(field.name)}, kind = "{field.kind}", dataset = {dataset}{shape}}}'


def as_field(path: str, pattern: str, kind: FieldKind = "value") -> str:
    """Return what to do to have what lies at a path as a field, by default a value of each video."""
    name, dataset = (json.dumps(each, ensure_ascii=False) for each in (free_name(path.replace("@", "")), pattern))
    field = f'[[field]] with name = {name}, kind = "{kind}" and dataset = {dataset}'
    return f"add a {field} to what `inspect --toml` prints"


def of_nearly_one_length(schema: Schema, counts: Sequence[int]) -> list[Reading]:
    """Return the reading of sequences as one video that ends with the shortest, if few frames are lost by that."""
    rest = max(counts) - min(counts)
    if rest > _MOST_LOST:
        return []
    ending = f"which ends with the shortest, without {counted(rest, 'frame')} of others"
    what = "cameras" if any(field.kind == "image" for field in schema.fields) else "sequences"
    words = f"one video with all {len(schema.fields)} {what}, {ending}"
    return [Reading(words, replace(schema, lengths="shortest"))]


#: Frames that a camera loses, or writes more than others, at the end of a recording.
_MOST_LOST = 2


def fields_of(
    datasets: Iterable[DatasetInfo], kind: FieldKind | None = None, *, whole: bool = False
) -> tuple[SchemaField, ...]:
    """Return datasets as fields of a schema, named by their paths; `whole`: each is one frame, as its shape says.

    `kind`: by default that of their rows, which may be pictures.
    """
    return tuple(
        SchemaField.at(info.path, kind or ("array" if whole else kind_of_rows(info)), info.shape if whole else None)
        for info in datasets
    )


def fields_in_groups(datasets: Iterable[DatasetInfo], kind: FieldKind | None = None) -> tuple[SchemaField, ...]:
    """Return datasets as fields of a schema, each in the group that is its video, as in others beside it."""
    return tuple(SchemaField.in_group(info.basename, kind or kind_of_rows(info)) for info in datasets)


def each_by_itself(words: str) -> Reading:
    """Return the reading by which each sequence of JPEGs is a video."""
    return Reading.of_groups(words, [SchemaField.in_group("", "image", name="frames")])


def without_chance(alike: Sequence[DatasetInfo], members: Sequence[DatasetInfo]) -> list[DatasetInfo]:
    """Return the datasets that have as many rows as the first by more than chance.

    Those that nothing but numbers name, and that have several lengths in their group, are rows of their own number:
    another file has others of that length.
    """
    lengths: dict[str, set[int]] = {}
    for info in members:
        if info.basename.isdecimal():
            lengths.setdefault(info.parent, set()).add(info.shape[0])
    first = alike[0]
    return [info for info in alike if info.basename == first.basename or len(lengths.get(info.parent, ())) < 2]
