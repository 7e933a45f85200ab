"""Batches as contact sheets, for notebooks and files; knows tensors by what they can do, and no TensorFlow."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from loader_client.forms import Ragged
from loader_service import html_text
from loader_service.contact_sheet import (
    Bounds,
    as_picture,
    bounds_of,
    bounds_text,
    data_url,
    evenly,
    fitted,
    jpeg,
    png,
    sheet,
    strip,
)
from loader_service.errors import ConfigError
from loader_service.protocol.near_names import tells_near_options

#: Samples of a sheet, frames of each, and the longest side of one, in pixels, unless others are asked for.
SAMPLES, FRAMES, SIDE = 16, 8, 128

#: Sides of a map: with fewer, numbers are taken for numbers.
_LEAST_MAP = 16

#: Returns some frames of a sample, None where it has none.
_FramesOf = Callable[[Any, int], list[NDArray[Any]] | None]

#: Numbers and characters of a caption.
_MOST_NUMBERS, _MOST_TEXT = 6, 60


class ContactSheet:
    """Samples of one batch, one below the other, the frames of each side by side in the order of time.

    Parameters
    ----------
    batch
        Arrays or tensors by field, or a tuple of them, ``(batch, …)``.
    samples, frames, side
        How many are shown at most, and the longest side of a frame in pixels.
    about
        Said above the samples, one line each.

    Raises
    ------
    ConfigError
        When it is no batch.
    """

    def __init__(
        self, batch: Any, samples: int = SAMPLES, frames: int = FRAMES, side: int = SIDE, about: tuple[str, ...] = ()
    ) -> None:
        fields = {name: _rows(value) for name, value in _named(batch).items()}
        count = min((len(each) for each in fields.values()), default=0)
        if not count:
            raise ConfigError(f"show({type(batch).__name__}): no batch with samples in it; give arrays (batch, …)")
        pictured, frames_of = _pictured(fields)
        bounds = None if pictured is None else _bounds(fields[pictured])
        self._about = (*about, f"{pictured}: {bounds_text(bounds)}") if bounds else about
        self._total = count
        self._strips: list[Any] = []
        self._captions: list[str] = []
        for row in range(min(samples, count)):
            found = None if pictured is None else frames_of(fields[pictured][row], frames)
            if found:
                self._strips.append(strip([fitted(as_picture(each, bounds), side) for each in found]))
            others = (f"{name} {_words(rows[row])}" for name, rows in fields.items() if name != pictured)
            self._captions.append(f"{row}: {', '.join(others)}")

    @property
    def pixels(self) -> NDArray[np.uint8]:
        """All samples as one picture: ``(height, width, 3) uint8``; ConfigError when no field has pictures."""
        if not self._strips:
            raise ConfigError(
                "no field of this batch has pictures: (height, width, 1 or 3), maps of 8 or 16 bits, or clips of "
                "these; its repr() has its numbers"
            )
        return sheet(self._strips)

    def save(self, path: Any, *, force: bool = False) -> None:
        """Write the samples as a PNG.

        Raises
        ------
        ConfigError
            When there is a file of that name and `force` is False, or no field has pictures.
        """
        data = png(self.pixels)
        try:
            with open(path, "wb" if force else "xb") as file:
                file.write(data)
        except FileExistsError as error:
            raise ConfigError(f"{str(Path(path))!r} is there already; give another name, or force=True") from error

    def __repr__(self) -> str:
        lines = [*self._about, f"{len(self._captions)} of {self._total} samples", *self._captions]
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        head = "".join(html_text.paragraph(line) for line in self._about)
        rows = []
        for place, caption in enumerate(self._captions):
            shown = html_text.picture(data_url(jpeg(self._strips[place])), caption) if self._strips else ""
            rows.append(f"<div style='margin:6px 0'>{html_text.paragraph(caption)}{shown}</div>")
        return f"<div>{head}{''.join(rows)}</div>"


@tells_near_options()
def show(batch_or_dataset: Any, *, samples: int = SAMPLES, frames: int = FRAMES, side: int = SIDE) -> ContactSheet:
    """Return a contact sheet, which notebooks show as pictures.

    Parameters
    ----------
    batch_or_dataset
        A batch: a dict or tuple of arrays or tensors ``(batch, …)``, of which the first that has pictures is shown, or
        else maps of 8 or 16 bits, such as depth. Or a dataset of `loader_client.dataset`, or a
        connection: the first samples of its first epoch, through a stream of their own, so no iterator moves. Of any
        other dataset a new iterator is made and its first batch taken: of one that is made of ours, that is an epoch.
    samples, frames
        How many are shown at most: samples of the batch, and frames of each, evenly spread.
    side
        Longest side of a frame, in pixels.

    Raises
    ------
    ConfigError
        When there is nothing in it to show.
    LoaderError
        When the service cannot give the samples.

    Examples
    --------
    >>> loader_client.show(ds)  # doctest: +SKIP
    >>> loader_client.show(next(iter(ds)), samples=4).save("batch.png")  # doctest: +SKIP
    """
    feed = getattr(batch_or_dataset, "loader_feed", None)
    if feed is not None:
        return ContactSheet(feed.first_samples(samples), samples, frames, side, (feed.described,))
    if hasattr(batch_or_dataset, "batches"):
        return ContactSheet(_first(batch_or_dataset.batches(samples, drop_remainder=False)), samples, frames, side)
    if hasattr(batch_or_dataset, "element_spec"):
        return ContactSheet(_first(iter(batch_or_dataset)), samples, frames, side)
    return ContactSheet(batch_or_dataset, samples, frames, side)


def _first(batches: Iterator[Any]) -> Any:
    try:
        for batch in batches:
            return batch
    finally:
        close = getattr(batches, "close", None)
        if close is not None:
            close()
    raise ConfigError("the dataset has no batch; look at its batch_size and drop_remainder")


def _named(batch: Any) -> dict[str, Any]:
    if isinstance(batch, Mapping):
        return {str(name): value for name, value in batch.items()}
    values = batch if isinstance(batch, (tuple, list)) else (batch,)
    return {str(place): value for place, value in enumerate(values)}


def _rows(value: Any) -> Any:
    """Return what can be asked for its rows: an array, or ragged rows, be they ours or TensorFlow's."""
    if isinstance(value, Ragged):
        return value
    if hasattr(value, "row_splits"):
        return Ragged(_rows(value.values), np.asarray(value.row_splits))
    array = np.asarray(value)
    return array if array.ndim else array[np.newaxis]


def _frames(row: Any, most: int) -> list[NDArray[Any]] | None:
    """Return some frames of a sample that is a picture or a clip; None of all else."""
    array = np.asarray(row) if not isinstance(row, Ragged) else np.empty(0)
    if array.dtype.kind not in "uif" or array.ndim not in (3, 4) or array.shape[-1] not in (1, 3) or not array.size:
        return None
    if min(array.shape[-3:-1]) < 4:  # a list of triples is no picture
        return None
    return [array] if array.ndim == 3 else [array[each] for each in evenly(len(array), most)]


def _maps(row: Any, most: int) -> list[NDArray[Any]] | None:
    """Return some maps of a sample, of depth or of classes, that have no axis of channels; None of all else."""
    array = np.asarray(row) if not isinstance(row, Ragged) else np.empty(0)
    if array.dtype not in (np.uint8, np.uint16) or array.ndim not in (2, 3) or min(array.shape[-2:]) < _LEAST_MAP:
        return None
    return _frames(array[..., np.newaxis], most)


def _pictured(fields: Mapping[str, Any]) -> tuple[str | None, _FramesOf]:
    """Return the first field that has pictures, else the first that has maps, and what takes frames of it."""
    for frames_of in (_frames, _maps):
        for name, rows in fields.items():
            if frames_of(rows[0], 1) is not None:
                return name, frames_of
    return None, _frames


def _bounds(rows: Any) -> Bounds | None:
    """Return what is black and what is white in all pictures of a batch, so that they can be compared; bytes say it."""
    return None if rows[0].dtype == np.uint8 else bounds_of(rows[row] for row in range(len(rows)))


def _words(value: Any) -> str:
    """Return a value in a few words."""
    if isinstance(value, Ragged):
        return f"{len(value)} lists"
    array = np.asarray(value)
    if array.dtype.kind in "SO":
        items = [
            each.decode("utf-8", "replace") if isinstance(each, bytes) else str(each) for each in array.reshape(-1)
        ]
        return ", ".join(items)[:_MOST_TEXT]
    if array.ndim == 0:
        return f"{array.item():.6g}" if array.dtype.kind == "f" else str(array.item())
    if array.size > _MOST_NUMBERS:
        return f"{array.dtype} {array.shape}"
    return f"[{', '.join(f'{each:.4g}' for each in array.reshape(-1).tolist())}]"
