"""Valid inputs of every kind, for mutation: payloads, frames, files; knows nothing of what is done to them."""

from __future__ import annotations

from pathlib import Path

import cv2
import numpy as np

from loader_service.protocol import messages as m
from loader_service.protocol import wire
from tests.protocol.samples import MESSAGES
from tests.support.videos import LAYOUTS, Storage, make_videos, write_videos
from tests.worker import jpegs as made

#: One payload of each message, and one of several.
PAYLOADS: tuple[bytes, ...] = (
    *map(wire.encode, MESSAGES),
    wire.encode(m.Heartbeat(), m.Want(1, 2, 3, 4), m.Release(1, 5)),
)


def jpegs() -> list[bytes]:
    """Return small frames of each kind that the codec treats in its own way."""
    restarts, encoded = cv2.imencode(".jpg", made.picture(48, 64), [cv2.IMWRITE_JPEG_RST_INTERVAL, 2])
    assert restarts
    return [
        made.jpeg(48, 64),
        made.jpeg(33, 17, subsampling="444"),
        made.jpeg(16, 16, subsampling="422"),
        made.grey_jpeg(40, 24),
        made.cmyk_jpeg(np.full((24, 32, 4), 90, np.uint8)),
        made.progressive_jpeg(48, 64),
        made.with_segment(made.jpeg(48, 64), 0xE1, made.exif(6)),
        encoded.tobytes(),
    ]


def hdf5_files(directory: Path) -> list[bytes]:
    """Return a small file of each layout, plain and chunked, with labels."""
    contents = []
    for number, layout in enumerate(LAYOUTS):
        videos = make_videos([3, 2] if layout != "file" else [3], height=16, width=16, seed=number)
        labels = dict.fromkeys(videos, number)
        for storage in (Storage(), Storage(chunks=2, compression="gzip")):
            path = directory / "valid.h5"
            write_videos(path, layout, videos, labels, storage=storage)
            contents.append(path.read_bytes())
    return contents
