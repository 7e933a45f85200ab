"""One object of a store, read by ranges: the bytes of the very object that was opened, or a fault. Knows no HDF5.

Each request names the ETag that the object had when it was opened, and each answer is compared with it, since not every
server heeds what it is asked. So bytes of two versions are never mixed.
"""

from __future__ import annotations

import os
import re
from base64 import b64encode
from datetime import timedelta
from functools import lru_cache
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote, urlsplit, urlunsplit

from loader_service.stores.faults import (
    ODD_KEY,
    OTHER_PART,
    OTHER_VERSION,
    LastingFault,
    ObjectChanged,
    StoreFault,
    fault_of,
    missing_extra,
)
from loader_service.stores.object_version import ObjectVersion
from loader_service.stores.urls import StoreUrl, parse_url
from loader_service.url_secrets import whole_url

if TYPE_CHECKING:
    from collections.abc import Mapping

#: How long a connection may take to be made, and an answer to go on, in seconds.
_CONNECT_S, _READ_S, _REQUEST_S = 5, 10, 30

#: What names the servers of a store. One without TLS is one that the operator has named.
_ENDPOINTS = {
    "s3": ("AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL", "AWS_ENDPOINT"),
    "gs": ("GOOGLE_BASE_URL",),
    "az": ("AZURE_STORAGE_ENDPOINT", "AZURE_ENDPOINT"),
}

#: What the names of a store's variables begin with.
_VARIABLES = {"s3": "AWS_", "gs": "GOOGLE_", "az": "AZURE_"}

_ENDPOINT = re.compile(r"https?://[^\s/?#]+(/\S*)?")

#: Escapes in a web server's URLs that name another file than what they stand for: a slash, a plus and the like.
_OTHER_ESCAPED = re.compile("%(2[146-9a-cf]|3[abd]|40|5[bd])", re.IGNORECASE)

#: A request that failed is sent again so often, and for so long; then the caller decides, in seconds.
_RETRIES, _RETRY_S = 2, 15


class StoredObject:
    """An object that is open for reading; used by any number of threads.

    Parameters
    ----------
    path
        Its URL.
    version
        The one that is read, where that is known.

    Raises
    ------
    StoreFault
        When it cannot be had now, in one line.
    ConfigError
        When the library that reads objects is not installed.
    """

    def __init__(self, path: str, version: ObjectVersion | None = None) -> None:
        url = parse_url(path)
        if url is None:
            raise ValueError(f"{path!r} is no URL of an object")
        self.url = url
        self._store = open_store(url)
        self._name = _place_of(url)[1]
        if version is None:
            version = look_at(self._store, url)
        self.version = version

    def read_at(self, offset: int, length: int) -> bytes:
        """Return bytes of the object, all of them.

        Raises
        ------
        ObjectChanged
            When it is another object by now.
        StoreFault
            When they do not come, now.
        """
        length = min(length, self.version.size_bytes - offset)
        if length <= 0:
            return b""
        import obstore  # noqa: PLC0415 - 30 ms, and most services have no store

        options: Any = {"range": (offset, offset + length)}
        if self.version.is_etag:
            options["if_match"] = self.version.tag
        try:
            answer = obstore.get(self._store, self._name, options=options)
            seen = version_in(self.url, answer.meta)
            data = bytes(answer.bytes())
        except StoreFault:
            raise
        except Exception as error:
            raise fault_of(self.url, error) from error
        if seen != self.version:
            raise ObjectChanged(f"{str(self.url)!r}: {OTHER_VERSION}")
        if len(data) != length:
            got = f"expected {length} bytes at byte {offset}, got {len(data)}"
            raise StoreFault(f"{str(self.url)!r}: {got}: {OTHER_PART}")
        return data


def open_store(url: StoreUrl) -> Any:
    """Return the store that an object lies in; credentials come from the environment, and from nowhere else.

    Raises
    ------
    ConfigError
        When the library that reads objects is not installed.
    StoreFault
        When the environment says of the store what cannot be.
    """
    _check_environment(url)
    try:
        return _opened(_place_of(url)[0], tuple(sorted(os.environ.items())) if not url.is_web else ())
    except ImportError as error:
        raise missing_extra(str(url)) from error
    except StoreFault:
        raise
    except Exception as error:
        raise fault_of(url, error) from error


def _check_environment(url: StoreUrl) -> None:
    """Refuse variables over which the library would panic, and print more than a line."""
    for name in _ENDPOINTS.get(url.scheme, ()):
        value = os.environ.get(name)
        if value is not None and not _ENDPOINT.fullmatch(value):
            raise LastingFault(f"{str(url)!r}: {name} is no URL; set it to https://host:port, or unset it")
    begin = _VARIABLES.get(url.scheme, "\0")
    for name, value in os.environ.items():
        if name.startswith(begin) and not value.isprintable():
            raise LastingFault(f"{str(url)!r}: {name} has a line break, or what else cannot be sent; set it without")


def _place_of(url: StoreUrl) -> tuple[str, str]:
    """Return the URL of the store that is opened for an object, and what the object is called there.

    A file of a web server is a store of its own where the library would not ask for it as its URL is written.
    """
    if url.key.startswith("/"):  # the library would ask for the key without it, which may be there too
        raise LastingFault(f"{str(url)!r}: {ODD_KEY}")
    if not url.is_web:
        return url.root, url.key
    whole = urlsplit(whole_url(str(url)))
    if whole.query or _OTHER_ESCAPED.search(url.key):
        return urlunsplit(whole._replace(fragment="")), ""
    return urlunsplit((whole.scheme, whole.netloc, "", "", "")), url.name


@lru_cache(maxsize=64)
def _opened(root: str, _environment: tuple[tuple[str, str], ...]) -> Any:
    from obstore.store import HTTPStore, from_url  # noqa: PLC0415 - as above

    root, login = _login_of(root)
    named = [os.environ.get(name, "") for name in _ENDPOINTS.get(root.partition(":")[0], ())]
    plain = any(place.startswith("http://") for place in (root, *named))
    client: Any = {
        "connect_timeout": timedelta(seconds=_CONNECT_S),
        "read_timeout": timedelta(seconds=_READ_S),
        "timeout": timedelta(seconds=_REQUEST_S),
        "allow_http": plain,
        "default_headers": login,
    }
    retry: Any = {"max_retries": _RETRIES, "retry_timeout": timedelta(seconds=_RETRY_S)}
    # The library takes hosts of clouds for buckets, asks for credentials there, and forgets what signs a URL.
    open_it = HTTPStore.from_url if root.startswith(("http:", "https:")) else from_url
    return open_it(root, client_options=client, retry_config=retry)


def _login_of(root: str) -> tuple[str, dict[str, str]]:
    """Return the URL of a store without user and password, and the header that sends them, which the library does not.

    References
    ----------
    RFC 7617, "The 'Basic' HTTP Authentication Scheme".
    """
    url = urlsplit(root)
    login, there, host = url.netloc.rpartition("@")
    if not there or url.scheme not in {"http", "https"}:
        return root, {}
    user, _, password = map(unquote, login.partition(":"))
    token = b64encode(f"{user}:{password}".encode()).decode()
    return urlunsplit(url._replace(netloc=host)), {"authorization": f"Basic {token}"}


def look_at(store: Any, url: StoreUrl) -> ObjectVersion:
    """Return what identifies an object's version; raises StoreFault."""
    import obstore  # noqa: PLC0415 - as above

    try:
        if whole_url(str(url)) == str(url):
            meta = obstore.head(store, _place_of(url)[1])
        else:  # a signature is for one kind of request, and that is GET
            meta = obstore.get(store, _place_of(url)[1], options={"range": (0, 1)}).meta
    except Exception as error:
        raise fault_of(url, error) from error
    return version_in(url, meta)


def version_in(url: StoreUrl, meta: Mapping[str, Any]) -> ObjectVersion:
    """Return what an answer says of an object's version; raises StoreFault when it says nothing."""
    changed = meta.get("last_modified")
    tag = meta.get("e_tag") or (changed.isoformat() if changed is not None and changed.timestamp() > 0 else None)
    if tag is None:
        raise StoreFault(f"{str(url)!r}: the server says neither ETag nor Last-Modified, so a change would go unseen")
    return ObjectVersion(int(meta["size"]), tag)
