"""Opens the folder that the cache has for itself below ``--cache-dir``, and tells its names from others'.

A user may name any folder as ``--cache-dir``, such as a project with folders ``scans`` and ``catalogs`` of its own. So
the cache stays in a marked folder of its own name, and touches nothing there that it could not have written.
"""

from __future__ import annotations

import os
import re
import secrets
from pathlib import Path

from loader_service.marked_folders import mark, write_new
from loader_service.private_folders import Folder, open_folder

#: Names of what is being written, or was when its process was killed, begin so.
_UNFINISHED = ".new-"

_UNFINISHED_NAME = re.compile(r"\.new-[0-9a-f]{16}\Z")
_SCAN_FOLDER = re.compile(r"[0-9a-f]{2}\Z")
_SCAN = re.compile(r"[0-9a-f]{30}\.npz\Z")
_BUNDLE = re.compile(r"[0-9a-f]{32}\.bundle\Z")
_CATALOG = re.compile(r"[0-9a-f]{32}\Z")

SCANS, CATALOGS = "scans", "catalogs"

#: In the folder of scans: the folder of files that hold many.
BUNDLES = "bundles"

_MARK = b"""# loader-service keeps here what it found in files. It can be removed at any time; see https://bford.info/cachedir/
"""


def cache_path(cache_dir: Path) -> Path:
    """Return the folder below `cache_dir` that is the cache's; each user has one."""
    return cache_dir / f"loader-service-cache-{os.geteuid()}"


def open_cache(cache_dir: Path, *, make: bool = False) -> Folder:
    """Open the cache's folder.

    Raises
    ------
    NotOurs
        When it is a link, somebody else's, or holds things but no marker.
    OSError
        When it is not there and not to be made, or cannot be.
    """
    with open_folder(cache_dir, make=make) as above:
        cache = above.folder(cache_path(cache_dir).name, make=make)
    try:
        mark(cache, _MARK, ", so it is no cache")
    except OSError:
        cache.close()
        raise
    return cache


def write_file(folder: Folder, name: str, content: bytes) -> None:
    """Write a file so that others see all of it or nothing.

    Raises
    ------
    OSError
        When it cannot be written.
    """
    unfinished = unfinished_name()
    write_new(folder, unfinished, content)
    try:
        folder.rename(unfinished, name)
    except OSError:
        folder.unlink(unfinished)
        raise


def unfinished_name() -> str:
    """Return a new name for what is being written."""
    return _UNFINISHED + secrets.token_hex(8)


def is_unfinished(name: str) -> bool:
    """Return whether a name can be that of what was begun and not finished."""
    return _UNFINISHED_NAME.match(name) is not None


def is_scan_folder(name: str) -> bool:
    """Return whether a name can be that of a folder of scans."""
    return _SCAN_FOLDER.match(name) is not None


def is_scan(name: str) -> bool:
    """Return whether a name can be that of a scan, in such a folder."""
    return _SCAN.match(name) is not None


def is_bundle(name: str) -> bool:
    """Return whether a name can be that of a file of many scans, in the folder of these."""
    return _BUNDLE.match(name) is not None


def is_catalog(name: str) -> bool:
    """Return whether a name can be that of a catalog."""
    return _CATALOG.match(name) is not None
