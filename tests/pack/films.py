"""Writes small films, and reads them as a plain loop of PyAV does."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path
from typing import Any

import av
import numpy as np
import simplejpeg
from numpy.typing import NDArray

from tests.support.videos import frame_image

CODECS = {".mp4": "mpeg4", ".mkv": "mpeg4", ".avi": "mpeg4", ".webm": "libvpx"}


def write_film(
    path: Path, frames: int, *, seed: int = 0, fps: int = 10, height: int = 48, width: int = 64, flags: str = ""
) -> Path:
    """Write a film of `frames` pictures; `flags`: those of FFmpeg's encoder."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with av.open(str(path), "w") as container:
        options = {"flags": flags} if flags else {}
        stream: Any = container.add_stream(CODECS[path.suffix], rate=Fraction(fps), options=options)
        stream.width, stream.height, stream.pix_fmt = width, height, "yuv420p"
        for number in range(frames):
            frame = av.VideoFrame.from_ndarray(frame_image(seed * 1009 + number, height, width), format="rgb24")
            container.mux(stream.encode(frame))
        container.mux(stream.encode(None))
    return path


def pixels_of(path: Path) -> list[NDArray[np.uint8]]:
    """Return the frames of a film in RGB."""
    with av.open(str(path)) as container:
        return [np.ascontiguousarray(frame.to_ndarray(format="rgb24")) for frame in container.decode(video=0)]


def jpegs_of(path: Path, quality: int = 90) -> list[bytes]:
    """Return the frames of a film as JPEGs, by a bare loop."""
    return [
        bytes(simplejpeg.encode_jpeg(np.ascontiguousarray(each), quality, "RGB", "420")) for each in pixels_of(path)
    ]


def write_depth_film(path: Path, frames: list[NDArray[np.uint16]]) -> Path:
    """Write a film of grey in 12 bits, without loss, as LeRobot writes depth."""
    height, width = frames[0].shape
    with av.open(str(path), "w") as container:
        stream: Any = container.add_stream("ffv1", rate=10)
        stream.width, stream.height, stream.pix_fmt = width, height, "gray12le"
        for number, pixels in enumerate(frames):
            frame = av.VideoFrame(width, height, "gray12le")
            rows = np.zeros((height, frame.planes[0].line_size // 2), np.uint16)
            rows[:, :width] = pixels
            frame.planes[0].update(rows.tobytes())
            frame.pts = number
            container.mux(stream.encode(frame))
        container.mux(stream.encode(None))
    return path
