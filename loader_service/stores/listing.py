"""Which objects a URL names, and what identifies them. Reads none of them."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

from loader_service.errors import ConfigError
from loader_service.stores.faults import StoreFault, fault_of
from loader_service.stores.objects import ObjectVersion, open_store, version_of
from loader_service.stores.urls import StoreUrl, matches, parse_url

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

#: Objects that are asked for at a time.
_AT_A_TIME = 32

#: Objects that one pattern may name, so that a wrong one ends.
_MOST_OBJECTS = 1_000_000


def expand_url(text: str) -> list[str]:
    """Return the URLs of the objects that a URL names: its own, or those that match it.

    Raises
    ------
    ConfigError
        When none can be had; names the URL, what is wrong and the remedy.
    """
    url = parse_url(text)
    if url is None:
        raise ConfigError(f"{text!r} is no URL of an object; give scheme://bucket/key")
    if "?" in url.key and url.is_web:
        raise ConfigError(f"{text.partition('?')[0]!r}: a URL with a query is not read; give one without, or use s3://")
    if not url.key or url.key.endswith("/"):
        remedy = "give the file" if url.is_web else f"give {str(url) + '*.h5'!r}"
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
    found = [str(url._replace(key=key)) for key in _keys(url) if matches(key, url.key)]
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
