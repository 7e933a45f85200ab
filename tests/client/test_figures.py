"""What a trainer got and how long it waited: counted in the client, and told by a Keras callback and to TensorBoard."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import pytest

import loader_client
from loader_client import Clip, ConfigError, Frame, Image, Spec
from loader_client.stream_figures import StreamFigures
from tests.support.services import Service


def test_figures_are_differences_of_sums() -> None:
    before, after = StreamFigures(5, 50, 500, 1.0, 10.0), StreamFigures(9, 90, 900, 3.0, 14.0)
    found = after.since(before)
    assert (found.steps, found.rows, found.frames) == (4, 40, 400)
    assert (found.waiting_share, found.frames_per_s, found.steps_per_s) == (0.5, 100.0, 1.0)
    assert StreamFigures().waiting_share == StreamFigures().frames_per_s == 0
    assert before + before == StreamFigures(10, 100, 1000, 2.0, 20.0)


def test_a_service_that_began_anew_makes_no_nonsense() -> None:
    found = StreamFigures(9, 90, 900, 0.5, 1.0).since(StreamFigures(5, 50, 500, 8.0, 10.0))
    assert found == StreamFigures(4, 40, 400, 0.5, 1.0)


@pytest.mark.parametrize(
    ("clip", "frames"), [(Clip(5, sampling="start"), 20), (Frame(), 4), (None, None)], ids=["clip", "frame", "whole"]
)
def test_steps_rows_and_frames_are_counted(service: Service, clip: Any, frames: int | None) -> None:
    with loader_client.connect(service.endpoint) as connection:
        stream = connection.open(Spec(4, clip, Image(size=(16, 16)), shuffle=False))
        batch = stream.fetch(0, 0)
        figures = stream.figures
        assert (figures.steps, figures.rows) == (1, 4)
        assert figures.frames == (int(batch["length"].sum()) if frames is None else frames)
        assert 0 < figures.waiting_s <= figures.observed_s
        time.sleep(0.05)
        later = stream.figures
        assert later.waiting_s == figures.waiting_s  # nobody waits
        assert later.observed_s >= figures.observed_s + 0.05


@pytest.mark.tensorflow
def test_keras_tells_them_after_each_epoch_and_tensorboard_in_between(
    service: Service, tf: Any, tmp_path: Path
) -> None:
    from loader_client.keras import LoaderSequence, WaitingShare  # noqa: PLC0415 - imports Keras

    with pytest.raises(ConfigError, match="no dataset of loader_client"):
        WaitingShare(tf.data.Dataset.range(3))
    model = tf.keras.Sequential([tf.keras.layers.Input((4, 16, 16, 3)), tf.keras.layers.Flatten(),
                                 tf.keras.layers.Dense(1)])  # fmt: skip
    model.compile(loss="mse")
    options: dict[str, Any] = {"batch_size": 2, "clip": Clip(4), "image": Image(size=(16, 16))}
    with loader_client.connect(service.endpoint) as connection:
        ds = loader_client.dataset(connection, fields=("frames", "label"), **options)
        train = ds.map(lambda frames, label: (tf.cast(frames, tf.float32), label)).prefetch(1)
        callback = WaitingShare(train, log_dir=tmp_path / "logs", every=2)
        history = model.fit(train, epochs=2, verbose=0, shuffle=False, callbacks=[callback]).history
        assert len(history["waiting_share"]) == 2
        assert all(0 <= share <= 1 for share in history["waiting_share"])
        assert all(rate > 0 for rate in history["frames_per_s"])
        events = [
            each for file in (tmp_path / "logs").iterdir() for each in tf.compat.v1.train.summary_iterator(str(file))
        ]
        written = [(each.step, value.tag) for each in events for value in each.summary.value]
        assert (2, "loader/waiting_share") in written
        assert (12, "loader/frames_per_s") in written
        sequence = LoaderSequence(connection, fields=("frames", "label"), **options)
        history = model.fit(sequence, epochs=1, verbose=0, callbacks=[WaitingShare(sequence)]).history
        assert history["frames_per_s"][0] > 0
        sequence.close()
        del ds, train, callback, sequence
