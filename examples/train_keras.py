"""Trains a small video classifier on a service that is already running.

loader-service start 'data/train/*.h5' --workers 8
python examples/train_keras.py
"""

import argparse

import keras

import loader_client
from loader_client import Clip, Image


def make_model(classes: int) -> keras.Model:
    """Return a small 3-D convolutional network for clips of (8, 112, 112, 3)."""
    return keras.Sequential(
        [
            keras.layers.Input((8, 112, 112, 3), dtype="uint8"),
            keras.layers.Rescaling(1 / 255),
            keras.layers.Conv3D(16, (1, 7, 7), strides=(1, 4, 4), activation="relu"),
            keras.layers.Conv3D(32, 3, activation="relu"),
            keras.layers.GlobalAveragePooling3D(),
            keras.layers.Dense(classes),
        ]
    )


def main() -> None:
    """Train for some epochs."""
    parser = argparse.ArgumentParser(description="a video classifier")
    parser.add_argument("--batch-size", type=int, default=16)
    parser.add_argument("--epochs", type=int, default=5)
    parser.add_argument("--classes", type=int, default=10, help="where labels are numbers and not names")
    asked = parser.parse_args()
    with loader_client.connect() as connection:
        classes = len(connection.catalog.classes) or asked.classes
    train = loader_client.dataset(
        batch_size=asked.batch_size,
        clip=Clip(frames=8, stride=2),
        image=Image(size=(112, 112), short_side=128, crop="random", flip=True),
        fields=("frames", "label"),
    )
    model = make_model(classes)
    model.compile("adam", keras.losses.SparseCategoricalCrossentropy(from_logits=True), metrics=["accuracy"])
    model.fit(train, epochs=asked.epochs)


if __name__ == "__main__":
    main()
