"""Places that `unpack` has written: names, labels, types and shapes come back as its manifest says."""

from __future__ import annotations

import csv
import os
from collections.abc import Iterator
from functools import lru_cache
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from loader_service.catalog.natural import natural_key
from loader_service.conversion.unpack_manifest import MANIFEST_NAME, TABLE_NAME, unpack_manifest
from loader_service.errors import PackError
from loader_service.pack.named_values import pictures_name
from loader_service.pack.recode import add_picture
from loader_service.pack.records import Beside, Item, Recoding, checked_name
from loader_service.pack.restored_fields import restore_fields
from loader_service.pack.source_files import content_of, size_of
from loader_service.pack.sources.source_kind import Look, SourceKind
from loader_service.pack.sources.tar_files import contents_of, features_of, sample_places
from loader_service.pack.sources.tfrecord_files import example_at, record_places
from loader_service.pack.sources.video_files import FilmPart, read_film
from loader_service.sizes import counted

if TYPE_CHECKING:
    from loader_service.pack.frame_blob import FrameSink

_AGAIN = "unpack again, or say what it is with --from KIND"


class UnpackedPlaces(SourceKind):
    """A video for each sample, whatever it was written as."""

    name = "unpacked"
    takes = "what `loader-service unpack` has written"

    def claims(self, look: Look) -> bool:
        """Tell whether there is a manifest of ours."""
        return look.is_folder and MANIFEST_NAME in look.files and _manifest(look.root) is not None

    def items(self, look: Look, *, labelled: bool) -> Iterator[Item]:  # noqa: ARG002 - samples say their labels
        """Yield a video for each sample."""
        root = look.root
        manifest = _manifest(root) or {"entries": [], "keys": [], "names": [], "options": {"to": ""}}
        target = manifest["options"]["to"]
        if look.is_stored and target not in {"tfrecord", "webdataset"}:
            raise PackError(
                f"{look.given!r}: what was unpacked with --to {target} is read from local disks alone; copy the folder "
                "here, and name it there"
            )
        if target in {"folders", "mp4"}:
            yield from self._files(root, manifest)
            return
        for entry, names in zip(manifest["entries"], manifest["names"], strict=True):
            path = os.path.join(root, entry["path"])
            places = list(_record_places(path) if target == "tfrecord" else sample_places(path))
            if len(places) != len(names):
                raise PackError(
                    f"{path!r} holds {counted(len(places), 'sample')}, and its manifest names {len(names)}; {_AGAIN}"
                )
            for name, (place, size) in zip(names, places, strict=True):
                yield Item(self.name, checked_name(name, path), path, (root, target, *place), size)

    def _files(self, root: str, manifest: dict[str, Any]) -> Iterator[Item]:
        path = os.path.join(root, TABLE_NAME)
        with open(path, encoding="utf-8", errors="surrogateescape", newline="") as file:
            rows = list(csv.DictReader(file))
        keys, names = (list(chain.from_iterable(manifest[each])) for each in ("keys", "names"))
        if len(rows) != len(keys):
            found, expected = counted(len(rows), "row"), counted(len(keys), "sample")
            raise PackError(f"{path!r} has {found}, and its manifest names {expected}; {_AGAIN}")
        for key, name, row in zip(keys, names, rows, strict=True):
            item = Item(self.name, checked_name(name, root), root, (root, manifest["options"]["to"], key, row))
            yield Item(**{**vars(item), "size_bytes": sum(map(size_of, self.files(item)))})

    def files(self, item: Item) -> list[str]:
        """Return the shard, or the files of the sample."""
        root, target, *place = item.place
        if target not in {"folders", "mp4"}:
            return [item.path]
        return [path for paths in _paths(root, place[0]).values() for path in paths]

    def read(self, item: Item, recoding: Recoding, sink: FrameSink) -> Beside:
        """Read the sample."""
        root, target, *place = item.place
        fields, called = _fields(root)
        where = f"{item.path!r}, sample {item.name!r}"
        beside = Beside()
        if target == "tfrecord":
            found: dict[str, Any] = example_at(item.path, place, where)
        elif target == "webdataset":
            found = _by_field(features_of(contents_of(item.path, place), where), called)
        else:
            found = dict(place[1])
            for name, paths in _paths(root, place[0]).items():
                found[name] = _opened(paths)
        pictures = [field["name"] for field in fields if _is_pictures(field)]
        for name in pictures:
            self._add(found.pop(name, None) or found.pop("frames", []), (name, pictures), sink, (recoding, where))
        frames = max(sink.frame_counts().values(), default=_length(found))
        restore_fields(beside, [each for each in fields if each["name"] not in pictures], found, frames, where)
        return beside

    def _add(self, frames: Any, names: tuple[str, list[str]], sink: FrameSink, how: tuple[Recoding, str]) -> None:
        """Give the pictures of a field, or its film, to a sink."""
        name, (recoding, where) = names[0], how
        stream = "frames" if len(names[1]) == 1 else pictures_name(name)
        if isinstance(frames, str):
            read_film(frames, recoding, sink, FilmPart(stream))
            return
        for number, data in enumerate(frames):
            add_picture(sink, data, recoding, f"{where}, picture {number} of {name!r}", stream)


def _is_pictures(field: dict[str, Any]) -> bool:
    return field["kind"] == "image" or bool(field["encoded"])


def _manifest(root: str) -> dict[str, Any] | None:
    try:
        return unpack_manifest(content_of(os.path.join(root, MANIFEST_NAME)))
    except (OSError, PackError):
        return None


@lru_cache(maxsize=8)
def _fields(root: str) -> tuple[list[dict[str, Any]], dict[str, str]]:
    """Return the fields of a place, and what each is called in names of files."""
    manifest = _manifest(root)
    if manifest is None:
        raise PackError(f"{root!r} has lost its manifest; {_AGAIN}")
    return manifest["fields"], manifest["called"]


def _record_places(path: str) -> Iterator[tuple[tuple[Any, ...], int]]:
    return ((tuple(place), place.length) for place in record_places(path))


def _by_field(features: dict[str, Any], called: dict[str, str]) -> dict[str, Any]:
    """Return the files of a sample by field, whose names are in lower case there."""
    names = {part.lower(): name for name, part in called.items()}
    return {names.get(key, key): value for key, value in features.items()}


def _paths(root: str, key: str) -> dict[str, list[str]]:
    """Return the files of a sample by field: pictures or a film, and an array."""
    fields, called = _fields(root)
    pictures = [field["name"] for field in fields if _is_pictures(field)]
    folder = os.path.join(root, key)
    joint = "/" if os.path.isdir(folder) else "."
    found = {}
    for name, part in called.items():
        array = f"{folder}{joint}{part}.npy"
        if os.path.exists(array):
            found[name] = [array]
        elif name in pictures:
            found[name] = _pictures(folder, joint, part if len(pictures) > 1 else "")
    return found


def _pictures(folder: str, joint: str, part: str) -> list[str]:
    if joint == "/":
        inner = os.path.join(folder, part)
        names = sorted(os.listdir(inner), key=natural_key) if os.path.isdir(inner) else []
        return [os.path.join(inner, name) for name in names if name.endswith((".jpg", ".png"))]
    stem = f"{folder}.{part}" if part else folder
    return next(([path] for ending in ("jpg", "png", "mp4") if os.path.exists(path := f"{stem}.{ending}")), [])


def _opened(paths: list[str]) -> Any:
    """Return an array, the path of a film, or the bytes of pictures."""
    if paths and paths[0].endswith(".npy"):
        return np.load(paths[0], allow_pickle=False)
    if paths and paths[0].endswith(".mp4"):
        return paths[0]
    return [Path(path).read_bytes() for path in paths]


def _length(found: dict[str, Any]) -> int:
    """Return how many frames a sample without pictures has, as it says itself."""
    told = found.get("length", found.get("frames_packed", found.get("frames", 0)))
    return int(np.asarray(told).reshape(-1)[0])
