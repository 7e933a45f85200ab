"""Which texts are URLs of objects, and what their parts are. Opens nothing."""

from __future__ import annotations

import re
from typing import NamedTuple
from urllib.parse import unquote

#: Of stores that are reached by fsspec and its many libraries.
_OTHERS = (
    "adl", "box", "dbfs", "dropbox", "ftp", "gdrive", "github", "hdfs", "hf", "lakefs", "oci", "oss", "root", "sftp",
    "smb", "ssh", "tos", "webdav", "webhdfs",
)  # fmt: skip

_URL = re.compile(
    rf"(?P<scheme>s3a?|gs|gcs|az|abfss?|https?|{'|'.join(_OTHERS)})://(?P<bucket>[^/?#]+)/?(?P<key>.*)",
    re.IGNORECASE | re.DOTALL,
)

#: Other names of schemes.
_SAME = {"s3a": "s3", "gcs": "gs", "abfs": "az", "abfss": "az"}

_WILD = re.compile(r"[*?\[]")


class StoreUrl(NamedTuple):
    """Where an object lies."""

    scheme: str  # s3, gs, az, http or https, or one that needs fsspec
    bucket: str  # or host and port
    key: str

    def __str__(self) -> str:
        return f"{self.scheme}://{self.bucket}/{self.key}"

    @property
    def root(self) -> str:
        """The URL of the store that it lies in."""
        return f"{self.scheme}://{self.bucket}"

    @property
    def name(self) -> str:
        """What its store calls the object: of a web server without the escapes of a URL, such as ``%20``."""
        try:
            return unquote(self.key, errors="strict") if self.is_web else self.key
        except UnicodeDecodeError:  # as it is, in hope
            return self.key

    @property
    def is_web(self) -> bool:
        """Whether a web server has it, and no store that lists what it has."""
        return self.scheme in ("http", "https")

    @property
    def needs_fsspec(self) -> bool:
        """Whether only fsspec reaches it."""
        return self.scheme in _OTHERS

    @property
    def is_pattern(self) -> bool:
        """Whether it names what matches, rather than one object."""
        return not self.is_web and _WILD.search(self.key) is not None

    @property
    def listed_prefix(self) -> str:
        """The longest folder that all matches lie in; empty, or ends in a slash."""
        wild = _WILD.search(self.key)
        return self.key[: self.key.rfind("/", 0, wild.start() if wild else None) + 1]


def parse_url(text: str) -> StoreUrl | None:
    """Return the parts of a URL of objects; None for any other text, such as a path."""
    match = _URL.fullmatch(text)
    if match is None:
        return None
    scheme = match["scheme"].lower()
    return StoreUrl(_SAME.get(scheme, scheme), match["bucket"], match["key"])


def is_url(path: str) -> bool:
    """Tell whether a file of a catalog lies in a store."""
    return "://" in path and parse_url(path) is not None


def matches(key: str, pattern: str) -> bool:
    """Tell whether a key matches a pattern: ``*`` and ``?`` stand for no slash, ``**/`` for any folders."""
    return re.fullmatch(_expression(pattern), key, re.DOTALL) is not None


def _expression(pattern: str) -> str:
    pieces = re.split(r"(\*\*/|\*\*|\*|\?|\[!?\]?[^\]]*\])", pattern)
    wild = {"**/": "(?:.*/)?", "**": ".*", "*": "[^/]*", "?": "[^/]"}
    words = []
    for number, piece in enumerate(pieces):
        if not number % 2:
            words.append(re.escape(piece))
        elif piece in wild:
            words.append(wild[piece])
        else:
            inner = piece[1:-1]
            negated, inner = inner.startswith("!"), inner.removeprefix("!")
            words.append("[" + "^" * negated + re.escape(inner).replace(r"\-", "-") + "]")
    return "".join(words)
