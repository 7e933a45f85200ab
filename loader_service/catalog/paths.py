"""Which files the user's patterns name. Opens none of them."""

from __future__ import annotations

import glob
import os
import stat
from typing import TYPE_CHECKING

from loader_service.catalog.attempts import stat_patiently
from loader_service.catalog.closed_folders import closed_folders
from loader_service.catalog.natural import natural_key
from loader_service.errors import ConfigError
from loader_service.given_paths import local_path
from loader_service.stores.urls import is_url
from loader_service.url_secrets import refuse_clashes

if TYPE_CHECKING:
    from collections.abc import Sequence


def expand_patterns(patterns: Sequence[str]) -> list[str]:
    """Return the absolute paths of the files that patterns name, in natural order, each once.

    A pattern that is the name of an existing file stands for it, even if it holds ``*`` or ``[``. ``~`` and ``~user``
    at its beginning are homes.

    Raises
    ------
    ConfigError
        When a pattern matches nothing, or names something that is no readable file.
    """
    if not patterns:
        raise ConfigError("no files given; name them, or give a pattern such as 'data/*.h5'")
    refuse_clashes(map(os.fspath, patterns))
    paths: set[str] = set()
    for pattern in patterns:
        paths.update(path if is_url(path) else os.path.abspath(path) for path in _expand(os.fspath(pattern)))
    return sorted(paths, key=natural_key)


#: More files than these are not shown one by one.
_MANY = 8


def in_one_pattern(files: Sequence[str]) -> list[str]:
    """Return a pattern in place of many files of one folder, as a shell makes of one, where it names these alone."""
    folders = {os.path.dirname(path) for path in files}
    endings = {os.path.splitext(path)[1] for path in files}
    if len(files) <= _MANY or len(folders) > 1 or len(endings) > 1 or any(map(is_url, files)):
        return list(files)
    (ending,) = endings
    begin = os.path.commonprefix(list(files))  # noqa: RUF071 - in letters, as names begin
    pattern = f"{glob.escape(begin)}*{glob.escape(ending)}"
    return [pattern] if set(glob.glob(pattern)) == set(files) else list(files)


def _expand(pattern: str) -> list[str]:
    if not os.path.lexists(pattern) and is_url(pattern):
        # Here, not above: most services have no store.
        from loader_service.stores.listing import expand_url  # noqa: PLC0415

        return expand_url(pattern)
    if "\0" in pattern:
        raise ConfigError(f"{pattern!r} cannot be a path: it holds a zero byte")
    pattern = local_path(pattern)
    if os.path.lexists(pattern):
        if os.path.isdir(pattern):
            raise ConfigError(f"{pattern!r} is a directory; {_what_of(pattern)}")
        return [_check_file(pattern)]
    matched = glob.glob(pattern, recursive=True)
    if not matched:
        raise ConfigError(_nothing_at(pattern))
    files = [_check_file(path) for path in matched if not os.path.isdir(path)]
    if not files:
        raise ConfigError(f"{pattern!r} matches only directories; give {os.path.join(pattern, '*.h5')!r}")
    return files


def _nothing_at(pattern: str) -> str:
    """Return what is wrong with a name, or a pattern, of which there is nothing; says where it was looked for."""
    place = os.path.abspath(pattern)
    *above, last = _folders_of(place)
    listed = os.X_OK | os.R_OK * glob.has_magic(pattern)
    closed = next((each for each in above if _is_closed(each, os.X_OK)), last if _is_closed(last, listed) else None)
    if closed is not None:
        return f"{pattern!r} cannot be reached: permission denied in the folder {closed!r}; change its mode"
    inner = next(closed_folders(pattern), None)
    if inner is not None:
        return f"{pattern!r} matches no file that can be reached: permission denied in {inner!r}; change its mode"
    missing = next((each for each in _folders_of(place) if not os.path.isdir(each)), None)
    seen = "" if missing is None else f"; there is no folder {missing!r}"
    if not glob.has_magic(pattern):
        return f"{pattern!r} does not exist; check the path{seen or f': looked in {os.path.dirname(place)!r}'}"
    deeper = os.path.join(os.path.dirname(pattern), "*", os.path.basename(pattern))
    if missing is None and next(glob.iglob(deeper), None) is not None:
        seen = f"; one folder deeper there are some: give {deeper!r}"
    return f"{pattern!r} matches no file; check the path, and quote the pattern in the shell{seen}"


def _folders_of(place: str) -> list[str]:
    """Return the folders above a path, the first ones first, as far as no pattern is in them."""
    folders = [place := os.path.dirname(place)]
    while place != os.path.dirname(place):
        folders.append(place := os.path.dirname(place))
    return [each for each in reversed(folders) if not glob.has_magic(each)]


def _is_closed(folder: str, mode: int) -> bool:
    """Tell whether a folder is there, and this user may not do with it what a mode of `os.access` says."""
    return os.path.isdir(folder) and not os.access(folder, mode)


def _what_of(folder: str) -> str:
    """Return what to give in place of a folder: a pattern of the HDF5 files in it, or what packs its other files."""
    if _is_closed(folder, os.R_OK | os.X_OK):
        return "what is in it cannot be read: permission denied; change its mode"
    for inner in ("*.h5", "*.hdf5", "*/*.h5", "*/*.hdf5"):
        if next(glob.iglob(os.path.join(glob.escape(folder), inner)), None) is not None:
            return f"give {os.path.join(folder, inner)!r}"
    pattern = os.path.join(folder, "*.h5")
    return f"give {pattern!r}; there are no such files yet, and `loader-service pack` makes them of pictures and films"


def _check_file(path: str) -> str:
    try:
        mode = stat_patiently(path).st_mode
    except OSError as error:
        remedy = f"it is a link to {os.readlink(path)!r}: mend it" if os.path.islink(path) else "mend its folders"
        raise ConfigError(f"{path!r} cannot be reached: {error.strerror}; {remedy}, or leave it out") from error
    if not stat.S_ISREG(mode):
        place = f"; where a service listens there, its endpoint is ipc://{os.path.abspath(path)}"
        raise ConfigError(
            f"{path!r} is a device, pipe or socket; give HDF5 files{place if stat.S_ISSOCK(mode) else ''}"
        )
    if not os.access(path, os.R_OK):
        raise ConfigError(f"{path!r} cannot be read: permission denied; change its mode, or leave it out")
    return path
