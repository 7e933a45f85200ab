"""Every program in examples/ runs as its first lines say, on little data."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support import warm_python
from tests.support.services import running_service

_EXAMPLES = Path(__file__).parent.parent.parent / "examples"

#: How long one may take, in seconds, on a busy machine.
_PATIENCE_S = 300.0

#: Runs a file as ``python FILE ARGUMENTS`` does.
_RUN_FILE = "import runpy, sys; del sys.argv[0]; runpy.run_path(sys.argv[0], run_name='__main__')"


def _run(name: str, *arguments: object, **environment: str) -> str:
    """Run an example to its end; return what it printed."""
    done = subprocess.run(
        [sys.executable, _EXAMPLES / name, *map(str, arguments)],
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        check=False,
        timeout=_PATIENCE_S,
    )
    assert done.returncode == 0, f"{done.stdout[-1000:]}\n{done.stderr[-4000:]}"
    return done.stdout


def _run_warm(name: str, *arguments: object, **environment: str) -> str:
    """Run an example that trains a model, where TensorFlow is loaded; return what it printed."""
    done = warm_python.run(_RUN_FILE, _EXAMPLES / name, *arguments, env={**os.environ, **environment})
    assert done.returncode == 0, f"{done.stdout[-1000:]}\n{done.stderr[-4000:]}"
    return done.stdout


def test_there_is_a_test_for_every_example() -> None:
    assert {path.name for path in _EXAMPLES.iterdir()} == {
        "image_captioning.py",
        "multi_worker.py",
        "numpy_loop.py",
        "pack_images.py",
        "pack_tfrecord.py",
        "pack_ucf101.py",
        "ranks_from_environment.py",
        "ray_train.py",
        "train_keras.py",
    }  # those of several processes in test_hosts_examples.py


def test_the_numpy_loop_goes_through_one_epoch(small_videos: Path) -> None:
    lines = _run("numpy_loop.py", small_videos / "*.h5").splitlines()
    assert len(lines) == 1 + 12 // 8
    assert lines[1].startswith("0 [b'f")


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("pack_ucf101.py", "classes: Both, Down, Right"),
        ("pack_images.py", "train[80%:] has 15 pictures, of each class"),
        ("pack_tfrecord.py", "records.h5: 24 videos, 24 frames"),
    ],
)
def test_sources_of_other_programs_are_packed_and_read(name: str, said: str) -> None:
    assert said in _run(name)


@pytest.mark.tensorflow
def test_the_captions_are_read_with_the_features_of_their_images() -> None:
    said = _run_warm("image_captioning.py", "--rows=500", "--captions=6400", "--width=64", "--steps=20")
    assert "an epoch has 50 batches of" in said
    assert "memory of worker 2: " in said


@pytest.mark.tensorflow
def test_the_keras_model_is_trained_on_a_service_that_runs_already(small_videos: Path) -> None:
    with running_service(small_videos / "*.h5", workers=2) as service:
        said = _run_warm(
            "train_keras.py", "--batch-size=4", "--epochs=2", "--classes=30", LOADER_SERVICE_ENDPOINT=service.endpoint
        )
    assert "Epoch 2/2" in said
    assert "3/3" in said
