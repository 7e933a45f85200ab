"""One file of a store that only fsspec reaches, such as a hub of models or an FTP server; read by ranges.

Its requests name no version. So a file is looked at again, at most once a second, after a read: what was read since the
look before is given out only when the file is the same still.
"""

from __future__ import annotations

import math
import time
from typing import TYPE_CHECKING, Any

from loader_service.errors import ConfigError
from loader_service.stores.faults import OTHER_VERSION, ObjectChanged, RefusedFault, StoreFault, missing_extra
from loader_service.stores.object_version import ObjectVersion
from loader_service.url_secrets import whole_url, without_secrets

if TYPE_CHECKING:
    from loader_service.stores.urls import StoreUrl

#: Of what stores say of a file, what tells its version: checksums before times.
_TAGS = (
    "ETag", "etag", "e_tag", "blob_id", "md5", "md5Hash", "checksum", "sha256", "content_hash", "generation",
    "LastModified", "last_modified", "modified", "modify", "mtime", "last_write_time", "updated",
)  # fmt: skip

#: How long what was read may be of a version that was looked at before, in seconds.
_LOOK_AGAIN_S = 1.0


class FsspecObject:
    """A file that is open for reading; used by any number of threads.

    Parameters
    ----------
    url
        Where it lies.
    version
        The one that is read, where that is known.

    Raises
    ------
    StoreFault
        When it cannot be had now, in one line.
    ConfigError
        When a library that reaches it is not installed.
    """

    def __init__(self, url: StoreUrl, version: ObjectVersion | None = None) -> None:
        self.url = url
        self.version = version or look(url)
        self._looked_at = -math.inf if version else time.monotonic()

    def read_at(self, offset: int, length: int) -> bytes:
        """Return bytes of the file, all of them.

        Raises
        ------
        ObjectChanged
            When it is another file by now.
        StoreFault
            When they do not come, now.
        """
        length = min(length, self.version.size_bytes - offset)
        if length <= 0:
            return b""
        system, name = file_system(self.url)
        try:
            data = _read(system, name, offset, length)
        except Exception as error:
            raise fsspec_fault(self.url, error) from error
        if len(data) != length:
            raise StoreFault(f"{str(self.url)!r}: expected {length} bytes at byte {offset}, got {len(data)}")
        now = time.monotonic()
        if now - self._looked_at > _LOOK_AGAIN_S:
            if look(self.url) != self.version:
                raise ObjectChanged(f"{str(self.url)!r}: {OTHER_VERSION}")
            self._looked_at = now
        return data


def file_system(url: StoreUrl) -> tuple[Any, str]:
    """Return what reaches a file, for this thread, and its name there; raises as `FsspecObject` does."""
    try:
        import fsspec  # noqa: PLC0415 - 0.1 s, and most services have no store
    except ImportError as error:
        raise missing_extra(str(url)) from error
    try:
        system, name = fsspec.core.url_to_fs(whole_url(str(url)))
    except ImportError as error:
        raise ConfigError(f"{str(url)!r} needs a library that is not installed: {_one_line(url, error)}") from error
    except Exception as error:
        raise fsspec_fault(url, error) from error
    return system, str(name)


def look(url: StoreUrl) -> ObjectVersion:
    """Return what identifies the file that a URL names now; raises as `FsspecObject` does."""
    system, name = file_system(url)
    try:
        system.invalidate_cache()
        info = system.info(name)
    except Exception as error:
        raise fsspec_fault(url, error) from error
    if info.get("type") == "directory" or info.get("size") is None:
        raise RefusedFault(f"{str(url)!r} is no file of a known size; give a file")
    tag = next((str(info[each]) for each in _TAGS if info.get(each)), None)
    if tag is None:
        raise StoreFault(f"{str(url)!r}: the server says neither a checksum nor a time, so a change would go unseen")
    return ObjectVersion(int(info["size"]), tag)


def matching(url: StoreUrl) -> list[str]:
    """Return the keys of the files that match a URL's pattern, in any order; raises as `FsspecObject` does."""
    system, name = file_system(url)
    _, folder = file_system(url._replace(key=url.listed_prefix))
    try:
        found = system.glob(name)
    except Exception as error:
        raise fsspec_fault(url, error) from error
    return [url.listed_prefix + str(each).removeprefix(folder.rstrip("/")).lstrip("/") for each in found]


def below(url: StoreUrl) -> list[str]:
    """Return the keys of all files in a folder and below it, in any order; raises as `FsspecObject` does."""
    system, folder = file_system(url)
    try:
        found = system.find(folder)
    except Exception as error:
        raise fsspec_fault(url, error) from error
    return [url.key + str(each).removeprefix(folder.rstrip("/")).lstrip("/") for each in found]


def fsspec_fault(url: StoreUrl, error: Exception) -> StoreFault:
    """Return the fault that an error stands for, in one line without secrets."""
    if isinstance(error, StoreFault):
        return error
    if isinstance(error, FileNotFoundError):
        return RefusedFault(
            f"{str(url)!r}: there is no such file; check the name, and what may be read without a login"
        )
    return StoreFault(f"{str(url)!r}: {_one_line(url, error)}")


def _read(system: Any, name: str, offset: int, length: int) -> bytes:
    if getattr(system, "async_impl", False):
        return bytes(system.cat_file(name, start=offset, end=offset + length))
    with system.open(name, "rb", cache_type="none") as file:  # else it reads megabytes around what is asked for
        file.seek(offset)
        return bytes(file.read(length))


def _one_line(url: StoreUrl, error: Exception) -> str:
    words = without_secrets(" ".join(str(error).split()), str(url)) or type(error).__name__
    return words if len(words) <= _MOST_WORDS else words[:_MOST_WORDS].rstrip() + " …"


#: What is kept of a library's own words.
_MOST_WORDS = 160
