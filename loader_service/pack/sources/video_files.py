"""Films in files: MP4, Matroska, AVI, WebM and whatever else PyAV opens; frames become JPEGs, or PNGs of depth."""

from __future__ import annotations

import os
import re
from collections import deque
from collections.abc import Iterator
from contextlib import nullcontext
from io import BytesIO
from typing import Any, NamedTuple

import numpy as np

from loader_service.catalog.codecs import DEPTH, codec_of
from loader_service.errors import ConfigError, PackError
from loader_service.pack.frame_blob import FrameSink
from loader_service.pack.orientation import UPRIGHT, Orientation, of_matrix
from loader_service.pack.recode import FramePicker, encode, encode_depth
from loader_service.pack.records import Beside, Item, Recoding, checked_name
from loader_service.pack.source_files import for_library, opened, size_of
from loader_service.pack.sources.film_size import HEAD_BYTES, stated_bytes
from loader_service.pack.sources.hidden_pictures import is_hidden
from loader_service.pack.sources.source_kind import Look, SourceKind, folder_label, stem_of
from loader_service.sizes import counted

_ENDINGS = frozenset(
    {".mp4", ".m4v", ".mov", ".mkv", ".avi", ".webm", ".mpg", ".mpeg", ".ts", ".mts", ".flv", ".wmv", ".3gp", ".ogv"}
)


class VideoFiles(SourceKind):
    """A video for each film."""

    name = "videos"
    takes = "video files: MP4, MKV, AVI, WebM"

    def claims(self, look: Look) -> bool:
        """Tell whether there are files that begin as films do, or end in a film's ending."""
        return any(_is_film(file, head) for file, head in look.sample())

    def items(self, look: Look, *, labelled: bool) -> Iterator[Item]:
        """Yield a video for each film."""
        for file, _, path in look.those(_is_film):
            name = checked_name(stem_of(file), look.given)
            yield Item(self.name, name, path, (), size_of(path), folder_label(name) if labelled else None)

    def files(self, item: Item) -> list[str]:
        """Return the film."""
        return [item.path]

    def read(self, item: Item, recoding: Recoding, sink: FrameSink) -> Beside:
        """Decode the film, and encode its frames."""
        return read_film(item.path, recoding, sink)


def _is_film(file: str, head: bytes) -> bool:
    return codec_of(head).kind == "video" or os.path.splitext(file)[1].lower() in _ENDINGS


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


class FilmPart(NamedTuple):
    """Of a film, the frames between two times, in seconds, the second not included; and the field that they become."""

    stream: str = "frames"
    span: tuple[float, float] | None = None


#: A film from its begin to its end.
WHOLE = FilmPart()


def read_film(
    film: str | BytesIO, recoding: Recoding, sink: FrameSink, part: FilmPart = WHOLE, where: str = ""
) -> Beside:
    """Give the frames of a film to a sink; return their times, in seconds, and the frame rate.

    Parameters
    ----------
    film
        A path, a URL, or all its bytes.
    recoding
        How its frames are encoded.
    sink
        What takes them.
    part
        Which of them, and what they are called.
    where
        What it is called in errors; by default its path.

    Raises
    ------
    PackError
        When it has no frames, is damaged, or ends early.
    """
    av = load_av()
    where = where or repr(film)
    try:
        _check_size(film, where)
        with (
            nullcontext(film) if isinstance(film, BytesIO) else for_library(film) as source,
            av.open(source, metadata_errors="replace") as container,  # titles of old films are no UTF-8
        ):
            films = [each for each in container.streams.video if not _is_cover(each)]
            if not films:
                raise PackError(f"{where} has no moving pictures; leave it out")
            return _FilmReader(container, films[0], where, recoding).read(sink, part)
    except (av.error.FFmpegError, OSError) as error:
        reached = sink.frame_counts().get(part.stream, 0)
        raise PackError(
            f"{where}, after {counted(reached, 'frame')}: {_why(error)}; write it again, or leave it out"
        ) from error


def _check_size(film: str | BytesIO, where: str) -> None:
    """Make sure that a film is as large as it says; what reads it takes the end of the file for that of the film."""
    if isinstance(film, BytesIO):
        head, size_bytes = bytes(film.getbuffer()[:HEAD_BYTES]), film.getbuffer().nbytes
    else:
        with opened(film) as file:
            head, size_bytes = file.read_at(0, HEAD_BYTES), file.size_bytes
    stated = stated_bytes(head)
    if size_bytes < stated:
        expected = f"expected at least {stated:,} bytes, as it says itself, found {size_bytes:,}"
        raise PackError(f"{where}: {expected}: it is cut off or damaged; {_REMEDY}")


def _is_cover(stream: Any) -> bool:
    """Tell whether a stream is one picture for the file, as music has, and no film."""
    return bool(stream.disposition & load_av().stream.Disposition.attached_pic)


class _FilmReader:
    """A film of an open container."""

    def __init__(self, container: Any, film: Any, where: str, recoding: Recoding) -> None:
        self._container, self._film, self._where, self._recoding = container, film, where, recoding
        film.codec_context.thread_count = recoding.threads
        film.codec_context.thread_type = "AUTO" if recoding.threads > 1 else "NONE"
        rate = film.average_rate or film.guessed_rate
        self._rate = float(rate) if rate and rate <= _MOST_RATE else None
        self._is_avi = container.format.name == "avi"
        self._counts_from_zero = "matroska" in container.format.name  # its lengths are times of ends
        self._codec = film.codec_context.name
        self._packets = self._shown = self._decoded = self._fields = 0
        self._avi_times: deque[float] = deque()
        self._first_s: float | None = None
        self._last_s = self._end_s = 0.0
        self._orientation: Orientation | None = None

    def read(self, sink: FrameSink, part: FilmPart) -> Beside:
        """Decode, and give the frames to a sink."""
        picker, times = FramePicker(self._recoding.fps), []
        for time_s, frame in self._frames(part.span):
            if picker.keeps(time_s):
                times.append(time_s)
                self._add(frame, sink, part.stream)
        if part.span is None:
            self._check_whole()
        if not times:
            raise PackError(f"{self._where} has no frames; leave it out")
        rates = [each for each in (self._true_rate(), self._recoding.fps) if each is not None]
        kept = min(rates) if self._rate is not None else None
        return Beside({"time_s": np.array(times, np.float64)}, frame_rate=kept)

    def _true_rate(self) -> float | None:
        """Return frames a second: those that the file says, but for what is the tick of its clock, by their times."""
        lasted_s = self._last_s - (self._first_s or 0.0)
        found = (self._decoded - 1) / lasted_s if lasted_s > 0 else 0.0
        return found if self._rate is not None and 0 < found < self._rate / _MOST_FASTER else self._rate

    def _frames(self, span: tuple[float, float] | None) -> Iterator[tuple[float, Any]]:
        """Yield frames with their times."""
        slack_s = _SPAN_SLACK / (self._rate or _USUAL_RATE)
        if span is not None and span[0] > 0 and self._film.time_base:
            self._container.seek(int((span[0] - slack_s) / self._film.time_base), stream=self._film, backward=True)
        for packet in self._container.demux(self._film):
            if packet.size:
                self._packets += 1
                self._shown += not (packet.is_discard or is_hidden(self._codec, memoryview(packet)))
                if self._is_avi and packet.dts is not None:
                    self._avi_times.append(float(packet.dts * packet.time_base))
            for frame in packet.decode():
                time_s = self._time_s(frame)
                if frame.is_corrupt:
                    raise PackError(f"{self._where}, frame {self._decoded}: it is damaged; {_REMEDY}")
                self._decoded += 1
                self._fields += frame.interlaced_frame  # cameras store one in two packets, others in one
                if span is not None and time_s >= span[1] - slack_s:
                    return
                if span is None or time_s >= span[0] - slack_s:
                    yield time_s, frame

    def _time_s(self, frame: Any) -> float:
        """Return when a frame is shown.

        AVI has no such times: its frames are stored in the order of decoding, a tick each. They come out of a decoder
        in the order in which they are shown, so each takes the next tick.
        """
        if self._avi_times:
            time_s = self._avi_times.popleft()
        elif frame.time is not None:
            time_s = float(frame.time)
        else:
            time_s = self._decoded / (self._rate or _USUAL_RATE)
        if self._first_s is None:
            self._first_s = time_s
        self._last_s = max(self._last_s, time_s)
        shown_s = float(frame.duration * frame.time_base) if frame.duration and frame.time_base else 0.0
        self._end_s = max(self._end_s, time_s + (shown_s or 1 / (self._rate or _USUAL_RATE)))
        return time_s

    def _add(self, frame: Any, sink: FrameSink, stream: str) -> None:
        """Give a frame to a sink as a JPEG, or, of grey in more than 8 bits, as depth has, as a PNG without loss."""
        pixels = self._pixels(frame)
        if pixels.dtype == np.uint16:
            sink.add(encode_depth(pixels), stream, DEPTH)
        else:
            sink.add(encode(pixels, self._recoding), stream)

    def _pixels(self, frame: Any) -> Any:
        """Return a frame in RGB, ``(height, width, 3) uint8``, or in grey, ``(height, width) uint16``, turned."""
        pixels = _deep_grey(frame) if _DEEP_GREY.fullmatch(frame.format.name) else self._rgb(frame)
        if self._orientation is None:
            self._orientation = self._turn_of(frame)
        return self._orientation.turned(pixels)

    @staticmethod
    def _rgb(frame: Any) -> Any:
        try:
            return frame.reformat(format="rgb24", threads=1).to_ndarray()  # more take 171 µs a frame, not 71
        except TypeError:  # PyAV before it could be told so
            return frame.to_ndarray(format="rgb24")

    def _turn_of(self, frame: Any) -> Orientation:
        """Return how all frames are turned, as the first one says: a file has one matrix for all."""
        try:
            beside = frame.side_data
        except ValueError:  # PyAV has no name for what a newer FFmpeg found there, such as the EXIF data of a JPEG
            beside = _of_known_kinds(frame).side_data
        matrix = beside.get("DISPLAYMATRIX")
        return UPRIGHT if matrix is None else of_matrix(bytes(matrix), self._where)

    def _check_whole(self) -> None:
        """Make sure that all frames came: a file that was cut off just ends, and decoders may leave out what is bad."""
        found = None
        lasted_s = self._end_s - (0.0 if self._counts_from_zero else self._first_s or 0.0)
        missing_s = self._seconds() - lasted_s
        if self._packets < _MOST_OF * self._film.frames - 2 and missing_s > _EDIT_SLACK_S:  # edits may leave some out
            found = f"expected {counted(self._film.frames, 'frame')}, as it says itself, found {self._packets}"
        elif self._decoded + self._fields < _MOST_OF * self._shown - 2:
            found = f"of {self._shown} encoded frames, {self._decoded} could be decoded"
        elif (
            not self._film.frames
            and self._decoded
            and missing_s > min(_SLACK_S, _SLACK_SHARE * self._seconds() + _SLACK_FRAMES / (self._rate or _USUAL_RATE))
        ):
            found = f"expected {self._seconds():.1f} s, as it says itself, found {lasted_s:.1f} s"
        if found is not None:
            raise PackError(f"{self._where}: {found}: it is cut off or damaged; {_REMEDY}")

    def _seconds(self) -> float:
        """Return how long the pictures last, as the file says; 0 where it does not."""
        if self._film.frames and self._film.duration:
            return float(self._film.duration * self._film.time_base)
        tagged = re.fullmatch(r"(\d+):(\d+):([\d.]+)", self._film.metadata.get("DURATION", ""))
        if tagged:
            return int(tagged[1]) * 3600 + int(tagged[2]) * 60 + float(tagged[3])
        alone = len(self._container.streams) == 1
        return float(self._container.duration or 0) / 1e6 if alone else 0.0


def _deep_grey(frame: Any) -> Any:
    """Return the numbers of a grey frame as they are: a conversion to 16 bits would scale them."""
    (plane,) = frame.planes
    order = "<" if frame.format.name.endswith("le") else ">"
    rows = np.frombuffer(plane, f"{order}u2").reshape(-1, plane.line_size // 2)
    return rows[: frame.height, : frame.width].astype(np.uint16)


def _of_known_kinds(frame: Any) -> Any:
    """Return a frame without what lies beside its pixels and PyAV has no name for: kinds of the highest numbers."""
    av = load_av()
    known = len(av.sidedata.sidedata.Type)
    graph = av.filter.Graph()
    graph.link_nodes(
        graph.add_buffer(width=frame.width, height=frame.height, format=frame.format, time_base=frame.time_base),
        *(graph.add("sidedata", f"mode=delete:type={kind}") for kind in range(known, known + _NEWER_KINDS)),
        graph.add("buffersink"),
    ).configure()
    graph.push(frame)
    return graph.pull()


#: Names of FFmpeg for grey in 9 to 16 bits.
_DEEP_GREY = re.compile(r"gray(9|10|12|14|16)(le|be)")

_REMEDY = "write it again, or leave it out"

#: Kinds of data that FFmpeg may give and PyAV does not know: of FFmpeg 8 four.
_NEWER_KINDS = 16

#: Of the frames that a file says it has, the share that must come: counts in headers are off by a few, and some packets
#: hold no picture.
_MOST_OF = 0.99

#: By how much frames may end before the end that a file names: in seconds, and of short films as a share and in frames.
_SLACK_S, _SLACK_SHARE, _SLACK_FRAMES = 1.0, 0.1, 2.0

#: Of films that say how many frames they have, seconds that may be missing at the end.
_EDIT_SLACK_S = 0.1

#: Of the time between two frames, how much earlier one may be than a part of a film begins, whose time is a sum.
_SPAN_SLACK = 0.5

#: Frames a second of films that do not say it; and above that it is the tick of their clock.
_USUAL_RATE, _MOST_RATE = 25.0, 1000.0

#: By how much the rate that a file says may be above that of its frames, which a recording of a screen may leave out.
_MOST_FASTER = 2.0


def _why(error: Exception) -> str:
    said = getattr(error, "strerror", None) or str(error)
    return f"{type(error).__name__}: {said}"
