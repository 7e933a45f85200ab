"""What `Resume` cannot keep a place in, or cannot restore, is one line that says what to change."""

from __future__ import annotations

import gc
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import loader_client
from loader_client import Clip, ConfigError, Image
from loader_client.places import place_of
from tests.support.services import Service

pytestmark = pytest.mark.tensorflow


@pytest.fixture(autouse=True)
def without_cycles() -> Iterator[None]:
    yield
    gc.collect()  # Keras's own


@pytest.fixture
def train(tf: Any, service: Service) -> Any:
    """Return six batches of two frames and labels an epoch."""
    clip, image = Clip(frames=1), Image(size=(4, 4))
    dataset = loader_client.dataset(service.endpoint, batch_size=2, clip=clip, image=image, fields=("frames", "label"))
    return dataset.map(lambda frames, label: (tf.cast(frames, tf.float32), tf.cast(label, tf.float32)[:, None]))


def _model(tf: Any, *units: int, built: bool = True) -> Any:
    keras = tf.keras
    first = [keras.Input((1, 4, 4, 3))] if built else []
    model = keras.Sequential([*first, keras.layers.Flatten(), *(keras.layers.Dense(each) for each in units)])
    model.compile("adam", "mse")
    return model


def _fit(
    tf: Any, model: Any, data: Any, resume: Any, *, stop_after: tuple[int, int] | None = None, **options: Any
) -> Any:
    class Stop(tf.keras.callbacks.Callback):  # type: ignore[misc] # Keras has no types
        """Interrupts the training."""

        def on_epoch_begin(self, epoch: int, logs: Any = None) -> None:
            self.epoch = epoch

        def on_train_batch_end(self, batch: int, logs: Any = None) -> None:
            if (self.epoch, batch) == stop_after:
                raise InterruptedError

    return model.fit(data, shuffle=False, verbose=0, callbacks=[resume, Stop()], **options)


def _interrupted(tf: Any, train: Any, folder: Path, **options: Any) -> None:
    from loader_client.keras import Resume  # noqa: PLC0415 - after TensorFlow's own warnings

    with pytest.raises(InterruptedError):
        _fit(tf, _model(tf, 1), train, Resume(train, backup_dir=folder, **options), stop_after=(1, 3), epochs=3)
    assert [path.name for path in folder.iterdir()] == ["resume.npz"]


def test_data_of_others_is_refused(tf: Any) -> None:
    from loader_client.keras import Resume  # noqa: PLC0415 - as above

    with pytest.raises(ConfigError, match="there is no data of loader_client in"):
        Resume(tf.data.Dataset.range(3))


def test_other_data_than_fit_reads_is_said_with_the_first_batch(tf: Any, train: Any, service: Service) -> None:
    from loader_client.keras import Resume  # noqa: PLC0415 - as above

    other = loader_client.dataset(service.endpoint, batch_size=2, clip=Clip(frames=1))
    with pytest.warns(UserWarning, match="Resume was given other data than fit reads; give it what fit gets"):
        _fit(tf, _model(tf, 1), train, Resume(other))
    with warnings.catch_warnings():
        warnings.filterwarnings("error", message="Resume")
        _fit(tf, _model(tf, 1), train.cache().prefetch(2), Resume(train), epochs=2)


def test_a_file_in_place_of_the_folder_is_refused_before_the_first_epoch(tf: Any, train: Any, tmp_path: Path) -> None:
    from loader_client.keras import Resume  # noqa: PLC0415 - as above

    (tmp_path / "file").touch()
    with pytest.raises(ConfigError, match=r"backup_dir='.*/file' is a file; name a folder"):
        _fit(tf, _model(tf, 1), train, Resume(train, backup_dir=tmp_path / "file"))


def test_an_index_dataset_is_refused_whose_order_begins_anew(tf: Any, service: Service) -> None:
    from loader_client.keras import Resume  # noqa: PLC0415 - as above

    dataset = loader_client.dataset(service.endpoint, batch_size=2, index=tf.data.Dataset.range(8).shuffle(8))
    with pytest.raises(ConfigError, match="give index= as an array"):
        Resume(dataset.map(lambda batch: batch["frames"]))


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"save_freq": 3}, "save_freq=3 needs a folder"),
        ({"save_freq": 0, "backup_dir": "x"}, "save_freq=0 is out of range"),
        ({"save_freq": "batch", "backup_dir": "x"}, "save_freq='batch' is not a whole number"),
    ],
)
def test_a_frequency_that_is_none_is_refused(train: Any, options: Any, said: str) -> None:
    from loader_client.keras import Resume  # noqa: PLC0415 - as above

    with pytest.raises(ConfigError, match=said):
        Resume(train, **options)


def test_batches_that_are_no_steps_have_no_place_in_an_epoch(tf: Any, train: Any, tmp_path: Path) -> None:
    from loader_client.keras import Resume  # noqa: PLC0415 - as above

    other = train.unbatch().batch(3)
    with pytest.raises(ConfigError, match=r"does not give one batch for each of its 6 steps.*Unbatch"):
        _fit(tf, _model(tf, 1), other, Resume(other, backup_dir=tmp_path / "b", save_freq=2), epochs=1)
    short = train.take(4)
    with pytest.raises(ConfigError, match="does not give one batch for each of its 6 steps"):
        _fit(tf, _model(tf, 1), short, Resume(short, backup_dir=tmp_path / "b", save_freq=2), epochs=1)


def test_whole_epochs_of_any_pipeline_resume(tf: Any, train: Any, tmp_path: Path) -> None:
    from loader_client.keras import Resume  # noqa: PLC0415 - as above

    other = train.unbatch().batch(3)
    with pytest.raises(InterruptedError):
        _fit(tf, _model(tf, 1), other, Resume(other, backup_dir=tmp_path), stop_after=(1, 2), epochs=3)
    history = _fit(tf, _model(tf, 1), other, Resume(other, backup_dir=tmp_path), epochs=3)
    assert history.epoch == [1, 2]


@pytest.mark.parametrize("kind", ["repeat", "repeat.prefetch", "batch.repeat", "concatenate with itself"])
def test_an_epoch_of_fit_is_as_many_of_the_data_as_its_pipeline_goes_through(
    tf: Any, service: Service, kind: str
) -> None:
    def make() -> Any:
        data = loader_client.dataset(service.endpoint, batch_size=2, clip=Clip(frames=1), fields=("index", "start"))
        return {
            "repeat": lambda: data.repeat(2),
            "repeat.prefetch": lambda: data.repeat(2).prefetch(2),
            "batch.repeat": lambda: data.batch(3).repeat(2),
            "concatenate with itself": lambda: data.concatenate(data),
        }[kind]()

    def epoch(data: Any) -> str:
        return str([tf.nest.map_structure(lambda tensor: tensor.numpy().tolist(), each) for each in data])

    whole, resumed = make(), make()
    expected = [epoch(whole) for _ in range(3)]
    place = place_of(resumed)
    for number in (1, 2):
        place.begin(number, 0, None, is_first=number == 1)
        assert epoch(resumed) == expected[number]
    assert len(set(expected)) == 3


def test_a_model_without_variables_is_refused_at_once(tf: Any, train: Any, tmp_path: Path) -> None:
    from loader_client.keras import Resume  # noqa: PLC0415 - as above

    with pytest.raises(ConfigError, match=r"begin it with keras\.Input"):
        _fit(tf, _model(tf, 1, built=False), train, Resume(train, backup_dir=tmp_path), epochs=1)


def test_another_model_or_other_data_is_refused(tf: Any, service: Service, train: Any, tmp_path: Path) -> None:
    from loader_client.keras import Resume  # noqa: PLC0415 - as above

    _interrupted(tf, train, tmp_path / "b", save_freq=2)
    with pytest.raises(
        ConfigError, match=r"holds variable 0 as \[\[48, 1\], 'float32'\], and this model has \[\[48, 2\]"
    ):
        _fit(tf, _model(tf, 2), train, Resume(train, backup_dir=tmp_path / "b", save_freq=2), epochs=3)
    short = train.take(5)
    with pytest.raises(ConfigError, match=r"was saved with 6 steps of fit in an epoch.* and this training has 5 steps"):
        _fit(tf, _model(tf, 1), short, Resume(short, backup_dir=tmp_path / "b"), epochs=3)


def test_another_part_of_the_data_is_refused(tf: Any, service: Service, tmp_path: Path) -> None:
    from loader_client.keras import Resume  # noqa: PLC0415 - as above

    def part(**chosen: Any) -> Any:
        data = loader_client.dataset(service.endpoint, batch_size=2, clip=Clip(frames=1), fields=("index",), **chosen)
        return data.map(lambda index: (tf.zeros((2, 1, 4, 4, 3)), tf.cast(index, tf.float32)[:, None]))

    kept = part(split="train[:99.9%]")
    _interrupted(tf, kept, tmp_path / "b", save_freq=2)
    for other, said in ((part(), "'all'"), (part(split="train[:99.8%]"), r"'train\[:99\.8%\]'")):
        with pytest.raises(ConfigError, match=rf"'train\[:99\.9%\]' as the part of the data.* {said} as the part"):
            _fit(tf, _model(tf, 1), other, Resume(other, backup_dir=tmp_path / "b", save_freq=2), epochs=3)
    again = part(split="train[:99.9%]")
    assert _fit(tf, _model(tf, 1), again, Resume(again, backup_dir=tmp_path / "b", save_freq=2), epochs=3).epoch == [
        1,
        2,
    ]


def test_a_file_that_cannot_be_read_is_named(tf: Any, train: Any, tmp_path: Path) -> None:
    from loader_client.keras import Resume  # noqa: PLC0415 - as above

    (tmp_path / "resume.npz").write_bytes(b"PK\3\4 and no more")
    with pytest.raises(ConfigError, match=r"resume\.npz cannot be read: .*; delete it to begin anew"):
        _fit(tf, _model(tf, 1), train, Resume(train, backup_dir=tmp_path), epochs=1)


def test_a_callback_that_ends_the_training_in_a_resumed_epoch_ends_it(tf: Any, train: Any, tmp_path: Path) -> None:
    from loader_client.keras import Resume  # noqa: PLC0415 - as above

    class Enough(tf.keras.callbacks.Callback):  # type: ignore[misc] # Keras has no types
        """Ends the training after an epoch, as `EarlyStopping` does."""

        def on_epoch_end(self, epoch: int, logs: Any = None) -> None:
            self.model.stop_training = True

    for place in range(2):
        _interrupted(tf, train, tmp_path / "b", save_freq=2)
        callbacks = [Resume(train, backup_dir=tmp_path / "b", save_freq=2)]
        callbacks.insert(place, Enough())
        history = _model(tf, 1).fit(train, shuffle=False, verbose=0, epochs=3, callbacks=callbacks)
        assert history.epoch == [1]
        assert not (tmp_path / "b").exists()
