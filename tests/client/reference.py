"""What batches should hold, worked out the plain way: h5py, simplejpeg and NumPy; knows nothing of the tested code."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import h5py
import numpy as np
import simplejpeg

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray


class Reference:
    """Videos as they lie in files of the layout ``group_vlen``, in the order of the catalog.

    Parameters
    ----------
    directory
        Folder of the files.
    """

    def __init__(self, directory: Path) -> None:
        self.names: list[str] = []
        self.labels: list[int] = []
        self._videos: list[list[bytes]] = []
        for path in sorted(directory.glob("*.h5")):
            with h5py.File(path) as file:
                for name in sorted(file):
                    self.names.append(name)
                    self.labels.append(int(file[name].attrs["label"]))
                    self._videos.append([frame.tobytes() for frame in file[name]["frames"][:]])

    @property
    def videos(self) -> int:
        """How many there are."""
        return len(self.names)

    def clip(self, video: int, start: int, frames: int, stride: int = 1) -> NDArray[np.uint8]:
        """Return ``(frames, height, width, 3) uint8``: those frames decoded, the last real one repeated."""
        jpegs = self._videos[video][start::stride][:frames]
        pictures = [decode(jpeg) for jpeg in jpegs]
        return np.stack(pictures + [pictures[-1]] * (frames - len(pictures)))

    def length(self, video: int, frames: int, stride: int = 1) -> int:
        """Return how many frames of a clip are really there."""
        return min(frames, -(-len(self._videos[video]) // stride))

    def check(self, batch: Mapping[str, Any], frames: int, stride: int = 1) -> None:
        """Fail unless every field that a batch has is what its samples' numbers and starts say."""
        starts = batch["start"].tolist()
        for row, (video, start) in enumerate(zip(batch["index"].tolist(), starts, strict=True)):
            length = self.length(video, frames, stride)
            assert start >= 0
            assert start + (length - 1) * stride < len(self._videos[video])
            expected = {
                "label": self.labels[video],
                "video": self.names[video].encode(),
                "length": length,
                "frames": self.clip(video, start, frames, stride),
            }
            for name in expected.keys() & batch.keys():
                np.testing.assert_array_equal(batch[name][row], expected[name], err_msg=f"{name} of row {row}")


def decode(jpeg: bytes) -> NDArray[np.uint8]:
    """Return ``(height, width, 3) uint8``, decoded with the service's flags."""
    pixels: NDArray[np.uint8] = simplejpeg.decode_jpeg(jpeg, "RGB", fastdct=True, fastupsample=True)
    return pixels
