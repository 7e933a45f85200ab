"""WebDataset tars: files of one key that follow each other are a sample. Nothing is ever extracted, no link followed.

The key of a file is its path up to the first dot of its name; what comes after that dot is its extension. So
``cats/001.jpg`` and ``cats/001.cls`` are the sample ``cats/001`` with the extensions ``jpg`` and ``cls``.
"""

from __future__ import annotations

import os
import re
import tarfile
import zlib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

from loader_service.formats.damage import DamagedInput
from loader_service.formats.range_file import RangeFile

#: Folder and name up to the first dot; what comes after it.
_KEY = re.compile(r"((?:.*/)?[^./][^./]*)\.([^/]+)\Z", re.DOTALL)

_BLOCK_BYTES = tarfile.BLOCKSIZE

#: Two blocks of zeros end an archive.
_END = bytes(2 * _BLOCK_BYTES)

#: A file in an archive of which more would have to be kept in memory is none of a sample.
MOST_MEMBER_BYTES = 2**32

_REMEDY = "write the tar again, or leave the rest of it out"


class TarMember(NamedTuple):
    """A file in an archive: its name, and where its bytes lie in the archive; in what a compressed one holds."""

    name: str
    offset: int
    size: int


class TarSample(NamedTuple):
    """A sample: its key, and its files by their extensions, in the order of the archive."""

    key: str
    members: dict[str, TarMember]


class TarContent(NamedTuple):
    """A sample with the content of its files, by their extensions, in the order of the archive."""

    key: str
    files: dict[str, bytes]


def split_name(name: str) -> tuple[str, str] | None:
    """Return key and extension of a file's name; None of one without either, which belongs to no sample."""
    found = _KEY.match(name.removeprefix("./"))
    return (found[1], found[2].lower()) if found else None


def locate_samples(file: RangeFile) -> Iterator[TarSample]:
    """Yield the samples of an archive that is not compressed, in order, and where their files lie; for `read_member`.

    Parameters
    ----------
    file
        At its beginning; is not closed.

    Raises
    ------
    DamagedInput
        When the archive is cut off, or is none, or is compressed; when a member is a link or a device; when a sample
        has two files of one extension.
    OSError
        When the archive cannot be read.
    """
    for key, group in _groups(_members(file, file.name, "r:"), file.name):
        yield TarSample(key, {extension: member for extension, (member, _) in group.items()})


def read_member(file: RangeFile, member: TarMember) -> bytes:
    """Return the bytes of a file in an archive; raises DamagedInput, OSError."""
    data = file.read_at(member.offset, member.size)
    if len(data) != member.size:
        raise DamagedInput(file.name, f"file {member.name!r}", member.offset, f"the archive is cut off; {_REMEDY}")
    return data


def read_samples(source: str | os.PathLike[str] | BinaryIO | RangeFile) -> Iterator[TarContent]:
    """Yield the samples of an archive with their content, in order; ``.tar``, ``.tar.gz``, ``.tar.bz2``, ``.tar.xz``.

    Parameters
    ----------
    source
        A path, or a file that is open for reading at its beginning, which need not be seekable, and is not closed.

    Raises
    ------
    DamagedInput
        As from `locate_samples`, but compressed archives are read.
    OSError
        When the archive cannot be opened or read.
    """
    if isinstance(source, (str, os.PathLike)):
        with Path(source).open("rb") as file:
            yield from _contents(file, os.fspath(source))
    else:
        yield from _contents(source, str(getattr(source, "name", "a stream")))


class SampleWriter:
    """Writes samples to an archive; a context manager that writes its end, and leaves the file open.

    The same samples give the same bytes: times are 0, and owners are not kept.

    Parameters
    ----------
    file
        Open for writing.
    """

    def __init__(self, file: BinaryIO) -> None:
        self._file = file

    def __enter__(self) -> SampleWriter:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if kind is None:
            self._file.write(_END)

    def write(self, key: str, files: Mapping[str, bytes]) -> None:
        """Write the files of a sample, by their extensions.

        Raises
        ------
        ValueError
            When no reader would find this key and extension again, such as for a key with a dot in its last part.
        OSError
            When the file cannot take it, such as on a full disk.
        """
        for extension, data in files.items():
            name = f"{key}.{extension}"
            if split_name(name) != (key, extension) or key.startswith("/"):
                raise ValueError(f"{name!r} is no name of a file of sample {key!r} with extension {extension!r}")
            info = tarfile.TarInfo(name)
            info.size = len(data)
            header = info.tobuf(tarfile.PAX_FORMAT, "utf-8", "surrogateescape")
            self._file.writelines((header, data, bytes(-len(data) % _BLOCK_BYTES)))


class _CutOffError(Exception):
    """An archive ends, or goes on with what is no header, where a header or its end must be."""


class _StrictInfo(tarfile.TarInfo):
    """A member; unlike its parent, it takes neither the end of the file nor garbage for the end of the archive."""

    @classmethod
    def fromtarfile(cls, tarfile: tarfile.TarFile) -> Any:
        try:
            found = super().fromtarfile(tarfile)
        except _HEADER_ERROR as error:
            if type(error).__name__ == "EOFHeaderError":  # a block of zeros
                raise
            raise _CutOffError(str(error)) from error
        if found.size < 0:  # it would lead back to itself
            raise _CutOffError(f"{found.name!r} has {found.size} bytes")
        return found


_HEADER_ERROR: Any = tarfile.HeaderError

#: What `tarfile` lets through of damaged archives, beside its own errors: of compressed ones, of numbers that are none
#: or have too many digits, and of headers that announce each other without end.
_OF_TARFILE = (EOFError, OSError, zlib.error, ValueError, OverflowError, RecursionError)

#: A file of an archive, and its content where that is read.
_Found = tuple[TarMember, bytes]


def _members(file: BinaryIO | RangeFile, name: str, mode: str) -> Iterator[_Found]:
    """Yield the regular files, with their content where the archive is read as a stream."""
    count, offset = 0, 0
    try:
        with tarfile.open(fileobj=file, mode=mode, tarinfo=_StrictInfo) as archive:  # type: ignore[call-overload]
            while (info := archive.next()) is not None:
                archive.members.clear()  # else it keeps them all
                offset = info.offset
                _refuse_special(info, name)
                if info.isreg():
                    data = b"" if mode == "r:" else _content(archive, info)
                    yield TarMember(info.name, info.offset_data, info.size), data
                count, offset = count + 1, archive.offset
            if _follows_another(archive.fileobj):
                reason = (
                    f"another archive follows the end of this one, as `cat` leaves it: give each by itself; {_REMEDY}"
                )
                raise DamagedInput(name, f"member {count}", offset, reason)
    except (_CutOffError, tarfile.TarError, *_OF_TARFILE) as error:
        if isinstance(error, OSError) and error.errno is not None:  # the disk's, not what bz2 says of its stream
            raise
        what = "the archive is cut off or damaged" if count else "it is no tar, or is cut off or damaged"
        raise DamagedInput(name, f"member {count}", offset, f"{what} ({error}); {_REMEDY}") from error


def _follows_another(file: Any) -> bool:
    """Tell whether a header comes behind the zeros that end an archive, as ``cat`` leaves it."""
    while piece := file.read(_BLOCK_BYTES):
        if piece.strip(b"\0"):
            return bool(piece[257:262] == b"ustar")
    return False


def _content(archive: tarfile.TarFile, info: tarfile.TarInfo) -> bytes:
    member = archive.extractfile(info)
    data = b"" if member is None else member.read()
    if len(data) != info.size:
        raise _CutOffError(f"{len(data)} of {info.size} bytes of {info.name!r}")
    return data


def _refuse_special(info: tarfile.TarInfo, name: str) -> None:
    reason = None
    if info.issym() or info.islnk():
        remedy = "write the file itself (tar --dereference --hard-dereference)"
        reason = f"it is a link to {info.linkname!r}, and links are never followed: {remedy}"
    elif info.issparse():
        reason = "it is a sparse file: write the tar without --sparse"
    elif not (info.isreg() or info.isdir()):
        reason = "it is no file: leave it out"
    elif info.size > MOST_MEMBER_BYTES:
        reason = f"{info.size} bytes, expected at most {MOST_MEMBER_BYTES}: leave it out"
    if reason is not None:
        raise DamagedInput(name, f"file {info.name!r}", info.offset, reason)


def _groups(members: Iterator[_Found], name: str) -> Iterator[tuple[str, dict[str, _Found]]]:
    """Yield the files of each key that follow each other, by their extensions; of none that is called ``__…__``."""
    key, group = "", dict[str, _Found]()
    for found in members:
        member = found[0]
        parts = split_name(member.name)
        if parts is None or (member.name.startswith("__") and member.name.endswith("__")):
            continue
        if parts[0] != key and group:
            yield key, group
            group = {}
        key = parts[0]
        if parts[1] in group:
            reason = f"sample {key!r} has a second file {parts[1]!r}: give them keys of their own"
            raise DamagedInput(name, f"file {member.name!r}", member.offset, reason)
        group[parts[1]] = found
    if group:
        yield key, group


def _contents(file: BinaryIO | RangeFile, name: str) -> Iterator[TarContent]:
    for key, group in _groups(_members(file, name, "r|*"), name):
        yield TarContent(key, {extension: data for extension, (_, data) in group.items()})
