"""Opens what a URL names, by the library that reaches it. Knows no HDF5."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from loader_service.stores.urls import StoreUrl, parse_url

if TYPE_CHECKING:
    from loader_service.stores.object_version import ObjectVersion


class OpenStored(Protocol):
    """An object that is open for reading; used by any number of threads."""

    url: StoreUrl
    version: ObjectVersion

    def read_at(self, offset: int, length: int) -> bytes:
        """Return bytes of it, all of them; raises ObjectChanged when it is another now, StoreFault when none come."""
        ...


def open_stored(path: str, version: ObjectVersion | None = None) -> OpenStored:
    """Open an object.

    Parameters
    ----------
    path
        Its URL.
    version
        Which version of it is read, where that is known: it is not asked for then.

    Raises
    ------
    StoreFault
        When it cannot be had now, in one line.
    ConfigError
        When the library that reads it is not installed.
    """
    url = _url(path)
    if url.needs_fsspec:
        from loader_service.stores.fsspec_objects import FsspecObject  # noqa: PLC0415 - few services have such files

        return FsspecObject(url, version)
    from loader_service.stores.objects import StoredObject  # noqa: PLC0415 - likewise

    return StoredObject(path, version)


def version_of(path: str) -> ObjectVersion:
    """Return what identifies the object that a URL names now; raises as `open_stored` does."""
    url = _url(path)
    if url.needs_fsspec:
        from loader_service.stores.fsspec_objects import look  # noqa: PLC0415 - as above

        return look(url)
    from loader_service.stores.objects import look_at, open_store  # noqa: PLC0415 - likewise

    return look_at(open_store(url), url)


def _url(path: str) -> StoreUrl:
    url = parse_url(path)
    if url is None:
        raise ValueError(f"{path!r} is no URL of an object")
    return url
