"""The limit of one core: the JPEG decoder alone, frames already in memory. Knows no TensorFlow and no service."""

from __future__ import annotations

from collections.abc import Iterator

import h5py
import numpy as np
import simplejpeg

from benchmarks.data import BATCH_SHAPE, FRAMES_PER_BATCH, Data, Pixels


def bare_loop(data: Data) -> Iterator[Pixels]:
    """Yield one and the same batch, (16, 16, 256, 342, 3) uint8, decoded anew each time by the calling thread.

    The batch is a buffer as large as everyone's, so that the pixels go to memory as theirs do.
    """
    frames = frames_in_memory(data.videos[0])
    encoded = [frames[position] for position in np.random.default_rng(0).permutation(len(frames))]
    batch = np.zeros(BATCH_SHAPE, np.uint8)
    places = list(batch.reshape(FRAMES_PER_BATCH, *BATCH_SHAPE[2:]))
    number = 0
    while True:
        for place in places:
            simplejpeg.decode_jpeg(encoded[number], "RGB", fastdct=True, fastupsample=True, buffer=place)
            number = (number + 1) % len(encoded)
        yield batch


def frames_in_memory(path: str) -> list[bytes]:
    """Return the encoded frames of one file, in their order."""
    with h5py.File(path) as file:
        return [frame.tobytes() for video in file.values() for frame in video["frames"][:]]
