"""LeRobot data sets, v2 (a file for each episode) and v3 (files of many episodes): tables in Parquet, cameras as films.

References
----------
``meta/info.json`` says where files are: ``data_path`` and ``video_path``, with the numbers of chunk, file and episode
as fields.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from loader_service.errors import ConfigError, PackError
from loader_service.pack.named_values import RaggedColumn, field_name, put_value
from loader_service.pack.recode import add_picture
from loader_service.pack.records import Beside, Item, Recoding
from loader_service.pack.source_files import content_of, for_library
from loader_service.pack.sources.source_kind import Look, SourceKind
from loader_service.pack.sources.video_files import FilmPart, read_film

if TYPE_CHECKING:
    from loader_service.pack.frame_blob import FrameSink

_INFO = "meta/info.json"

#: Where sets of version 3 list their episodes.
_EPISODES = re.compile(r"meta/episodes/[^/]+/[^/]+\.parquet")


class LeRobotSets(SourceKind):
    """A video for each episode, with a field for each camera and for each column of numbers."""

    name = "lerobot"
    takes = "LeRobot data sets, v2 and v3"

    def claims(self, look: Look) -> bool:
        """Tell whether there is a description of such a set."""
        return _INFO in look.files

    def items(self, look: Look, *, labelled: bool) -> Iterator[Item]:  # noqa: ARG002 - episodes have tasks
        """Yield a video for each episode."""
        root = str(look.root)
        info = _info(look.path_of(_INFO))
        there = set(map(look.path_of, look.files))
        for entry, episode in enumerate(_episodes(look, info)):
            try:
                number = int(episode["episode_index"])
                table, films = _files(root, info, episode)
            except (KeyError, TypeError, ValueError) as error:
                reason = f"expected its number and files, found no {error}; download the set again"
                raise PackError(f"{root!r}, entry {entry} of the list of episodes: {reason}") from error
            spans = [(key, path, span) for key, (path, span) in films.items()]
            paths = [table, *(path for _, path, _ in spans)]
            missing = next((path for path in paths if path not in there), None)
            fault = f"{missing!r}, of episode {number}, is not there; download the set again" if missing else ""
            if fault and not look.skips:
                raise PackError(fault)
            size = int(episode.get("length", 1)) * _FRAME_BYTES * max(1, len(spans))
            tasks = _texts(episode.get("tasks"))
            place = (number, table, spans, tasks, info.get("fps"))
            yield Item(self.name, f"episode_{number:06}", root, place, size, fault=fault)

    def files(self, item: Item) -> list[str]:
        """Return the table and the films."""
        _, table, spans, *_ = item.place
        return [table, *(path for _, path, _ in spans)]

    def read(self, item: Item, recoding: Recoding, sink: FrameSink) -> Beside:
        """Read the rows of the episode, and decode its films."""
        number, table, spans, tasks, fps = item.place
        if recoding.fps is not None:
            raise ConfigError("--fps: the numbers of an episode belong to its frames; pack LeRobot sets without it")
        rows = _rows(table, number)
        beside = Beside(frame_rate=None if fps is None else float(fps))
        where = f"{table!r}, episode {number}"
        main = "frames" if len(spans) == 1 else None
        for key, path, span in spans:
            part = FilmPart(main or field_name(key), None if span is None else (span[0], span[1]))
            read_film(path, recoding, sink, part)
        for name, column in rows.items():
            _take(beside, sink, name, column, (recoding, where))
        if tasks:
            beside.values["task"] = tasks[0] if len(tasks) == 1 else json.dumps(tasks)
        return beside


#: Of a frame of a camera: a guess that only says how far packing is.
_FRAME_BYTES = 20_000


def _table(path: str, filters: list[tuple[str, str, Any]] | None = None) -> Any:
    """Return a table, or its rows that a filter lets through; raises what PyArrow and `for_library` raise."""
    try:
        import pyarrow.parquet  # noqa: PLC0415 - in an extra
    except ImportError as error:
        raise ConfigError(
            "tables are read by PyArrow, which is not here; pip install 'loader-service[pack]'"
        ) from error
    with for_library(path) as source:
        return pyarrow.parquet.read_table(source, filters=filters)


def _info(path: str) -> dict[str, Any]:
    try:
        info = json.loads(content_of(path))
        version, _ = str(info["codebase_version"]), info["features"].items()
    except (ValueError, KeyError, TypeError) as error:
        raise PackError(f"{path!r} does not describe a LeRobot set: {error!r}; download it again") from error
    if not version.startswith(("v2", "v3")):
        raise PackError(f"{path!r}: LeRobot {version}; expected v2 or v3: convert the set with LeRobot's own script")
    return dict(info)


def _episodes(look: Look, info: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield the entries of all episodes, in order; raises PackError when they cannot be read."""
    path = look.path_of("meta/episodes.jsonl")
    try:
        if str(info["codebase_version"]).startswith("v2"):
            lines = content_of(path).decode().splitlines()
            yield from (json.loads(line) for line in lines if line.strip())
            return
        for path in map(look.path_of, sorted(filter(_EPISODES.fullmatch, look.files))):
            table = _table(path)
            names = [name for name in table.column_names if not name.startswith("stats/")]
            yield from table.select(names).to_pylist()
    except (OSError, ValueError) as error:  # PyArrow's own are of these kinds
        raise PackError(f"{path!r}: it does not list the episodes: {error}; download the set again") from error


def _files(root: str, info: dict[str, Any], episode: dict[str, Any]) -> tuple[str, dict[str, tuple[str, Any]]]:
    """Return the table of an episode, and by camera its film, and from when to when it lies in there."""
    cameras = [name for name, feature in info["features"].items() if feature.get("dtype") == "video"]
    if str(info["codebase_version"]).startswith("v2"):
        number = int(episode["episode_index"])
        numbers = {"episode_index": number, "episode_chunk": number // int(info.get("chunks_size") or 1000)}
        table = _inside(root, info["data_path"], numbers)
        return table, {key: (_inside(root, info["video_path"], {**numbers, "video_key": key}), None) for key in cameras}
    films: dict[str, tuple[str, Any]] = {}
    for key in cameras:
        place = {name: int(episode[f"videos/{key}/{name}"]) for name in ("chunk_index", "file_index")}
        span = tuple(float(episode[f"videos/{key}/{name}"]) for name in ("from_timestamp", "to_timestamp"))
        films[key] = _inside(root, info["video_path"], {**place, "video_key": key}), span
    place = {name: int(episode[f"data/{name}"]) for name in ("chunk_index", "file_index")}
    return _inside(root, info["data_path"], place), films


def _inside(root: str, pattern: str, values: dict[str, Any]) -> str:
    """Return a path that a set names, which must lie in it."""
    try:
        inner = os.path.normpath(pattern.format(**values))
    except (KeyError, ValueError, AttributeError, IndexError) as error:
        raise PackError(f"{root!r}: {pattern!r} is no path of LeRobot: {error!r}; download the set again") from error
    if os.path.isabs(inner) or inner.startswith(".."):
        raise PackError(f"{root!r}: {inner!r} lies outside of the set; do not use it")
    return os.path.join(root, inner)


def _texts(found: Any) -> list[str]:
    return [str(each) for each in found] if isinstance(found, (list, tuple)) else []


def _rows(path: str, episode: int) -> dict[str, tuple[list[Any], Any]]:
    """Return the columns of one episode, and the type of their numbers; None of what is no number."""
    table = _table(path, [("episode_index", "=", episode)])
    if not table.num_rows:
        raise PackError(f"{path!r} has no rows of episode {episode}; download the set again")
    return {each.name: (table.column(each.name).to_pylist(), _number_type(each.type)) for each in table.schema}


def _number_type(kind: Any) -> Any:
    while hasattr(kind, "value_type"):
        kind = kind.value_type
    try:
        found = np.dtype(kind.to_pandas_dtype())
    except (NotImplementedError, TypeError):
        return None
    return found if found.kind in "biuf" else None


def _take(
    beside: Beside, sink: FrameSink, name: str, column: tuple[list[Any], Any], told: tuple[Recoding, str]
) -> None:
    """Take a column: pictures, or numbers with an entry for each frame."""
    cells, dtype = column
    recoding, where = told
    if isinstance(cells[0], dict) and "bytes" in cells[0]:
        for number, cell in enumerate(cells):
            if not cell["bytes"]:
                raise PackError(f"{where}, frame {number}: {name!r} names a picture, and has none; embed it")
            add_picture(sink, cell["bytes"], recoding, f"{where}, frame {number}", field_name(name))
    elif dtype is None:
        put_value(beside, name, [_text_of(each) for each in cells], len(cells))
    else:
        try:
            beside.columns[field_name(name)] = np.array(cells, dtype)
        except (ValueError, TypeError) as error:
            lists = RaggedColumn.of([[] if each is None else each for each in cells], dtype)
            if lists is None:
                differ = f"{where}: the entries of {name!r} differ: {error}"
                reason = f"{where}, frame {cells.index(None)}: {name!r} has no number" if None in cells else differ
                raise PackError(f"{reason}; leave the episode out") from error
            beside.lists[field_name(name)] = lists


def _text_of(cell: Any) -> str | bytes:
    """Return a cell that is no number as a text: none as an empty one, lists and structures as JSON."""
    if isinstance(cell, (str, bytes)):
        return cell
    return "" if cell is None else json.dumps(cell, default=str)
