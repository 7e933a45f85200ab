"""Which objects a URL names, and what identifies them. Reads none of them."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

from loader_service.errors import ConfigError
from loader_service.stores.faults import StoreFault, fault_of
from loader_service.stores.object_version import ObjectVersion
from loader_service.stores.objects import open_store
from loader_service.stores.open_stored import version_of
from loader_service.stores.urls import StoreUrl, matches, parse_url
from loader_service.url_secrets import keep_secrets

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

#: Objects that are asked for at a time.
_AT_A_TIME = 32

#: Objects that one pattern may name, so that a wrong one ends.
_MOST_OBJECTS = 1_000_000


def expand_url(text: str) -> list[str]:
    """Return the names of the objects that a URL names, which are URLs without secrets: its own, or those that match.

    Raises
    ------
    ConfigError
        When none can be had; names the URL, what is wrong and the remedy.
    """
    text = keep_secrets(text)
    url = parse_url(text)
    if url is None:
        raise ConfigError(f"{text!r} is no URL of an object; give scheme://bucket/key")
    if not url.key or url.key.endswith("/"):
        remedy = "give the file; a service is at ipc:///path/to/socket" if url.is_web else f"give {str(url) + '*.h5'!r}"
        raise ConfigError(f"{text!r} is a folder; {remedy}")
    if url.is_web and "*" in url.key:
        raise ConfigError(f"{text!r}: a web server does not say what it has; give each file's URL")
    try:
        if not url.is_pattern:
            version_of(str(url))
            return [str(url)]
        return _matching(url)
    except StoreFault as fault:
        raise ConfigError(str(fault.strerror)) from fault


def _matching(url: StoreUrl) -> list[str]:
    if url.needs_fsspec:
        from loader_service.stores.fsspec_objects import matching  # noqa: PLC0415 - few services have such files

        keys = matching(url)
    else:
        keys = []
        for key in _keys(url):
            if key == url.key:  # what is there as it is written counts, as on a local disk
                return [str(url)]
            if matches(key, url.key):
                keys.append(key)
    found = [str(url._replace(key=key)) for key in keys]
    if not found:
        raise ConfigError(f"{str(url)!r} matches no object; check the bucket and the prefix, and quote the pattern")
    return found


def _keys(url: StoreUrl) -> Iterator[str]:
    store = open_store(url)
    import obstore  # noqa: PLC0415 - most services have no store

    count = 0
    pages = iter(obstore.list(store, prefix=url.listed_prefix or None))
    while count <= _MOST_OBJECTS:
        try:
            some = next(pages, None)
        except Exception as error:
            raise fault_of(url, error) from error
        if some is None:
            return
        count += len(some)
        yield from (each["path"] for each in some)
    raise ConfigError(f"{str(url)!r}: more than {_MOST_OBJECTS:,} objects lie there; give a longer prefix")


def versions_of(paths: Sequence[str]) -> list[ObjectVersion]:
    """Return what identifies objects, in their order, asked for many at a time; StoreFault when one cannot be had."""
    if not paths:
        return []
    with ThreadPoolExecutor(min(_AT_A_TIME, len(paths))) as threads:
        return list(threads.map(version_of, paths))
