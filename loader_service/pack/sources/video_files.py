"""Films in files: MP4, Matroska, AVI, WebM and whatever else PyAV opens; their frames become JPEGs."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any

import numpy as np

from loader_service.catalog.codecs import codec_of
from loader_service.errors import ConfigError, PackError
from loader_service.pack.frame_blob import FrameSink
from loader_service.pack.recode import FramePicker, encode
from loader_service.pack.records import Beside, Item, Recoding, checked_name
from loader_service.pack.sources.source_kind import Look, folder_label, stem_of

_ENDINGS = frozenset(
    {".mp4", ".m4v", ".mov", ".mkv", ".avi", ".webm", ".mpg", ".mpeg", ".ts", ".mts", ".flv", ".wmv", ".3gp", ".ogv"}
)

#: What an image with a turn in its file is turned by, for `numpy.rot90`, by degrees.
_TURNS = {0: 0, 90: 1, 180: 2, 270: 3}


class VideoFiles:
    """A video for each film."""

    name = "videos"
    takes = "video files: MP4, MKV, AVI, WebM"

    def claims(self, look: Look) -> bool:
        """Tell whether there are files that begin as films do, or end in a film's ending."""
        return any(_is_film(file, head) for file, head in look.sample())

    def items(self, look: Look, *, labelled: bool) -> Iterator[Item]:
        """Yield a video for each film."""
        for file in look.files:
            if not _is_film(file, look.head(file)):
                continue
            name = checked_name(stem_of(file), look.given)
            path = os.path.join(look.root, file)
            yield Item(self.name, name, path, (), os.stat(path).st_size, folder_label(name) if labelled else None)

    def files(self, item: Item) -> list[str]:
        """Return the film."""
        return [item.path]

    def read(self, item: Item, recoding: Recoding, sink: FrameSink) -> Beside:
        """Decode the film, and encode its frames."""
        return read_film(item.path, recoding, sink)


def _is_film(file: str, head: bytes) -> bool:
    return codec_of(head).kind == "video" or (os.path.splitext(file)[1].lower() in _ENDINGS and len(head) > 0)


def load_av() -> Any:
    """Return PyAV.

    Raises
    ------
    ConfigError
        When it is not installed.
    """
    try:
        import av  # noqa: PLC0415 - only for films, and it takes a while
    except ImportError as error:
        raise ConfigError("films are read by PyAV, which is not here; pip install 'loader-service[pack]'") from error
    return av


def read_film(
    path: str, recoding: Recoding, sink: FrameSink, stream: str = "frames", span: tuple[float, float] | None = None
) -> Beside:
    """Give the frames of a film to a sink; return their times, in seconds, and the frame rate.

    Parameters
    ----------
    path
        The film.
    recoding
        How its frames are encoded.
    sink, stream
        What takes them, and under which name.
    span
        From when to when, in seconds; None for all. The end is not in it.

    Raises
    ------
    PackError
        When it has no frames, is damaged, or ends early.
    """
    av = load_av()
    try:
        with av.open(path) as container:
            if not container.streams.video:
                raise PackError(f"{path!r} has no pictures; leave it out, or pack with --on-error skip")
            return _read_stream(container, path, recoding, _Target(sink, stream, span))
    except (av.error.FFmpegError, OSError) as error:
        reached = sink.frame_counts().get(stream, 0)
        raise PackError(
            f"{path!r}, after {reached} frames: {_why(error)}; write the file again, or pack with --on-error skip"
        ) from error


class _Target:
    """Where frames go, and which of them."""

    def __init__(self, sink: FrameSink, stream: str, span: tuple[float, float] | None) -> None:
        self.sink, self.stream, self.span = sink, stream, span


def _read_stream(container: Any, path: str, recoding: Recoding, target: _Target) -> Beside:
    film = container.streams.video[0]
    film.codec_context.thread_count = recoding.threads
    film.codec_context.thread_type = "AUTO" if recoding.threads > 1 else "NONE"
    rate = float(film.average_rate) if film.average_rate else None
    if target.span is not None and target.span[0] > 0 and film.time_base:
        container.seek(int(target.span[0] / film.time_base), stream=film, backward=True)
    picker, times, decoded = FramePicker(recoding.fps), [], 0
    for frame in container.decode(film):
        time_s = float(frame.time) if frame.time is not None else decoded / (rate or 25.0)
        decoded += 1
        if frame.is_corrupt:
            raise PackError(f"{path!r}, frame {decoded - 1}: it is damaged; write the file again, or leave it out")
        if target.span is not None and time_s < target.span[0] - _HALF_TICK_S:
            continue
        if target.span is not None and time_s >= target.span[1] - _HALF_TICK_S:
            break
        if picker.keeps(time_s):
            times.append(time_s)
            target.sink.add(encode(_pixels(frame), recoding), target.stream)
    if target.span is None and film.frames and decoded < film.frames:
        raise PackError(
            f"{path!r}: expected {film.frames} frames, as it says itself, found {decoded}: it is cut off or damaged; "
            "write the file again, or pack with --on-error skip"
        )
    if not times:
        raise PackError(f"{path!r} has no frames; leave it out, or pack with --on-error skip")
    kept = rate if recoding.fps is None or rate is None else min(rate, recoding.fps)
    return Beside({"time_s": np.array(times, np.float64)}, frame_rate=kept)


#: Times in files are rounded, to 0.1 ms or coarser in some.
_HALF_TICK_S = 1e-4


def _pixels(frame: Any) -> Any:
    """Return a frame in RGB, ``(height, width, 3) uint8``, turned as its file asks."""
    pixels = frame.to_ndarray(format="rgb24")
    turn = _TURNS.get(round(getattr(frame, "rotation", 0) or 0) % 360, 0)
    return np.rot90(pixels, turn) if turn else pixels


def _why(error: Exception) -> str:
    said = getattr(error, "strerror", None) or str(error)
    return f"{type(error).__name__}: {said}"
