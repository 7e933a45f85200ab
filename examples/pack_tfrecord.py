"""Packs TFRecord files of `tf.train.Example`, without TensorFlow: the JPEGs in them stay as they are.

python examples/pack_tfrecord.py                  writes a small file of 24 examples, and packs that
python examples/pack_tfrecord.py records/         packs yours

The one command is: loader-service pack records/ -o records.h5
"""

import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import simplejpeg

import loader_client
from loader_client import Frame
from loader_service.formats.examples import encode_example
from loader_service.formats.tfrecord import RecordWriter


def write_records(path: Path) -> None:
    """Write 24 examples with a JPEG and a label, as TensorFlow's own scripts for ImageNet do."""
    random = np.random.default_rng(0)
    path.parent.mkdir(parents=True)
    with path.open("wb") as file, RecordWriter(file) as writer:
        for number in range(24):
            picture = simplejpeg.encode_jpeg(random.integers(0, 255, (48, 64, 3), np.uint8), 90)
            features = {"image/encoded": picture, "image/class/label": np.array([number % 5])}
            writer.write(encode_example({**features, "image/filename": f"{number}.jpg".encode()}))


def main(source: Path, output: Path) -> None:
    """Pack, and print the labels and file names of a batch."""
    subprocess.run([sys.executable, "-m", "loader_service", "pack", str(source), "-o", str(output)], check=True)
    with loader_client.connect(str(output), workers=2) as connection:
        fields = ("frames", "label", "image_filename")
        batch = next(iter(connection.batches(batch_size=8, clip=Frame(), fields=fields)))
        print(batch["frames"].shape, batch["label"].tolist(), [bytes(each) for each in batch["image_filename"]])


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as place:
        if len(sys.argv) == 1:
            write_records(Path(place) / "records" / "a.tfrecord")
        main(Path(sys.argv[1]) if len(sys.argv) > 1 else Path(place) / "records", Path(place) / "records.h5")
