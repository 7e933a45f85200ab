"""Names that come from files as paths that stay where they belong; pure functions of texts.

Each part of a name is written as it is, but for what has a meaning to file systems, which is written as ``%`` and two
hexadecimal digits, as in a URL. So ``..``, absolute paths, NUL and names that are too long lead nowhere else, and two
names never lead to one path.
"""

from __future__ import annotations

import hashlib
import re
import unicodedata
from collections.abc import Iterable

#: Of a part, in bytes of UTF-8: file systems take 255, and extensions are added to it. Of a path: the kernel's is 4096.
_PART_BYTES, _PATH_BYTES = 180, 1800

#: Control characters; what a shell, a URL or another system's file system takes for something else; our own mark.
#: Bytes that are not UTF-8 are surrogates here.
_UNSAFE = re.compile(r"""[\x00-\x1f\x7f-\x9f\ud800-\udfff%\\:*?"<>|~]""")

_DIGEST_DIGITS = 16


def safe_path(name: str, *, dots: bool = True) -> str:
    """Return a name as a relative path, with ``/`` between its parts; never empty, and no part begins with a dot.

    Parameters
    ----------
    name
        With ``/`` between its parts; bytes that are not UTF-8 are surrogate-escaped.
    dots
        Whether the last part may hold a dot: not where what comes after it is an extension.
    """
    parts = [_safe_part(part) for part in name.split("/") if part] or ["%"]
    if not dots:
        parts[-1] = parts[-1].replace(".", "%2E")
    path = "/".join(map(_bounded, parts))
    return path if len(path) <= _PATH_BYTES else _cut(path, _PART_BYTES, _digest(path))


def distinct_paths(paths: Iterable[str]) -> list[str]:
    """Return paths of which no two are the same, whatever a file system makes of capitals, and none is in another.

    The first one stays as it is; others get ``~2``, ``~3``, … at their end.
    """
    given = list(paths)
    folders = {_folded(path[:place]) for path in given for place in _slashes(path)}
    taken: set[str] = set()
    counts: dict[str, int] = {}
    distinct = []
    for path in given:
        folded, chosen = _folded(path), path
        while _folded(chosen) in taken or _folded(chosen) in folders:
            counts[folded] = counts.get(folded, 1) + 1
            chosen = f"{path}~{counts[folded]}"
        taken.add(_folded(chosen))
        distinct.append(chosen)
    return distinct


def _safe_part(part: str) -> str:
    text = _UNSAFE.sub(lambda found: f"%{ord(found[0]) & 0xFF:02X}", part)
    return f"%2E{text[1:]}" if text.startswith(".") else text


def _bounded(part: str) -> str:
    return part if len(part.encode()) <= _PART_BYTES else _cut(part, _PART_BYTES, _digest(part))


def _cut(text: str, size: int, digest: str) -> str:
    kept = text.replace("/", "%2F").encode()[: size - len(digest) - 1].decode("utf-8", "ignore")
    return f"{kept}~{digest}"


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:_DIGEST_DIGITS]


def _folded(path: str) -> str:
    return unicodedata.normalize("NFC", path.casefold())


def _slashes(path: str) -> list[int]:
    return [place for place, character in enumerate(path) if character == "/"]
