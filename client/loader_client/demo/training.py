"""Runs the demo: write videos, serve them, train on them, report; knows nothing of how they are served."""

from __future__ import annotations

import argparse
import importlib.util
import os
import signal
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from types import FrameType
from typing import Any, NoReturn

import loader_client
from loader_client import Clip, Image, LoaderError
from loader_client.demo.videos import DIRECTIONS, HEIGHT, WIDTH, write_videos
from loader_service import boot
from loader_service.sizes import counted

#: Below this the model has not learned; four directions by chance are 0.25, and 0.97 or more is usual.
_PASSING_ACCURACY = 0.85

_VIDEOS_PER_FILE = 40
_BATCH_SIZE = 16
_FRAMES = 8
_SIZE = (HEIGHT // 2, WIDTH // 2)  # half: the service decodes the JPEGs at half scale
_TIMED_EPOCHS = 4


@dataclass(frozen=True)
class _Outcome:
    """What the demo reports in the end."""

    accuracy: float
    frames_per_s: float


def main(argv: Sequence[str] | None = None) -> int:
    """Run the demo and return its exit code: 0, or 1 when the model has not learned or the loading failed."""
    boot.imported()
    options = _parser().parse_args(argv)
    _choose_keras_backend()
    signal.signal(signal.SIGTERM, _leave)  # so that the directory is removed then, too
    started = time.monotonic()
    try:
        _check_installed()
        with tempfile.TemporaryDirectory(prefix="loader-service-demo-") as directory:
            outcome = _write_and_train(Path(directory), options)
    except KeyboardInterrupt:
        _say("interrupted; the data set is removed")
        return 130
    except (LoaderError, ModuleNotFoundError) as error:
        _say(f"demo failed: {error}")
        return 1
    _say(
        f"validation accuracy {outcome.accuracy:.1%}, loading {outcome.frames_per_s:,.0f} frames/s, "
        f"{time.monotonic() - started:.0f} s in all; the data set is removed"
    )
    if outcome.accuracy < _PASSING_ACCURACY:
        _say(f"the model has not learned: expected an accuracy of {_PASSING_ACCURACY:.0%}; try more --epochs")
        return 1
    return 0


class _OneLine(argparse.ArgumentParser):
    """A parser that says what is wrong in one line, as the other commands do."""

    def error(self, message: str) -> NoReturn:
        """Say it, and exit with 2."""
        sys.stderr.write(f"{self.prog}: {message.removeprefix('argument ')}\n")
        sys.exit(2)


def _parser() -> argparse.ArgumentParser:
    parser = _OneLine(
        prog="loader-service demo",
        description="Write JPEG videos of moving shapes in HDF5 files, serve them, and train a Keras model on them.",
    )
    parser.add_argument(
        "--videos", type=_at_least(_BATCH_SIZE * 5), default=400, help="videos to train on (default 400)"
    )
    parser.add_argument("--epochs", type=_at_least(1), default=6, help="epochs of training (default 6)")
    parser.add_argument("--workers", type=_at_least(1), default=2, help="worker processes that decode (default 2)")
    return parser


def _at_least(lowest: int) -> Any:
    def whole_number(text: str) -> int:
        number = int(text)
        if number < lowest:
            raise argparse.ArgumentTypeError(f"{number} is too few; give {lowest} or more")
        return number

    return whole_number


def _check_installed() -> None:
    """Raise ModuleNotFoundError when what trains is not there, before anything is written."""
    for name in ("tensorflow", "keras"):
        if importlib.util.find_spec(name) is None:
            raise ModuleNotFoundError(
                f"it trains a Keras model, and this Python has no {name}: pip install 'loader-service[tensorflow]'"
            )


def _choose_keras_backend() -> None:
    """Set what Keras and TensorFlow read from the environment when they are imported, which happens later."""
    os.environ["KERAS_BACKEND"] = "tensorflow"
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")  # on a host without a GPU, CUDA's absence counts as an error


def _leave(signum: int, frame: FrameType | None) -> None:  # noqa: ARG001 (the signature of a signal handler)
    raise SystemExit(128 + signum)


def _write_and_train(directory: Path, options: argparse.Namespace) -> _Outcome:
    started = time.monotonic()
    _say(f"writing {options.videos} videos to train on and {options.videos // 4} to validate ...")
    written = [
        write_videos(directory, "train", options.videos, _VIDEOS_PER_FILE, seed=1),
        write_videos(directory, "validation", options.videos // 4, _VIDEOS_PER_FILE, seed=2),
    ]
    _say(
        f"wrote {sum(part.frames for part in written):,} JPEG frames, "
        f"{sum(part.size_bytes for part in written) / 1e6:.0f} MB, in {time.monotonic() - started:.1f} s"
    )
    classes = directory / "classes.txt"  # both services number the classes by it
    classes.write_text("".join(f"{name}\n" for name in sorted(DIRECTIONS)), encoding="utf-8")
    training = _dataset(directory / "train-*.h5", classes, "random", options.workers)
    validation = _dataset(directory / "validation-*.h5", classes, "center", workers=1)
    frames_per_s = _loading_rate(training)
    _say(f"loading alone: {frames_per_s:,.0f} frames/s with {counted(options.workers, 'worker')}")
    return _Outcome(_validation_accuracy(training, validation, options.epochs), frames_per_s)


def _dataset(files: Path, classes: Path, sampling: Any, workers: int) -> Any:
    """Return a `tf.data.Dataset` of ``(clips, labels)``, from a service of its own."""
    return loader_client.dataset(
        str(files),
        workers=workers,
        service={"classes": classes},
        batch_size=_BATCH_SIZE,
        clip=Clip(frames=_FRAMES, sampling=sampling),
        image=Image(size=_SIZE, channels=1),
        fields=("frames", "label"),
        drop_remainder=sampling == "random",
    )


def _loading_rate(dataset: Any) -> float:
    """Return the frames per second of a few epochs without training, from the second batch on."""
    batches = iter(dataset.repeat(_TIMED_EPOCHS))
    next(batches)
    started = time.perf_counter()
    frames = sum(int(clips.shape[0]) * _FRAMES for clips, _ in batches)
    return frames / (time.perf_counter() - started)


def _validation_accuracy(training: Any, validation: Any, epochs: int) -> float:
    import keras  # noqa: PLC0415 (after the environment is set, and not for `--help`)

    from loader_client.demo.model import motion_model  # noqa: PLC0415 (imports Keras)

    keras.utils.set_random_seed(0)
    model = motion_model(_FRAMES, *_SIZE)
    verbose = 1 if sys.stdout.isatty() else 2
    # Without `shuffle=False` Keras warns that it cannot shuffle; the service does it.
    history = model.fit(training, epochs=epochs, validation_data=validation, verbose=verbose, shuffle=False)
    return float(history.history["val_accuracy"][-1])


def _say(text: str) -> None:
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
