"""The demo's model: a small convolutional network that tells directions of motion apart; knows no data source."""

from __future__ import annotations

import keras

from loader_client.demo.videos import DIRECTIONS


def motion_model(frames: int, height: int, width: int) -> keras.Model:
    """Return a compiled classifier of clips ``(batch, frames, height, width, 1) uint8`` by direction.

    Grey frames become channels, and channels the differences of neighbours: what stands still becomes zero, and the
    first convolution sees where each edge was in every frame.
    """
    clip = keras.Input((frames, height, width, 1), dtype="uint8")
    pixels = keras.layers.Rescaling(1 / 64)(clip)
    planes = keras.layers.Reshape((frames, height, width))(pixels)
    channels = keras.layers.Permute((2, 3, 1))(planes)
    features = channels[..., 1:] - channels[..., :-1]
    for filters, kernel in ((24, 7), (32, 3), (48, 3)):
        features = keras.layers.Conv2D(filters, kernel, strides=2, padding="same", activation="relu")(features)
    pooled = keras.layers.GlobalMaxPooling2D()(features)
    directions = keras.layers.Dense(len(DIRECTIONS), activation="softmax")(pooled)
    model = keras.Model(clip, directions)
    model.compile(
        optimizer=keras.optimizers.Adam(1.5e-3),
        loss="sparse_categorical_crossentropy",
        metrics=["accuracy"],
        jit_compile=False,  # compiling would take longer than the training
    )
    return model
