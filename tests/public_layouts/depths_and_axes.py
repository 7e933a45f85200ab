"""Videos at several depths of a file, and arrays whose axes or sides are told by what lies beside them."""

from __future__ import annotations

from pathlib import Path

import h5py
import numpy as np

from tests.public_layouts.expectations import Encoded, Serves, Video, case
from tests.public_layouts.pictures import jpegs


@case("recorders that call a frame str(time.time()): run0/1690000000.25 behind run0/1690000000.125")
def frames_called_by_seconds_of_any_digits(folder: Path) -> Serves:
    """Digits behind a point are no whole number: 0.5 comes behind 0.125."""
    videos = []
    with h5py.File(folder / "runs.h5", "w") as root:
        for run, ending in enumerate(("", ".jpg")):
            frames = jpegs(run, 12)
            for number, frame in enumerate(frames):
                root[f"run{run}/{1690000000 + number / 8}{ending}"] = np.void(frame)
            videos.append(Video(f"run{run}", {"frames": Encoded(frames)}))
    return Serves(videos)
