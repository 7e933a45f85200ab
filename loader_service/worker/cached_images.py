"""Encoded images by way of the cache of decoded frames: what is there is copied, what is not is decoded and kept.

A layer in front of decoding. Scaled pixels are kept; each sample cuts and mirrors its own window out of them. So the
bytes are those that decoding alone gives, whatever the cache has.
"""

from __future__ import annotations

import hashlib
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from loader_service import failpoints
from loader_service.catalog.codecs import JPEG, picture_size
from loader_service.catalog.columns import RAW, FileStat
from loader_service.errors import DecodeError
from loader_service.frame_cache.cache_counts import CacheCounts
from loader_service.frame_cache.cells import FrameRun
from loader_service.frame_cache.form_file import OTHER, FormFile
from loader_service.frame_cache.frame_folder import FrameFolder
from loader_service.plan.image_draws import ImageDraws
from loader_service.plan.image_shape import Size
from loader_service.protocol.spec import Image
from loader_service.worker.decode import DecodeLimits, check_header
from loader_service.worker.frame_fields import EncodedImages, Origin
from loader_service.worker.image import ImageWriter, as_kept, from_kept, is_as_kept
from loader_service.worker.image_forms import FrameSizes, ImageForms
from loader_service.worker.picks import Pick
from loader_service.worker.read_ahead import ByteRange
from loader_service.worker_options import WorkerOptions

_Pixels = NDArray[np.uint8]

_NOTHING_DRAWN = ImageDraws()

_LIMITS = DecodeLimits()


@dataclass(frozen=True)
class FrameCache:
    """A worker's cache of decoded frames.

    Parameters
    ----------
    folder
        Keeps them.
    counts
        Told how often that helped.
    """

    folder: FrameFolder
    counts: CacheCounts

    @classmethod
    def open(cls, options: WorkerOptions) -> FrameCache:
        """Open what a worker is told to use; raises OSError."""

        def complain(line: str) -> None:
            sys.stderr.write(f"{line}\n")

        folder = FrameFolder(options.frames_folder, options.frames_bytes, complain)
        return cls(folder, CacheCounts(options.frames_counts, options.worker))

    def images(self, origin: Origin, name: str, writer: ImageWriter, stride: int, *, image: Image) -> EncodedImages:
        """Return what writes a field of encoded images, as `MakeImages` says."""
        return CachedImages(origin, name, writer, stride, image=image, cache=self)

    def close(self) -> None:
        """Close the folder."""
        self.folder.close()


@dataclass(frozen=True)
class _Missing:
    """A frame that is to be decoded: its number among those of the row and in the form, and what its stamp said."""

    place: int
    frame: int
    run: FrameRun
    word: int


class CachedImages(EncodedImages):
    """JPEGs and PNGs whose decoded frames are kept.

    Parameters
    ----------
    origin, name, writer, stride
        As `EncodedImages` takes them.
    image
        What the stream asks for.
    cache
        Where frames are kept.
    """

    def __init__(
        self, origin: Origin, name: str, writer: ImageWriter, stride: int, *, image: Image, cache: FrameCache
    ) -> None:
        super().__init__(origin, name, writer, stride)
        self._cache = cache
        self._forms = ImageForms(origin.catalog, name, image)
        opened = [(cache.folder.open_form(each.header), each.firsts) for each in self._forms.forms]
        self._files: list[tuple[FormFile, NDArray[np.int64]]] = [(file, each) for file, each in opened if file]
        self._image = image
        self._decoders: dict[Size, ImageWriter] = {}
        self._cutter: ImageWriter | None = None
        self._scratch = np.empty(0, np.uint8)
        self._tags: dict[int, tuple[FileStat, int]] = {}

    def close(self) -> None:
        """Use the forms no more; harmless when that was said."""
        for file, _ in self._files:
            self._cache.folder.release(file)
        self._files = []

    def write(self, outs: Sequence[Any], pick: Pick) -> None:
        """Write a row's frames, as `FieldWriter` says."""
        found = self._file_of(pick.video)
        if found is None:
            super().write(outs, pick)
            return
        form, first = found
        row = _KeptRow(form, [first + number for number in self._numbers(pick)], self._tag(pick.video))
        sizes, out = self._forms.sizes(pick.video), outs[0]
        is_straight = is_as_kept(sizes.scaled, out.shape[1:3], pick.draws)
        missing = row.copy(out) if is_straight else row.cut(self._pixels(sizes, out), self._finish(out, pick.draws))
        kept = self._decode(row, missing, sizes, out, pick, is_straight=is_straight) if missing else 0
        self._cache.counts.add(pick.length - len(missing), len(missing), kept)

    def ranges(self, pick: Pick) -> Iterator[ByteRange]:
        """Return where those of a row's frames lie that are not kept, as `FieldWriter` says."""
        found = self._file_of(pick.video)
        catalog = self._origin.catalog
        if found is None or catalog.way(pick.video, self._name) != RAW:
            yield from super().ranges(pick)
            return
        form, first = found
        numbers = self._numbers(pick)
        row = _KeptRow(form, [first + number for number in numbers], self._known_tag(pick.video))
        file, (offsets, lengths) = int(catalog.video_file[pick.video]), catalog.extents(pick.video, self._name)
        for each in row.absent():
            number = numbers[each.place]
            if lengths[number]:
                yield ByteRange(file, int(offsets[number]), int(lengths[number]))

    # ---- inside

    def _numbers(self, pick: Pick) -> range:
        return range(pick.start, pick.start + pick.length * self._stride, self._stride)

    def _file_of(self, video: int) -> tuple[FormFile, int] | None:
        """Return what keeps a video's frames, and the number of the first one there; None where nothing does."""
        for file, firsts in self._files:
            first = int(firsts[video])
            if first >= 0:
                return file, first
        return None

    def _tag(self, video: int) -> int:
        """Return what stands for a video's file, having made sure that it is the one that was scanned."""
        file = int(self._origin.catalog.video_file[video])
        status = self._origin.reader.status(video)
        known = self._tags.get(file)
        if known is None or (known[0] is not status and known[0] != status):
            path = self._origin.catalog.file_path(file)
            digest = hashlib.blake2b(repr((path, status)).encode("utf-8", "surrogateescape"), digest_size=8)
            known = self._tags[file] = (status, int.from_bytes(digest.digest(), "little") | 1)
        return known[1]

    def _known_tag(self, video: int) -> int:
        """Return what stood for a video's file when it was read last; 0, which nothing has, before."""
        return self._tags.get(int(self._origin.catalog.video_file[video]), (None, 0))[1]

    def _decode(
        self, row: _KeptRow, missing: list[_Missing], sizes: FrameSizes, out: Any, pick: Pick, *, is_straight: bool
    ) -> int:
        """Decode the frames of a row that are not there, and keep them; return how many are kept."""
        kept, codec = 0, self._origin.catalog.codec(pick.video, self._name)
        numbers = self._numbers(pick)
        finish = self._finish(out, pick.draws)
        for each, (number, frame) in zip(
            missing, self._encoded_frames(pick.video, [numbers[each.place] for each in missing]), strict=True
        ):
            try:
                size = check_header(frame, _LIMITS) if codec is JPEG else picture_size(frame)
                if size != sizes.stored:  # unlike the others of its video
                    self._writer.write(frame, out[each.place], pick.draws, codec)
                    continue
                pixels = out[each.place] if is_straight else self._pixels(sizes, out)
                try:
                    self._decoder(sizes.scaled).write(frame, pixels, _NOTHING_DRAWN, codec)
                except DecodeError:  # what the sample does not show may be damaged: then it is as without a cache
                    self._writer.write(frame, out[each.place], pick.draws, codec)
                    continue
                kept += row.keep(each, pixels)
                if not is_straight:
                    finish(each.place, pixels[np.newaxis])
            except DecodeError as error:
                raise self._blamed(error, pick.video, number) from error
            failpoints.passing("worker.frame_written")
        return kept

    def _decoder(self, scaled: Size) -> ImageWriter:
        """Return what writes frames as they are kept: scaled, and with their colours as the sample has them."""
        if scaled not in self._decoders:
            self._decoders[scaled] = ImageWriter(as_kept(self._image, scaled), (*scaled, self._image.channels))
        return self._decoders[scaled]

    def _finish(self, out: Any, draws: ImageDraws) -> Callable[[int, _Pixels], None]:
        """Return what cuts and mirrors scaled frames, ``(frames, height, width, channels)``, into their places."""
        if self._cutter is None:
            window = (int(out.shape[1]), int(out.shape[2]))
            self._cutter = ImageWriter(from_kept(self._image, window), (*window, self._image.channels))
        cutter = self._cutter
        return lambda place, pixels: cutter.cut_all(pixels, out[place : place + len(pixels)], draws)

    def _pixels(self, sizes: FrameSizes, out: Any) -> _Pixels:
        """Return room for one scaled frame."""
        shape = (*sizes.scaled, out.shape[3])
        size = shape[0] * shape[1] * shape[2]
        if self._scratch.size < size:
            self._scratch = np.empty(size, np.uint8)
        return self._scratch[:size].reshape(shape)


class _KeptRow:
    """The frames of one row, in their form.

    Parameters
    ----------
    form
        Where they are kept.
    frames
        Their numbers in the form.
    tag
        Stands for their file.
    """

    def __init__(self, form: FormFile, frames: list[int], tag: int) -> None:
        self._form = form
        self._frames = frames
        self._tag = tag
        form.begin()

    def absent(self) -> list[_Missing]:
        """Return the frames that are not there, as far as their stamps say."""
        missing: list[_Missing] = []
        for run in self._form.cells.runs(self._frames):
            missing += self._of(run, [min(0, word) for word in self._form.stamps(run, self._tag)])
        return [each for each in missing if each.word < 0]

    def copy(self, out: Any) -> list[_Missing]:
        """Copy the frames that are there, ``(frames, height, width, channels)``; return those that are not."""
        missing: list[_Missing] = []
        for run in self._form.cells.runs(self._frames):
            words = self._form.stamps(run, self._tag)
            flat = out[run.first : run.first + run.length].reshape(run.length, -1)
            if min(words) >= 0 and self._form.read(run, self._frames[run.first], words, self._tag, flat):
                continue
            for each in self._of(run, words):
                room = out[each.place].reshape(1, -1)
                if each.word < 0 or not self._form.read(each.run, each.frame, [each.word], self._tag, room):
                    missing.append(each)
        return missing if self._form.is_unchanged() else self._all()

    def cut(self, pixels: _Pixels, finish: Callable[[int, _Pixels], None]) -> list[_Missing]:
        """Finish the frames that are there, where they are or in memory for one; return those that are not."""
        missing: list[_Missing] = []
        room = pixels.reshape(-1)
        for run in self._form.cells.runs(self._frames):
            words = self._form.stamps(run, self._tag)
            if min(words) >= 0:
                frames = self._form.views(run, self._frames[run.first], words, self._tag, pixels.shape)
                if frames is not None:
                    finish(run.first, frames)
                    continue
            for each in self._of(run, words):
                found = None
                if each.word >= 0:
                    found = self._form.view(each.run, each.frame, each.word, self._tag, room)
                if found is None:
                    missing.append(each)
                else:
                    finish(each.place, found.reshape(1, *pixels.shape))
        return missing if self._form.is_unchanged() else self._all()

    def keep(self, missing: _Missing, pixels: _Pixels) -> bool:
        """Keep a frame that was decoded; return whether it is kept."""
        return self._form.write(missing.run, missing.frame, missing.word, self._tag, pixels.reshape(-1))

    def _of(self, run: FrameRun, words: list[int]) -> list[_Missing]:
        return [
            _Missing(
                run.first + number,
                self._frames[run.first + number],
                FrameRun(run.first + number, 1, run.place, run.begin + number),
                word,
            )
            for number, word in enumerate(words)
        ]

    def _all(self) -> list[_Missing]:
        """Return all frames as missing, since the file was cut while they were read."""
        self._form.begin()
        return [each for run in self._form.cells.runs(self._frames) for each in self._of(run, [OTHER] * run.length)]
