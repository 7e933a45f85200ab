"""The schema of a catalog: which datasets are fields and what a video is, as TOML that people edit. Opens no HDF5."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, get_args

import numpy as np

from loader_service.errors import ConfigError
from loader_service.protocol.fields import SERVICE_FIELDS
from loader_service.record_class import record

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib  # the same, for Python 3.10

if TYPE_CHECKING:
    from collections.abc import Sequence

FieldKind = Literal["image", "array", "value"]

#: What a video is: a group, or dataset, of a file; a whole file; a whole file that is a table, its frames being rows;
#: a row of a vlen dataset, its frames being numbers; some rows of a file's datasets, which lie end to end; or a row of
#: datasets ``(videos, frames, …)``, padded to one length.
VideoLayout = Literal["groups", "files", "table", "vlen", "spans", "padded"]

#: What stands, in a schema, for the group that is a video.
VIDEO = "{video}"

Shape = tuple[int, ...]

#: A side in a shape that is as the files have it; one of 0 is a side that differs, also where these files agree.
ANY_SIDE = -1

#: How long a video is whose fields are not: as long as all of them, or an error; or as its shortest field.
Lengths = Literal["equal", "shortest"]

_KEYS = {"videos", "lengths", "field"}
_FIELD_KEYS = {"name", "kind", "dataset", "dtype", "shape"}


@record(frozen=True)
class SchemaField:
    """One field: what it is called, and where it is.

    Attributes
    ----------
    name, kind
        As in `CatalogField`.
    dataset
        Patterns of paths, as in `patterns.matches`, that may begin with ``{video}``, or, where groups are fields with a
        dataset, or a group, for each video (``labels/{video}/class``), or numbers of videos are in the names of
        datasets (``actions_{video}``), have it there, with a star for the number of a frame behind it where each frame
        is a dataset (``subject{video}_frame*``, and of words ``{video}_*``), or a star for groups of which each dataset
        is a video (``*/{video}``); ``@name`` as the last part is an attribute. The first that is in a file counts
        there.
    dtype, shape
        What is expected of each frame or value; empty: any dtype that is the same everywhere; None: any shape. A side
        of 0 differs: ``(0, 4)`` of a vlen dataset is a list of boxes. One of `ANY_SIDE` is as the files have it.
    """

    name: str
    kind: FieldKind
    dataset: tuple[str, ...]
    dtype: str = ""
    shape: Shape | None = None

    @classmethod
    def at(cls, path: str, kind: FieldKind = "array", shape: Shape | None = None, *, name: str = "") -> SchemaField:
        """Return what lies at a path, called like it, or by a name; with a shape it is one frame."""
        return cls(free_name(name or path), kind, (path,), "", shape)

    @classmethod
    def in_group(
        cls, key: str, kind: FieldKind = "array", shape: Shape | None = None, *, name: str = ""
    ) -> SchemaField:
        """Return what lies at a path in the group of its video; without a path, what is the video itself."""
        return cls.at(f"{VIDEO}/{key}" if key else VIDEO, kind, shape, name=name or key or "values")

    @classmethod
    def across(
        cls, group: str, kind: FieldKind = "array", shape: Shape | None = None, *, name: str = ""
    ) -> SchemaField:
        """Return what has the name of its video in a group, called like that."""
        path = f"{group}/{VIDEO}" if group else VIDEO
        return cls.at(path, kind, shape, name=name or group.rpartition("/")[2] or "values")


def free_name(path: str) -> str:
    """Return what a field at a path is called in a schema: no name that every stream has a field of already."""
    name = path.replace("/", "_")
    return f"{name}_of_file" if name in SERVICE_FIELDS else name


@record(frozen=True)
class Schema:
    """What a video is, in the order in which files are asked, its fields, and where it ends if they differ."""

    videos: tuple[VideoLayout, ...]
    fields: tuple[SchemaField, ...]
    lengths: Lengths = "equal"

    @property
    def names(self) -> frozenset[str]:
        """Names of the fields."""
        return frozenset(field.name for field in self.fields)


def schema_from_json(facts: dict[str, Any]) -> Schema:
    """Return the schema that `dataclasses.asdict` and JSON took apart."""
    fields = tuple(
        SchemaField(
            each["name"],
            each["kind"],
            tuple(each["dataset"]),
            each["dtype"],
            None if each["shape"] is None else tuple(each["shape"]),
        )
        for each in facts["fields"]
    )
    return Schema(tuple(facts["videos"]), fields, facts["lengths"])


def read_schema(path: str) -> Schema:
    """Return the schema in a TOML file.

    Raises
    ------
    ConfigError
        When it cannot be read, or is no schema; the message names file, field and key.
    """
    try:
        content = tomllib.loads(Path(path).read_text(encoding="utf-8"))
    except OSError as error:
        raise ConfigError(
            f"--schema {path!r}: {error.strerror}; give a TOML file, as `inspect --toml` writes"
        ) from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ConfigError(f"--schema {path!r} is no TOML: {error}; correct it there") from error
    try:
        return _read(content)
    except ConfigError as error:
        raise ConfigError(f"--schema {path!r}: {error}") from error


def _read(content: dict[str, Any]) -> Schema:
    _check_keys("the schema", content, _KEYS)
    videos = _texts("the schema", "videos", content.get("videos", "groups"))
    for layout in videos:
        _check_choice("the schema", "videos", layout, get_args(VideoLayout))
    lengths = content.get("lengths", "equal")
    _check_choice("the schema", "lengths", lengths, get_args(Lengths))
    tables = content.get("field")
    if not isinstance(tables, list) or not tables or not all(isinstance(each, dict) for each in tables):
        raise ConfigError("expected at least one [[field]]; add one for each field")
    fields = tuple(_read_field(number, each) for number, each in enumerate(tables, 1))
    if len({field.name for field in fields}) < len(fields):
        raise ConfigError("expected a name of its own for each [[field]]; two have the same")
    if all(field.kind == "value" for field in fields):
        raise ConfigError("expected a field of kind 'image' or 'array', whose frames make the videos; add one")
    return Schema(videos, fields, lengths)  # type: ignore[arg-type] # checked above


def _read_field(number: int, table: dict[str, Any]) -> SchemaField:
    name = table.get("name")
    where = f"[[field]] {number}" + (f" ({name!r})" if isinstance(name, str) else "")
    _check_keys(where, table, _FIELD_KEYS)
    if not isinstance(name, str) or not name:
        raise ConfigError(f"{where}: name={name!r}; give a text")
    if name in SERVICE_FIELDS:
        raise ConfigError(f"{where}: every stream has a field of that name already; choose another")
    _check_choice(where, "kind", table.get("kind"), get_args(FieldKind))
    dtype, shape = table.get("dtype", ""), table.get("shape")
    if not isinstance(dtype, str) or (dtype and not _is_dtype(dtype)):
        raise ConfigError(f"{where}: dtype={dtype!r} is none; give a NumPy name such as 'float32', or leave it out")
    if shape is not None and not (
        isinstance(shape, list) and all(type(each) is int and each >= ANY_SIDE for each in shape)
    ):
        raise ConfigError(
            f"{where}: shape={shape!r}; give a list of whole numbers (0: differs, -1: any), or leave it out"
        )
    dataset = tuple(map(_without_slash, _texts(where, "dataset", table.get("dataset"))))
    return SchemaField(name, table["kind"], dataset, dtype, None if shape is None else tuple(shape))


def _without_slash(pattern: str) -> str:
    """Return a path without the slash of the root; of the root itself, and of its attributes, it is all there is."""
    return pattern if pattern[1:2] in {"", "@"} else pattern.removeprefix("/")


def _is_dtype(name: str) -> bool:
    return name == "bool" or (name[:1] == "S" and name[1:].isdecimal()) or name in np.sctypeDict


def _check_keys(where: str, table: dict[str, Any], known: set[str]) -> None:
    for key in table:
        if key not in known:
            raise ConfigError(f"{where}: unknown key {key!r}; there are {', '.join(sorted(known))}")


def _check_choice(where: str, key: str, value: Any, choices: Sequence[str]) -> None:
    if value not in choices:
        raise ConfigError(f"{where}: {key}={value!r}; choose one of {', '.join(map(repr, choices))}")


def _texts(where: str, key: str, value: Any) -> tuple[str, ...]:
    texts = [value] if isinstance(value, str) else value
    if not isinstance(texts, list) or not texts or not all(isinstance(each, str) and each for each in texts):
        raise ConfigError(f"{where}: {key}={value!r}; give a text, or a list of texts")
    return tuple(texts)
