"""Which videos of an unfinished output are whole, a line each, and the manifest of a finished one."""

from __future__ import annotations

import json
import os
import zlib
from collections.abc import Iterable, Sequence
from itertools import chain
from pathlib import Path
from typing import Any

from loader_service.conversion.claimed_folder import write_whole
from loader_service.conversion.line_log import LineLog
from loader_service.errors import ConfigError
from loader_service.pack.pack_place import FORMAT, PackPlace
from loader_service.pack.records import PackedVideo
from loader_service.pack.shard_index import FIRST_BYTE

_PIECE_BYTES = 4 * 2**20


class PackJournal:
    """Lines about videos that are written whole, and about shards that are sealed; a context manager.

    Parameters
    ----------
    path
        Of the file; its place is claimed.

    Attributes
    ----------
    records
        The videos that runs before have written, by name.
    sealed
        The shards that they have sealed.
    """

    def __init__(self, path: Path) -> None:
        self.records: dict[str, PackedVideo] = {}
        self.sealed: set[int] = set()
        self._log = LineLog(os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666), self._take)

    def __enter__(self) -> PackJournal:
        return self

    def __exit__(self, *_: object) -> None:
        self._log.close()

    def wrote(self, records: Iterable[PackedVideo]) -> None:
        """Note that the bytes of some videos are in their shards."""
        self._log.write(record.as_json() for record in records)

    def seals(self, shard: int) -> None:
        """Note that a shard is about to get its name: from now on it is whole wherever it lies."""
        self._log.write([{"sealed": shard}], sync=True)

    def _take(self, said: dict[str, Any]) -> None:
        if "sealed" in said:
            self.sealed.add(int(said["sealed"]))
        else:
            record = PackedVideo.of_json(said)
            self.records[record.name] = record


def whole_records(path: Path, records: Sequence[PackedVideo]) -> list[PackedVideo]:
    """Return the records, up to the first gap, whose bytes are in a shard; all others are to be read again."""
    kept: list[PackedVideo] = []
    end = FIRST_BYTE
    if not path.exists():
        return kept
    with path.open("rb") as file:
        for record in sorted(records, key=lambda each: each.offset):
            if record.offset != end or _checksum(file.fileno(), record) != record.crc32:
                break
            kept.append(record)
            end = record.end
    return kept


def _checksum(descriptor: int, record: PackedVideo) -> int:
    crc, position = 0, record.offset
    while position < record.end:
        piece = os.pread(descriptor, min(_PIECE_BYTES, record.end - position), position)
        if not piece:
            return -1
        crc = zlib.crc32(piece, crc)
        position += len(piece)
    return crc


def write_manifest(place: PackPlace, options: dict[str, Any], records: Sequence[PackedVideo]) -> None:
    """Write what an output holds, one line for each video, by one rename; the place is claimed.

    The lines are in the order of the bytes, whatever the order in which processes have written them.
    """
    in_order = sorted(records, key=lambda record: (record.shard, record.offset))
    lines = chain([{**FORMAT, "options": options}], (record.as_json() for record in in_order))
    write_whole(place.manifest, place.new_manifest, (json.dumps(line).encode("ascii") + b"\n" for line in lines))


def read_manifest(path: Path, options: dict[str, Any]) -> list[PackedVideo]:
    """Return what an output holds already; nothing when there is none.

    Raises
    ------
    ConfigError
        When it was made with other options, or is no manifest.
    """
    if not path.exists():
        return []
    lines = path.read_text(encoding="ascii", errors="replace").splitlines()
    try:
        header = json.loads(lines[0])
        records = [PackedVideo.of_json(json.loads(line)) for line in lines[1:]]
        before = header["options"]
    except (ValueError, TypeError, KeyError, IndexError) as error:
        raise ConfigError(f"{str(path)!r} is no manifest of pack; move it away, or --force to pack all anew") from error
    for name, value in options.items():
        if before.get(name) != value:
            then, now = (_given(name, each) for each in (before.get(name), value))
            same = "give the same to add what is new, or --force to pack all anew"
            raise ConfigError(f"{str(path)!r}: packed {then}, and now {now}; {same}")
    return records


def _given(name: str, value: Any) -> str:
    """Return an option in words; 0 and None are what it is when it is not given."""
    flag = f"--{name.replace('_', '-')}"
    return f"with {flag} {value}" if value or (name == "shuffle" and value == 0) else f"without {flag}"
