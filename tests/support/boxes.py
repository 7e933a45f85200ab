"""Videos with lists of boxes beside their frames, and arrays whose sides differ, for tests."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import h5py
import numpy as np
import numpy.typing as npt

from tests.support.videos import make_videos, write_videos

#: Numbers of a box, and boxes in each frame of each video.
BOX = 4
COUNTS = ((2, 0, 3, 1), (0, 0, 0), (5, 1, 0, 2, 4))


def boxes_of(video: int, frame: int) -> npt.NDArray[np.float32]:
    """Return the boxes of a frame, ``(boxes, 4) float32``; no two are equal."""
    count = COUNTS[video][frame]
    values = np.arange(count * BOX) + 100 * video + 10_000 * frame + 1
    return values.astype(np.float32).reshape(count, BOX)


def write_boxes(path: Path, dtype: str = "<f4", **options: Any) -> None:
    """Write videos of `COUNTS` with a vlen dataset ``boxes`` beside the frames of each."""
    write_videos(path, "group_vlen", make_videos([len(counts) for counts in COUNTS]))
    with h5py.File(path, "a") as file:
        for video, counts in enumerate(COUNTS):
            shape = (len(counts),)
            boxes = file.create_dataset(f"video{video}/boxes", shape, h5py.vlen_dtype(np.dtype(dtype)), **options)
            for frame in range(len(counts)):
                boxes[frame] = boxes_of(video, frame).reshape(-1)


def boxes_schema(path: Path) -> Path:
    """Write a schema that says that four numbers of ``boxes`` are a box."""
    path.write_text(
        'videos = "groups"\n[[field]]\nname = "frames"\nkind = "image"\ndataset = "{video}/frames"\n'
        '[[field]]\nname = "boxes"\nkind = "array"\ndataset = "{video}/boxes"\nshape = [0, 4]\n'
    )
    return path
