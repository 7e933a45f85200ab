"""Folders of JPEG and PNG files: frames of videos (``class/video/000001.jpg``), or pictures (``class/image.jpg``)."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby

from loader_service.catalog.codecs import codec_of
from loader_service.catalog.natural import natural_key
from loader_service.catalog.split_words import WORDS
from loader_service.errors import PackError
from loader_service.pack.frame_blob import FrameSink
from loader_service.pack.named_values import pictures_name
from loader_service.pack.recode import add_picture
from loader_service.pack.records import Beside, Item, Recoding, checked_name
from loader_service.pack.source_files import Part, content_of, size_of
from loader_service.pack.sources.frame_numbers import counts, missing, series_of, uneven
from loader_service.pack.sources.source_kind import Look, folder_label, stem_of

_ENDINGS = frozenset({".jpg", ".jpeg", ".jpe", ".jfif", ".png"})


class FrameFolders:
    """A folder for each video, with a picture for each frame, in the order of their numbers; series are fields."""

    name = "frames"
    takes = "a folder for each video with JPEG or PNG frames"

    def claims(self, look: Look) -> bool:
        """Tell whether pictures count in their folders, in folders of classes; or may do so."""
        return reading_of(_pictures(look)) in {"frames", "either"}

    def items(self, look: Look, *, labelled: bool) -> Iterator[Item]:
        """Yield a video for each folder that holds pictures."""
        for folder, files in groupby(_pictures(look), key=os.path.dirname):
            name = checked_name(folder or os.path.basename(os.path.abspath(look.root)), look.given)
            frames = sorted(map(os.path.basename, files), key=natural_key)
            path = os.path.join(look.root, folder)
            size = sum(size_of(os.path.join(path, each)) for each in frames)
            label = folder_label(name) if labelled else None
            yield Item(self.name, name, path, tuple(frames), size, label)

    def files(self, item: Item) -> list[str]:
        """Return its pictures."""
        return [os.path.join(item.path, each) for each in item.place]

    def parts(self, item: Item) -> Iterable[Part]:
        """Return all of them."""
        return [(path, 0, None) for path in self.files(item)]

    def read(self, item: Item, recoding: Recoding, sink: FrameSink) -> Beside:
        """Read the pictures."""
        series = series_of(item.place)
        difference = uneven(series)
        if difference:
            raise PackError(
                f"{item.path!r}: {difference}; remove what lacks its counterpart, or put each kind into a folder"
            )
        for name, frames in series.items():
            for path in (os.path.join(item.path, each) for each in frames):
                add_picture(sink, content_of(path), recoding, repr(path), pictures_name(name))
        return Beside()


def gap_in(item: Item) -> int | None:
    """Return the first number that is missing among the frames of a folder; None where none is."""
    return next((gap for frames in series_of(item.place).values() if (gap := missing(frames)) is not None), None)


class ImageFolders:
    """A video of one frame for each picture."""

    name = "images"
    takes = "folders of single JPEG or PNG pictures"

    def claims(self, look: Look) -> bool:
        """Tell whether there are pictures that are no frames of videos; or may be none."""
        return reading_of(_pictures(look)) in {"images", "either"}

    def items(self, look: Look, *, labelled: bool) -> Iterator[Item]:
        """Yield a video for each picture."""
        for file in _pictures(look):
            name = checked_name(stem_of(file), look.given)
            path = os.path.join(look.root, file)
            yield Item(self.name, name, path, (), size_of(path), folder_label(name) if labelled else None)

    def files(self, item: Item) -> list[str]:
        """Return the picture."""
        return [item.path]

    def parts(self, item: Item) -> Iterable[Part]:
        """Return all of them."""
        return [(path, 0, None) for path in self.files(item)]

    def read(self, item: Item, recoding: Recoding, sink: FrameSink) -> Beside:
        """Read the picture."""
        add_picture(sink, content_of(item.path), recoding, repr(item.path))
        return Beside()


def _pictures(look: Look) -> list[str]:
    named = [file for file in look.files if os.path.splitext(file)[1].lower() in _ENDINGS]
    if named or not look.files:
        return named
    return [file for file, head in look.sample() if codec_of(head).served and len(look.files) == 1]


def reading_of(files: Sequence[str]) -> str:
    """Return what pictures are, by their paths: ``"frames"``, ``"images"``, ``"either"``, or ``""`` for none.

    Pictures whose numbers are dense, in most folders, count: two folders deep they are frames of the videos of classes,
    also in equal steps, and in several series of the same numbers; else each folder may be a video, or a class.
    Pictures that do not count are pictures.
    """
    folders = {folder: list(inside) for folder, inside in groupby(files, key=os.path.dirname)}
    if not folders:
        return ""
    depths = [len([part for part in folder.split("/") if part and part.lower() not in WORDS]) for folder in folders]
    names = (list(map(os.path.basename, inside)) for inside in folders.values())
    counting = sum(counts(each, plainly=min(depths) < 2) for each in names)
    if 2 * counting <= len(folders):
        return "images"
    return "frames" if min(depths) >= 2 else "either"
