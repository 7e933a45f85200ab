"""Folders of JPEG and PNG files: frames of videos (``class/video/000001.jpg``), or pictures (``class/image.jpg``)."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby

from loader_service.catalog.codecs import codec_of
from loader_service.catalog.natural import natural_key
from loader_service.catalog.split_words import WORDS
from loader_service.pack.frame_blob import FrameSink
from loader_service.pack.recode import add_picture
from loader_service.pack.records import Beside, Item, Recoding, checked_name
from loader_service.pack.source_files import Part, content_of, size_of
from loader_service.pack.sources.source_kind import Look, folder_label, stem_of

_ENDINGS = frozenset({".jpg", ".jpeg", ".jpe", ".jfif", ".png"})
_LAST_NUMBER = re.compile(r"([0-9]+)[^0-9]*$")


class FrameFolders:
    """A folder for each video, with a picture for each frame, in the order of their numbers."""

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
        for path in self.files(item):
            add_picture(sink, content_of(path), recoding, repr(path))
        return Beside()


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

    Pictures whose numbers are dense, in most folders, count: two folders deep they are frames of the videos of classes;
    else each folder may be a video, or a class. Pictures that do not count are pictures.
    """
    folders = {folder: list(inside) for folder, inside in groupby(files, key=os.path.dirname)}
    if not folders:
        return ""
    counting = sum(_counts([os.path.basename(file) for file in inside]) for inside in folders.values())
    if 2 * counting <= len(folders):
        return "images"
    depths = [len([part for part in folder.split("/") if part and part.lower() not in WORDS]) for folder in folders]
    return "frames" if min(depths) >= 2 else "either"


def _counts(names: Sequence[str]) -> bool:
    """Tell whether names are alike but for a last number, and those numbers are dense."""
    found = [_LAST_NUMBER.search(os.path.splitext(name)[0]) for name in names]
    numbers = sorted({int(each[1][-18:]) for each in found if each})
    stems = {name[: each.start(1)] for name, each in zip(names, found, strict=True) if each}
    if len(numbers) < len(names) or len(stems) > 1:
        return False
    return len(numbers) >= 0.75 * (numbers[-1] - numbers[0] + 1)
