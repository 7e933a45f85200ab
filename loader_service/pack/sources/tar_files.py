"""Tars of samples, as WebDataset writes them: the files of one key are a video, or one picture."""

from __future__ import annotations

import gzip
import json
import re
import zlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from io import BytesIO
from typing import TYPE_CHECKING, Any

import numpy as np

from loader_service.catalog.natural import natural_key
from loader_service.errors import PackError
from loader_service.formats.tars import TarMember, locate_samples, read_member, read_samples
from loader_service.pack.records import Beside, Item, Recoding, checked_name
from loader_service.pack.source_files import Part, opened
from loader_service.pack.sources.in_turn import InTurnReader
from loader_service.pack.sources.source_kind import Look
from loader_service.pack.sources.tfrecord_files import pack_features

if TYPE_CHECKING:
    from loader_service.pack.frame_blob import FrameSink

#: An extension that numbers the pictures of a sample: ``000.jpg``, ``frame_000.jpg``, ``top.000.jpg``.
_NUMBERED = re.compile(r"^(?:(.*?)[._-]?)??([0-9]+)\.(jpe?g|png)$")
_PICTURES = frozenset({"jpg", "jpeg", "png"})

#: Extensions of files that hold a number in decimal digits, as WebDataset reads them; other texts stay texts.
_NUMBERS = frozenset({"cls", "cls2", "class", "count", "index", "inx", "id"})

#: First bytes of compressed files; Python reads all but the last.
_COMPRESSED, _ZSTD = (b"\x1f\x8b", b"BZh", b"\xfd7zXZ"), b"\x28\xb5\x2f\xfd"


class TarFiles:
    """A video for each sample, called by its key."""

    name = "tar"
    takes = "tars of samples, as WebDataset writes them"

    def __init__(self) -> None:
        self._compressed = InTurnReader(read_samples)

    def claims(self, look: Look) -> bool:
        """Tell whether a file is a tar."""
        return any(_is_tar(file, head) for file, head in look.sample())

    def items(self, look: Look, *, labelled: bool) -> Iterator[Item]:  # noqa: ARG002 - a sample says its label itself
        """Yield a video for each sample; where two files have samples of one key, each puts its own into a group."""
        found = list(self._samples(look))
        owners: dict[str, str] = {}
        repeats = any(owners.setdefault(item.name, file) != file for file, item in found)
        for file, item in found:
            yield replace(item, name=f"{_stem(file)}/{item.name}") if repeats and not item.fault else item

    def _samples(self, look: Look) -> Iterator[tuple[str, Item]]:
        """Yield the file of each sample, and the sample."""
        for file, head, path in look.those(_is_tar):
            if head.startswith(_ZSTD):
                raise PackError(f"{path!r} is compressed with zstd, which is not read; unpack it with `zstd -d` first")
            is_compressed = head.startswith(_COMPRESSED)
            places = look.until_damage(_inflated_places(path) if is_compressed else _places(path), self.name, path)
            for found in places:
                if isinstance(found, Item):
                    yield file, found
                    continue
                yield file, self._item(look, path, found, in_turn=is_compressed)

    def _item(self, look: Look, path: str, found: tuple[str, tuple[Any, ...], int], *, in_turn: bool) -> Item:
        key, place, size = found
        try:
            return Item(self.name, checked_name(key.strip("/"), path), path, place, size, in_turn=in_turn)
        except PackError as error:
            if not look.skips:
                raise
            return Item(self.name, key, path, fault=str(error))

    def files(self, item: Item) -> list[str]:
        """Return the tar."""
        return [item.path]

    def parts(self, item: Item) -> Iterable[Part]:
        """Return where the files of the sample lie; of a compressed tar, which is read in order, nothing."""
        if item.in_turn:
            return []
        members = [TarMember(*member) for member in item.place[1]]
        return sorted((item.path, member.offset, member.size) for member in members)

    def read(self, item: Item, recoding: Recoding, sink: FrameSink) -> Beside:
        """Read the files of the sample."""
        is_plain = not item.in_turn
        contents = (
            contents_of(item.path, item.place) if is_plain else self._compressed.read(item.path, *item.place).files
        )
        where = f"{item.path!r}, sample {item.name!r}"
        return pack_features(features_of(contents, where), recoding, sink, where)


def _places(path: str) -> Iterator[tuple[str, tuple[Any, ...], int]]:
    """Yield the key of each sample of a tar, where its files lie, and their bytes."""
    with opened(path) as file:
        for sample in locate_samples(file):
            members = tuple(tuple(member) for member in sample.members.values())
            yield sample.key, (tuple(sample.members), members), sum(member.size for member in sample.members.values())


def _inflated_places(path: str) -> Iterator[tuple[str, tuple[Any, ...], int]]:
    """Yield the key of each sample of a compressed tar, its number, and the bytes of its files; reads all of it."""
    with opened(path) as file:
        for number, sample in enumerate(read_samples(file)):
            yield sample.key, (number,), sum(map(len, sample.files.values()))


def sample_places(path: str) -> Iterator[tuple[tuple[Any, ...], int]]:
    """Yield where the files of each sample of a tar lie, and their bytes; for `contents_of`."""
    return ((place, size) for _, place, size in _places(path))


def contents_of(path: str, place: Sequence[Any]) -> dict[str, bytes]:
    """Return the files of a sample of a tar that is not compressed, by their extensions."""
    extensions, members = place
    with opened(path) as file:
        return {
            extension: read_member(file, TarMember(*member))
            for extension, member in zip(extensions, members, strict=True)
        }


def _stem(file: str) -> str:
    return re.sub(r"\.(tar(\.\w+)?|tgz)$", "", file)


def _is_tar(file: str, head: bytes) -> bool:
    return head[257:262] == b"ustar" or (
        bool(head) and file.endswith((".tar", ".tar.gz", ".tgz", ".tar.bz2", ".tar.xz", ".tar.zst"))
    )


def features_of(contents: dict[str, bytes], where: str) -> dict[str, Any]:
    """Return the files of a sample, by their extensions, as named features: numbered pictures are one of many.

    Raises
    ------
    PackError
        When a file is not what its extension says.
    """
    features: dict[str, Any] = {}
    beside: dict[str, Any] = {}
    for extension in sorted(contents, key=natural_key):
        content = contents[extension]
        if extension.endswith(".gz"):
            extension, content = extension.removesuffix(".gz"), _inflated(extension, content, where)  # noqa: PLW2901
        numbered, (name, _, kind) = _NUMBERED.match(extension), extension.rpartition(".")
        if numbered:
            features.setdefault(numbered[1] or "frames", []).append(content)
        elif kind in _PICTURES:
            features.setdefault(name or (kind if "frames" in features else "frames"), []).append(content)
        else:
            found = _feature(extension, content, where)
            taken = beside.keys() & found.keys()  # such as the text and the array of one name
            beside |= {f"{key}_{kind}" if key in taken else key: value for key, value in found.items()}
    clashing = features.keys() & beside.keys()
    return features | {f"{name}_packed" if name in clashing else name: value for name, value in beside.items()}


def _inflated(extension: str, content: bytes, where: str) -> bytes:
    try:
        return gzip.decompress(content)
    except (OSError, EOFError, zlib.error) as error:
        raise PackError(
            f"{where}: {extension!r} is not what it is called: {error}; correct it, or leave it out"
        ) from error


def _feature(extension: str, content: bytes, where: str) -> dict[str, Any]:
    name, _, kind = extension.rpartition(".")
    try:
        if kind == "json":
            found = json.loads(content)
            return found if isinstance(found, dict) and not name else {name or "json": [json.dumps(found).encode()]}
        if kind in _NUMBERS:
            text = content.strip().decode()
            return {name or kind: np.array([int(text)]) if text.lstrip("-").isdecimal() else [text.encode()]}
        if kind == "npy":
            return {name or "npy": _array(content)}
    except ValueError as error:
        raise PackError(
            f"{where}: {extension!r} is not what it is called: {error}; correct it, or leave it out"
        ) from error
    return {extension if kind in {"txt", "text"} and name else name or kind: [content]}


def _array(content: bytes) -> Any:
    """Return an array of numbers or texts; of what HDF5 and batches have no type for, the file as it is."""
    array = np.load(BytesIO(content), allow_pickle=False)
    if array.dtype.kind == "U":
        return np.char.encode(array, "utf-8", "surrogatepass")
    is_number = array.dtype.kind in "biuf" and array.dtype.itemsize <= 8
    return array if is_number or array.dtype.kind == "S" else [content]
