"""Labels from a CSV file, matched with videos by name. Knows no HDF5 and no columns."""

from __future__ import annotations

import csv
from collections import Counter
from typing import TYPE_CHECKING

from loader_service.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

_HEADER = ["video", "label"]


def read_csv(path: str) -> dict[str, str]:
    """Return the label of each video that a CSV file names; its columns are ``video,label``, a header is optional.

    Raises
    ------
    ConfigError
        When the file cannot be read, a row has not two filled columns, or a video has two labels.
    """
    labels: dict[str, str] = {}
    try:
        with open(path, encoding="utf-8-sig", errors="surrogateescape", newline="") as stream:
            for number, row in enumerate(csv.reader(stream)):
                cells = [cell.strip() for cell in row]
                if any(cells) and not (number == 0 and cells == _HEADER):
                    _add(labels, cells, f"--labels {path!r}, row {number + 1}")
    except (OSError, csv.Error) as error:
        raise ConfigError(f"--labels {path!r}: cannot read it ({error}); give a CSV file of video,label") from error
    return labels


def _add(labels: dict[str, str], cells: list[str], where: str) -> None:
    if len(cells) != 2 or not all(cells):
        raise ConfigError(f"{where}: expected two columns, video,label; got {cells!r:.80}")
    video, label = cells
    if labels.setdefault(video, label) != label:
        raise ConfigError(f"{where}: {video!r} has the label {label!r}, but {labels[video]!r} further up")


def keys_of(path: str, names: Sequence[str]) -> list[str]:
    """Return how a row may name a video, the most precise first.

    Parameters
    ----------
    path
        Of its file.
    names
        The video's names, the usual one first; each counts alone, behind the file's name, and behind its whole path.
    """
    basename = path.rpartition("/")[2]
    return [f"{place}/{name}" for place in (path, basename) for name in names] + list(names)


def match(rows: Mapping[str, str], videos: Iterable[Sequence[str]]) -> list[str | None]:
    """Return the label of each video, or None for those that no row names.

    Parameters
    ----------
    rows
        As `read_csv` returns them.
    videos
        For each video, what `keys_of` returns.

    Raises
    ------
    ConfigError
        When a row names several videos.
    """
    labels: list[str | None] = []
    used: Counter[str] = Counter()
    for keys in videos:
        key = next((key for key in keys if key in rows), None)
        labels.append(None if key is None else rows[key])
        if key is not None:
            used[key] += 1
            if used[key] > 1:
                precise = keys[len(keys) // 3]  # the file's name and the video's
                raise ConfigError(f"--labels: {key!r} names several videos; tell them apart by file, as {precise!r}")
    return labels
