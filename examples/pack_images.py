"""Packs a folder of pictures, `class/picture.jpg`, byte for byte, and splits them into training and validation data.

python examples/pack_images.py              writes sixty small pictures, and packs those
python examples/pack_images.py photos/      packs yours

The one command is: loader-service pack photos/ -o photos.h5
"""

import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import simplejpeg

import loader_client
from loader_client import Frame, Image


def write_pictures(folder: Path) -> None:
    """Write sixty noisy pictures of three colours."""
    random = np.random.default_rng(0)
    for channel, label in enumerate(("red", "green", "blue")):
        (folder / label).mkdir(parents=True)
        for name in random.choice(10_000, 20, replace=False):
            picture = random.integers(0, 60, (80, 100, 3), np.uint8)
            picture[..., channel] += 180
            (folder / label / f"IMG_{name}.jpg").write_bytes(simplejpeg.encode_jpeg(picture, 90))


def main(source: Path, output: Path) -> None:
    """Pack, and count the classes of both parts."""
    pack = [sys.executable, "-m", "loader_service", "pack", str(source), "-o", str(output), "--from", "images"]
    subprocess.run([*pack, "--check"], check=True)
    with loader_client.connect(str(output), workers=2) as connection:
        for part in ("train[:80%]", "train[80%:]"):
            batches = connection.batches(
                batch_size=8,
                clip=Frame(),
                image=Image(size=(64, 64), crop="center"),
                fields=("frames", "label"),
                split=part,
                drop_remainder=False,
                epochs=1,
            )
            labels = np.concatenate([batch["label"].copy() for batch in batches])
            print(part, "has", len(labels), "pictures, of each class", np.bincount(labels).tolist())


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as place:
        if len(sys.argv) == 1:
            write_pictures(Path(place) / "photos")
        main(Path(sys.argv[1]) if len(sys.argv) > 1 else Path(place) / "photos", Path(place) / "photos.h5")
