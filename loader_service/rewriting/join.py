"""Makes one HDF5 file of several that hold a part of each sample each. Knows no catalog."""

from __future__ import annotations

import os
import re
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import h5py

from loader_service.catalog.inner_paths import unnumbered
from loader_service.catalog.joining import names_of_files
from loader_service.errors import CatalogError, ConfigError
from loader_service.rewriting.copied_file import CopiedFile
from loader_service.rewriting.new_file import new_file, opened

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from loader_service.catalog.joining import Joined
    from loader_service.rewriting.copied_file import Name

_NUMBER = re.compile(r"[0-9]+")


def join(how: Joined, paths: Sequence[str], output: str) -> None:
    """Write what lies in files into a new one.

    Raises
    ------
    CatalogError
        When a file cannot be read.
    ConfigError
        When the output is there already, or cannot be made.
    """
    with opened(paths) as files, new_file(output) as out:
        _COPIERS[how.value](out, files)


def join_numbered(kinds: Sequence[Sequence[str]], folder: str) -> list[str]:
    """Write a file into a new folder for each number, or name, that files of all kinds have; return their paths.

    By their names where these are the same for each kind, and a number comes back, or none is there.

    Parameters
    ----------
    kinds
        Files of each kind, such as pictures and masks.
    folder
        Where to write; must not be there yet.

    Raises
    ------
    CatalogError, ConfigError
        As `join`; also when a number is not one of each kind.
    """
    numbered = _by_names(kinds) or [{_last_number(path): path for path in paths} for paths in kinds]
    for paths, numbers in zip(kinds, numbered, strict=True):
        if len(numbers) < len(paths) or numbers.keys() != numbered[0].keys():
            raise CatalogError(
                f"expected files of the same numbers of each kind, each number once; {paths[0]!r} is one of "
                f"{len(paths)} with {len(numbers)} numbers, {kinds[0][0]!r} one of {len(kinds[0])}; give patterns of "
                "files that go together"
            )
    try:
        Path(folder).mkdir()
    except OSError as error:
        raise ConfigError(f"{folder!r} cannot be made: {error.strerror}; give another --output") from error
    names = _names_of_kinds([paths[0] for paths in kinds])
    written: list[str] = []
    try:
        for number in numbered[0]:
            path = str(Path(folder, f"{number}.h5"))
            with opened([paths[number] for paths in numbered]) as files, new_file(path) as out:
                _copy_kinds(out, files, names)
            written.append(path)
    except BaseException:
        for path in written:
            os.unlink(path)
        os.rmdir(folder)
        raise
    return written


def _by_names(kinds: Sequence[Sequence[str]]) -> list[dict[str, str]]:
    """Return the files of each kind by their names, if all have the same ones, that numbers do not tell apart."""
    named = [{Path(path).stem: path for path in paths} for paths in kinds]
    numbers = {found[-1] for stem in named[0] if (found := _NUMBER.findall(stem))}
    whole = all(len(names) == len(paths) for names, paths in zip(named, kinds, strict=True))
    alike = whole and all(names.keys() == named[0].keys() for names in named)
    return named if alike and len(numbers) < len(named[0]) else []


def _last_number(path: str) -> str:
    numbers = _NUMBER.findall(Path(path).stem)
    if not numbers:
        raise CatalogError(f"{path!r} has no number in its name; join such files by rows")
    return str(numbers[-1])


def _names_of_kinds(paths: Sequence[str]) -> list[str]:
    """Return what tells files of several kinds apart: a word of their names, or else their folders'; empty if neither.

    `paths`: a file of each kind.
    """
    words = [[word for word in _NO_WORD.split(Path(path).stem) if word] for path in paths]
    common = set(words[0]).intersection(*words)
    for names in (["_".join(word for word in each if word not in common) for each in words],
                  [Path(path).parent.name for path in paths]):  # fmt: skip
        if len(set(names)) == len(names) and all(names):
            return names
    return []


#: What parts the words of a file's name, numbers included.
_NO_WORD = re.compile(r"[^A-Za-z]+")


def _copy_kinds(out: h5py.File, files: Sequence[h5py.File], names: Sequence[str]) -> None:
    """Copy what lies at the top of each file; where all hold one dataset, of one name, by the names of their kinds.

    Datasets of the same numbers become those of a group for each kind.
    """
    tops = {tuple(file) for file in files}
    if names and _are_numbered_alike(files):
        for name, file in zip(names, files, strict=True):
            with _copied(file, out) as copied:
                copied.copy(file["/"], name)
        return
    if len(tops) > 1 or len(next(iter(tops))) != 1 or not names:
        _copy_tops(out, files)
        return
    for name, file in zip(names, files, strict=True):
        with _copied(file, out) as copied:
            copied.copy_attributes(file, out)
            copied.copy_member(file, next(iter(file)), name)


def _are_numbered_alike(files: Sequence[h5py.File]) -> bool:
    """Tell whether all files hold the same datasets, which only numbers tell apart, and nothing else."""
    first, *others = [set(file) for file in files]
    alike = len(first) > 1 == len(set(map(unnumbered, first))) and all(each == first for each in others)
    return alike and all(file.get(name, getclass=True) is h5py.Dataset for file in files for name in file)


def _copy_rows(out: h5py.File, files: Sequence[h5py.File]) -> None:
    """Copy what lies at the top of each file, as `_copy_kinds`, by what tells the names of files apart."""
    _copy_kinds(out, files, _names_of_kinds([file.filename for file in files]))


def _copy_tops(out: h5py.File, files: Sequence[h5py.File]) -> None:
    """Copy what lies at the top of each file; a name that two have gets the number of its file."""
    for number, file in enumerate(files):
        with _copied(file, out) as copied:
            copied.copy_attributes(file, out)
            for name in file:
                copied.copy_member(file, name, name if name not in out else f"{name}_{number}")


def _copy_groups(out: h5py.File, files: Sequence[h5py.File]) -> None:
    """Copy what lies in each group of each file into one group of that name; numbered datasets as `_copy_kinds`."""
    names = _names_of_kinds([file.filename for file in files])
    if names and _are_numbered_alike(files):
        _copy_kinds(out, files, names)
        return
    for number, file in enumerate(files):
        with _copied(file, out, partial(_free_name, out, number)) as copied:
            copied.copy(file["/"], "/")


def _free_name(out: h5py.File, number: int, path: str, is_group: bool) -> str:
    return path if is_group or path not in out else f"{path}_{number}"


def _copy_files(out: h5py.File, files: Sequence[h5py.File]) -> None:
    """Copy each file into a group of its own."""
    for name, file in zip(names_of_files([file.filename for file in files]), files, strict=True):
        with _copied(file, out) as copied:
            copied.copy(file["/"], name)


def _copy_names(out: h5py.File, files: Sequence[h5py.File]) -> None:
    """Copy each file under its name: its only dataset, or, into a group, all that lies at its top."""
    for stem, file in zip(names_of_files([file.filename for file in files]), files, strict=True):
        with _copied(file, out) as copied:
            copied.copy_attributes(file, out)
            for name in file:
                copied.copy_member(file, name, stem if len(file) == 1 else f"{stem}/{name}")


@contextmanager
def _copied(file: h5py.File, out: h5py.File, name: Name | None = None) -> Iterator[CopiedFile]:
    copied = CopiedFile(file, out, name=name)
    yield copied
    copied.finish()


_COPIERS: dict[str, Callable[[h5py.File, Sequence[h5py.File]], None]] = {
    "rows": _copy_rows,
    "groups": _copy_groups,
    "files": _copy_files,
    "names": _copy_names,
}
