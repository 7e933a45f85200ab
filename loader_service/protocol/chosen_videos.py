"""Reads which videos a client wants: their names, or a part of all, such as ``train[:90%]``. Knows no video."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

from loader_service.errors import ConfigError
from loader_service.record_class import record

#: Words below this number are all words: the hashes that decide have 64 bits.
WORDS = 2**64

#: Names that a spec may hold, and their bytes: a message of 4 MiB has room for them.
MAX_VIDEOS = 100_000
MAX_VIDEOS_BYTES = 3 * 2**20

_PERCENT = r"(?:(\d{1,3}(?:\.\d{1,9})?)%)?"
_SPLIT = re.compile(rf"([^\s\[\]]+)(?:\[{_PERCENT}:{_PERCENT}\])?", re.ASCII)


@record(frozen=True)
class SplitPart:
    """Part of the videos: those whose hash is in ``[low, high)``, of all `WORDS`.

    Parts that share a bound, such as ``train[:90%]`` and ``train[90%:]``, share no video and leave none out.
    """

    name: str
    low: int
    high: int


def read_split(text: str) -> SplitPart:
    """Return what ``name``, ``name[:90%]``, ``name[90%:]`` or ``name[10%:20%]`` says.

    Raises
    ------
    ConfigError
        When it is none of these, or leaves nothing.
    """
    found = _SPLIT.fullmatch(text) if isinstance(text, str) else None
    if found is None:
        raise ConfigError(f"split={text!r} is no part of the videos; give 'train[:90%]', 'train[90%:]' or such")
    from fractions import Fraction  # noqa: PLC0415 - most streams are of whole splits

    low, high = (Fraction(given) if given else Fraction(other) for given, other in ((found[2], 0), (found[3], 100)))
    if not low < high <= 100:
        raise ConfigError(f"split={text!r} is no part of the videos; give percentages that rise, from 0 to 100")
    return SplitPart(found[1], int(low * WORDS / 100), int(high * WORDS / 100))


def read_names(given: Any) -> tuple[str, ...]:
    """Return names of videos, each once, that were given as texts, or as the bytes that the field `video` holds.

    Raises
    ------
    ConfigError
        When they are none, or more than can travel.
    """
    if isinstance(given, (str, bytes)) or not isinstance(given, Iterable) or getattr(given, "shape", None) == ():
        raise ConfigError(f"videos={given!r} is no list of names; give videos=['name', …]")
    try:
        names = [each.decode() if isinstance(each, bytes) else each for each in given]
        texts = all(isinstance(each, str) for each in names)
        size_bytes = sum(len(each.encode()) for each in names) if texts else 0
    except UnicodeError as error:
        raise ConfigError(f"videos= has a name that is not UTF-8: {error}; rename that video, or use index=") from error
    if not texts:
        odd = next(each for each in names if not isinstance(each, str))
        raise ConfigError(f"videos= has {odd!r:.200}, which is no text; give names, as the field 'video' holds them")
    if not names:
        raise ConfigError("videos= has no name; give at least one, or None for all videos")
    if len(names) > MAX_VIDEOS or size_bytes > MAX_VIDEOS_BYTES:
        raise ConfigError(
            f"videos= has {len(names)} names of {size_bytes} bytes, and {MAX_VIDEOS} of {MAX_VIDEOS_BYTES} bytes can "
            "travel; give split='train[:90%]', or the numbers of the samples as index="
        )
    # `str` makes Python's own texts of NumPy's.
    return tuple(str(each) for each in dict.fromkeys(names))
