"""Packs videos in folders of their classes, as UCF101 has them (`class/v_class_g01_c01.avi`), and goes through a batch.

python examples/pack_ucf101.py              writes twelve small AVI files, and packs those
python examples/pack_ucf101.py UCF101/      packs yours

The one command is: loader-service pack UCF101/ -o ucf101.h5 --short-side 256
"""

import subprocess
import sys
import tempfile
from fractions import Fraction
from pathlib import Path

import av
import numpy as np

import loader_client
from loader_client import Clip, Image


def write_films(folder: Path) -> None:
    """Write twelve films of 20 frames in three classes: a bright square that moves down, to the right, or both."""
    for label, (down, right) in {"Both": (3, 3), "Down": (3, 0), "Right": (0, 3)}.items():
        (folder / label).mkdir(parents=True)
        for number in range(4):
            with av.open(str(folder / label / f"v_{label}_g{number:02}_c01.avi"), "w") as film:
                stream = film.add_stream("mpeg4", rate=Fraction(25))
                stream.width, stream.height, stream.pix_fmt = 128, 96, "yuv420p"
                for step in range(20):
                    picture = np.full((96, 128, 3), 20 * number, np.uint8)
                    top, left = 5 + down * step, 5 + right * step
                    picture[top : top + 20, left : left + 20] = 255
                    film.mux(stream.encode(av.VideoFrame.from_ndarray(picture, format="rgb24")))
                film.mux(stream.encode(None))


def main(source: Path, output: Path) -> None:
    """Pack, and print what the first batch holds."""
    pack = [sys.executable, "-m", "loader_service", "pack", str(source), "-o", str(output), "--short-side", "256"]
    subprocess.run([*pack, "--check"], check=True)
    with loader_client.connect(str(output), workers=2) as connection:
        print("classes:", ", ".join(next(each.classes for each in connection.catalog.fields if each.name == "label")))
        asked = {"clip": Clip(frames=8, stride=2, sampling="random"), "image": Image(size=(64, 64), crop="center")}
        batch = next(iter(connection.batches(batch_size=4, fields=("frames", "label", "video", "time_s"), **asked)))
        for name, label, times in zip(batch["video"], batch["label"], batch["time_s"], strict=True):
            print(bytes(name).decode(), "label", label, "from", times[0], "to", times[-1], "s")


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as place:
        if len(sys.argv) == 1:
            write_films(Path(place) / "films")
        main(Path(sys.argv[1]) if len(sys.argv) > 1 else Path(place) / "films", Path(place) / "ucf101.h5")
