"""Keeps what is secret in URLs out of all that is shown or written: queries, such as signatures, and passwords.

A file is named by its URL without them: in catalogs, messages, logs and `status`. They are kept in the
environment of this process, and so reach the processes that it starts, and with the keys of a run its remote workers;
nobody else.
"""

from __future__ import annotations

import hashlib
import os
import re
from typing import TYPE_CHECKING

from loader_service.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

_PREFIX = "LOADER_SERVICE_URL_"

#: A password or token is named before the host of a web or file server; in an Azure URL a container is.
_SECRET = re.compile(
    r"(?P<scheme>(?:https?|ftp|sftp|ssh|smb|webdavs?|davs?)://)(?P<user>[^/?#@]*@)?(?P<host>[^/?#]*)(?P<path>[^?#]*)"
    r"(?P<query>[?#].*)?",
    re.IGNORECASE | re.DOTALL,
)

#: Keys before a bucket, as Hadoop took them: nothing reads them, and they would be shown as a part of its name.
_KEYS_OF_BUCKET = re.compile(
    r"(?P<scheme>s3a?|gs|gcs)://(?:[^/@]*|[^/]*:[^@]*)@(?P<rest>.*)", re.IGNORECASE | re.DOTALL
)

#: What they may take of the environment together: a process with much more cannot be started.
_MOST_BYTES = 2**19


def shown_url(text: str) -> str:
    """Return a text for people: of a URL its scheme, host and path; any other text as it is."""
    found = _SECRET.fullmatch(text)
    return found["scheme"] + found["host"] + found["path"] if found else text


def keep_secrets(text: str) -> str:
    """Remember what is secret in a URL for this process and those that it starts; return the URL without it.

    A user and password are those of all files of the server.

    Raises
    ------
    ConfigError
        When there is too much of it, or a bucket is given with a key, which is asked for in the environment.
    """
    keyed = _KEYS_OF_BUCKET.fullmatch(text)
    if keyed is not None:
        raise ConfigError(
            f"'{keyed['scheme']}://…@{keyed['rest']}': keys in URLs of buckets are not read; give "
            f"{keyed['scheme'] + '://' + keyed['rest']!r}, and the keys in the environment, such as AWS_ACCESS_KEY_ID"
        )
    found, shown = _SECRET.fullmatch(text), shown_url(text)
    if found and found["user"]:
        os.environ[_variable(found["scheme"] + found["host"])] = found["user"]
    if found and found["query"]:
        os.environ[_variable(shown)] = found["query"]
    kept = sum(len(os.fsencode(value)) for name, value in os.environ.items() if name.startswith(_PREFIX))
    if shown != text and kept > _MOST_BYTES:
        raise ConfigError(
            f"{shown!r}: more than {_MOST_BYTES // 2**10} KiB of queries of URLs; give s3:// URLs and credentials "
            "instead, or copy the files here"
        )
    return shown


def kept_secrets() -> dict[str, str]:
    """Return what was kept, for workers on other hosts, which inherit nothing of this process."""
    return {name: value for name, value in os.environ.items() if name.startswith(_PREFIX)}


def take_secrets(kept: Mapping[str, str]) -> None:
    """Keep in this process what another one has kept; raises ConfigError for a name that is none of those."""
    odd = next((name for name in kept if not name.startswith(_PREFIX)), None)
    if odd is not None:
        raise ConfigError(f"{odd!r} is none of the variables for queries of URLs; install the same versions")
    os.environ.update(kept)


def whole_url(shown: str) -> str:
    """Return the URL with what `keep_secrets` has kept of it; as it is where that is nothing."""
    found = _SECRET.fullmatch(shown)
    if found is None:
        return shown
    user = os.environ.get(_variable(found["scheme"] + found["host"]), "")
    return f"{found['scheme']}{user}{found['host']}{found['path']}{os.environ.get(_variable(shown), '')}"


def without_secrets(words: str, shown: str) -> str:
    """Return what a library said of a URL, without what is secret in it."""
    found = _SECRET.fullmatch(whole_url(shown))
    for part in (found["user"], found["query"]) if found else ():
        for each in filter(None, {part, (part or "").strip("?#@"), *re.split(r"[?#@&:=]", part or "")}):
            words = words.replace(each, "…") if len(each) >= _LEAST_SECRET else words
    return words


#: Parts that are shorter are no secrets, and would be cut out of words.
_LEAST_SECRET = 6


def refuse_clashes(texts: Iterable[str]) -> None:
    """Make sure that no two URLs differ in what is not shown alone: they would be one file, or have one password.

    Raises
    ------
    ConfigError
        When two do.
    """
    queries: dict[str, str] = {}
    users: dict[str, str] = {}
    for text in texts:
        found, shown = _SECRET.fullmatch(text), shown_url(text)
        if found and queries.setdefault(shown, found["query"] or "") != (found["query"] or ""):
            raise ConfigError(
                f"{shown!r} is given twice, with two queries, and files are told apart by their paths; download them "
                "under two names"
            )
        if found and users.setdefault(found["host"], found["user"] or "") != (found["user"] or ""):
            raise ConfigError(f"{shown!r}: give one user and password for all files of {found['host']!r}")


def _variable(shown: str) -> str:
    return _PREFIX + hashlib.blake2b(shown.encode("utf-8", "surrogateescape"), digest_size=12).hexdigest().upper()
