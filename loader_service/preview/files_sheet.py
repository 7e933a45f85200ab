"""Writes a contact sheet of what files hold: some videos, the frames of each in the order of time; for `inspect`."""

from __future__ import annotations

import base64
import os
from pathlib import Path

import simplejpeg

from loader_service.catalog.columns import Catalog
from loader_service.contact_sheet import Picture, evenly, png, sheet
from loader_service.errors import ConfigError, LoaderError
from loader_service.preview.previewer import Previewer

#: Videos of a sheet, frames of each, and the longest side of one, in pixels.
_VIDEOS, _FRAMES, _SIDE = 16, 8, 128


def check_target(path: str, *, force: bool) -> None:
    """Make sure, before any work, that a file can be written; raises ConfigError."""
    place = Path(path)
    if place.suffix.lower() != ".png":
        raise ConfigError(f"contact_sheet={path!r} is no PNG; give a name that ends in .png")
    if not place.parent.is_dir():
        raise ConfigError(f"contact_sheet={path!r}: there is no folder {str(place.parent)!r}; make it first")
    if os.path.lexists(place) and not force:
        raise ConfigError(f"contact_sheet={path!r} is there already; give another name, or --force")


def write_files_sheet(catalog: Catalog, path: str, *, force: bool = False) -> list[str]:
    """Write videos from all over the files as a PNG, each a row.

    Parameters
    ----------
    catalog
        What the files hold.
    path
        Of the PNG.
    force
        Whether to take the place of a file that is there.

    Returns
    -------
    list of str
        Of each row, from the top: which video it is; or of one that cannot be shown, why, and then it has no row.

    Raises
    ------
    ConfigError
        When nothing in the files is a picture, no video can be shown, or the file cannot be written.
    """
    check_target(path, force=force)
    name = next((each.name for each in catalog.fields if _is_pictured(catalog, each.name)), None)
    if name is None:
        raise ConfigError("the files hold no pictures, so there is nothing to put on a contact sheet; leave it out")
    rows: list[Picture] = []
    lines = []
    counts = catalog.counts_with([name])
    with Previewer(str(catalog.directory)) as previewer:
        for video in evenly(catalog.video_count, _VIDEOS):
            numbers = evenly(int(counts[video]), _FRAMES)
            request = {"do": "frames", "video": video, "field": name, "numbers": numbers, "side": _SIDE}
            try:
                made = previewer.ask(request).result()
            except LoaderError as error:
                lines.append(f"no row: {catalog.describe(video)}: {error}")
                continue
            rows.append(simplejpeg.decode_jpeg(base64.b64decode(made["jpeg"])))
            lines.append(f"row {len(rows)}: {catalog.describe(video)}, {name!r}, frames {_words(numbers)}")
    if not rows:
        raise ConfigError(f"no video can be shown; the first one: {lines[0] if lines else 'there is none'}")
    _write(path, png(sheet(rows)), force=force)
    return lines


def _is_pictured(catalog: Catalog, name: str) -> bool:
    kind = catalog.field(name).kind
    return kind == "image" or (kind == "array" and catalog.is_encoded(name))


def _words(numbers: list[int]) -> str:
    return f"{numbers[0]} to {numbers[-1]}" if len(numbers) > 1 else str(numbers[0])


def _write(path: str, data: bytes, *, force: bool) -> None:
    try:
        with open(path, "wb" if force else "xb") as file:
            file.write(data)
    except OSError as error:
        raise ConfigError(f"contact_sheet={path!r} cannot be written: {error}; give another place") from error
