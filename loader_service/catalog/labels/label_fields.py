"""Makes the columns of labels of all videos, from the files, their folders or a CSV file. Knows no other column."""

from __future__ import annotations

from dataclasses import field
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy.typing as npt

from loader_service.catalog.inner_paths import basename_of, parent_of, unnumbered
from loader_service.catalog.labels.csv_columns import TableColumns
from loader_service.catalog.labels.encode import MIXTURE_REMEDY, MOST_CLASS_BYTES, LabelOrigin, class_bytes, encode
from loader_service.errors import CatalogError, ConfigError
from loader_service.record_class import record
from loader_service.scan_options import FOLDER, GROUP, NONE
from loader_service.sizes import counted

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from loader_service.catalog.labels.csv_file import LabelTable
    from loader_service.catalog.labels.encode import ClassList, Encoded, Label
    from loader_service.catalog.labels.row_index import NamedVideo

Column = npt.NDArray[Any]

#: Who has numbered the classes: the texts found in the files, all rows of a CSV file, or the user's list.
Numbering = Literal["files", "csv", "list"]


@record(frozen=True)
class Labelling:
    """What the user has said of labels.

    Attributes
    ----------
    pattern
        ``{folder}`` or ``{group}``, or whatever the scans of the files have heeded already.
    table
        What a CSV file says, if there is one.
    lists
        Lists of classes by field.
    """

    pattern: str | None = None
    table: LabelTable | None = None
    lists: Mapping[str, ClassList] = field(default_factory=dict)

    @property
    def gives_label(self) -> bool:
        """Whether something else than the files themselves says what `label` is."""
        return self.pattern in {FOLDER, GROUP} or (self.table is not None and self.table.has_label)


class Labelled(NamedTuple):
    """A video, and the label that its file gives it."""

    video: NamedVideo
    label: Label | None


@record(frozen=True)
class LabelField:
    """One field of labels.

    Attributes
    ----------
    name
        Of the field.
    values
        ``(videos,) int64`` for whole numbers and classes, ``float32`` otherwise.
    classes
        What the numbers stand for, if for anything.
    numbering
        Who has numbered the classes; None without.
    """

    name: str
    values: Column
    classes: tuple[str, ...] = ()
    numbering: Numbering | None = None


def label_fields(
    videos: Sequence[Labelled], labelling: Labelling, taken: Collection[str]
) -> tuple[list[LabelField], list[str]]:
    """Return the fields of labels, `label` first if there is one, and a line for each column that is none.

    Parameters
    ----------
    videos
        Of all files, in the order of the catalog.
    labelling
        What the user has said.
    taken
        Names that fields have already.

    Raises
    ------
    CatalogError
        When only some videos have a label, or the files' labels are mixed or no listed classes.
    ConfigError
        When the CSV file says what cannot be, or a list of classes is for no field.
    """
    fields: list[LabelField] = []
    left_out: list[str] = []
    lists = labelling.lists
    if labelling.table is None or not labelling.table.has_label:
        fields += _from_files(videos, labelling)
    if labelling.table is not None:
        columns = TableColumns(labelling.table, lists, taken)
        found = columns.of_videos([each.video for each in videos])
        fields += [_field_of(name, each, "list" if name in lists else "csv") for name, each in found.items()]
        left_out = columns.left_out
    for name, listed in lists.items():
        if not any(each.name == name for each in fields):
            raise ConfigError(
                f"--classes {listed.path!r} lists classes of the field {name!r}, and there are no such labels of "
                f"videos; there are {', '.join(repr(each.name) for each in fields) or 'none'}"
            )
    return _within_bounds(fields, labelling.table), left_out


def _within_bounds(fields: list[LabelField], table: LabelTable | None) -> list[LabelField]:
    """Refuse more classes in all fields together than one message can hold."""
    sizes = {each.name: class_bytes(each.classes) for each in fields}
    if sum(sizes.values()) > 2 * MOST_CLASS_BYTES:
        raise ConfigError(
            f"expected at most {2 * MOST_CLASS_BYTES} bytes of classes in all fields, found "
            f"{', '.join(f'{size} in {name!r}' for name, size in sizes.items() if size)}; take columns out of "
            f"{'the file' if table is None else repr(table.path)}"
        )
    return fields


def _field_of(name: str, encoded: Encoded, numbering: Numbering) -> LabelField:
    return LabelField(name, encoded.values, encoded.classes, numbering if encoded.classes else None)


def _from_files(videos: Sequence[Labelled], labelling: Labelling) -> list[LabelField]:
    if labelling.pattern == FOLDER:
        videos = [Labelled(each.video, _folder(each.video)) for each in videos]
    elif labelling.pattern == GROUP:
        videos = [Labelled(each.video, _group(each.video)) for each in videos]
    labels = [each.label for each in videos if each.label is not None]
    if not labels:
        return []
    missing = [each.video for each in videos if each.label is None]
    if missing:
        raise CatalogError(
            f"expected a label for each of {counted(len(videos), 'video')}, found {len(labels)}; the first "
            f"without one is {missing[0]}; write one there, give all with --labels FILE.csv, leave that file "
            f"out, or serve the videos without labels: --label '{NONE}'"
        )
    listed = labelling.lists.get("label")
    origin = LabelOrigin(CatalogError, lambda number: f"video {videos[number].video}", MIXTURE_REMEDY)
    encoded = encode(labels, origin, listed)
    for number, reason in encoded.unlisted.items():
        raise CatalogError(f"video {videos[number].video}: {reason}; add it there, or correct the label")
    return [_field_of("label", encoded, "files" if listed is None else "list")]


def _folder(video: NamedVideo) -> str:
    folder = basename_of(parent_of(video.path))
    if not folder.strip():
        raise ConfigError(f"--label {FOLDER!r}: {video.path!r} lies in no folder that has a name; move it into one")
    return folder


#: What helps where a group is a class: of datasets of pictures, with a row each, and of pictures that are datasets.
_CLASS_OF_ROWS = "give --labels FILE.csv, with a row 'video,label' for each, such as 'name,name'"
_CLASS_OF_PICTURES = (
    'and its frames are pictures of it, `dataset = "*/{video}"` in a --schema makes each picture a video'
)


def _group(video: NamedVideo) -> str:
    group = basename_of(parent_of(video.inner[0])) if video.inner else ""
    if not group.strip():
        rows = [path for path in video.inner[1:] if path.startswith(f"{video.inner[0]}/") and unnumbered(path) == path]
        raise ConfigError(
            f"--label {GROUP!r}: the video {video} lies in no group but the root; group the videos of each class, or "
            f"give --label {FOLDER!r} where files lie in a folder for each class; if the video is a class, "
            f"{_CLASS_OF_ROWS if rows else _CLASS_OF_PICTURES}"
        )
    return group
