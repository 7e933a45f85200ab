"""A trainer that takes fewer batches than there are has done nothing wrong: nobody warns of it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.support import warm_python
from tests.support.services import running_service

_NUMPY = """
import gc, itertools, logging, sys
import loader_client
from loader_client import Clip
logging.basicConfig(level=logging.WARNING)
many = {"clip": Clip(frames=4), "epochs": None, "prefetch": 8}
for round in range(10):
    with loader_client.connect(sys.argv[1], **({} if "://" in sys.argv[1] else {"workers": 1})) as connection:
        for batch in connection.batches(4, **many):
            break
        kept = list(itertools.islice(connection.batches(4, **many), round))
        dropped = connection.batches(4, **many)
        next(dropped)
        del dropped
        gc.collect()
        left_open = connection.batches(4, **many)
        next(left_open)
    if "://" not in sys.argv[1] and round == 1:
        break
connection = loader_client.connect(sys.argv[1])  # and not closed
next(connection.batches(4, **many))
"""


def _said(program: str, source: object) -> str:
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", program, str(source)],
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    return f"{done.returncode} {done.stdout}{done.stderr}"


def test_an_early_break_of_a_numpy_loop_is_no_warning_of_client_or_service(small_videos: Path) -> None:
    with running_service(small_videos / "*.h5") as service:
        assert _said(_NUMPY, service.endpoint) == "0 "
        log = service.log
    assert "WARNING" not in log
    assert "given up" not in log


def test_an_early_break_of_a_private_service_is_no_warning(small_videos: Path) -> None:
    assert _said(_NUMPY, small_videos / "*.h5") == "0 "


_TENSORFLOW = """
import gc, logging, os, sys, warnings
warnings.resetwarnings()
warnings.simplefilter("default")
logging.basicConfig(level=logging.WARNING)
with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # those of TensorFlow's own imports
    saved = os.dup(2)
    os.dup2(os.open(os.devnull, os.O_WRONLY), 2)  # and what its libraries say then
    import tensorflow as tf
    from loader_client.keras import LoaderSequence
    tf.data.Dataset.range(1).map(lambda x: tf.py_function(lambda y: y, [x], tf.int64)).get_single_element()
    os.dup2(saved, 2)
import loader_client
from loader_client import Clip
options = {"batch_size": 4, "clip": Clip(frames=4), "fields": ("frames", "label")}
private = "://" not in sys.argv[1]
dataset = loader_client.dataset(sys.argv[1], **options, **({"workers": 1} if private else {}))
for batch in dataset:
    break
list(dataset.take(1))
list(dataset.repeat().prefetch(2).take(2))
iterator = iter(dataset.repeat())
next(iterator)
del iterator, batch
gc.collect()
index = tf.data.Dataset.range(12).repeat()
for batch in loader_client.dataset(sys.argv[1], index=index, **options, **({"workers": 1} if private else {})):
    break
model = tf.keras.Sequential([tf.keras.layers.Flatten(), tf.keras.layers.Dense(1)])
model.compile(loss="mse")
model.fit(dataset.repeat(), steps_per_epoch=2, verbose=0, shuffle=False)  # of its default Keras warns with any dataset
sequence = LoaderSequence(sys.argv[1], **options, **({"workers": 1} if private else {}))
sequence[0]
unfinished = iter(dataset)
next(unfinished)
print("done")
"""


@pytest.mark.tensorflow
@pytest.mark.parametrize("private", [False, True], ids=["service", "private service"])
def test_an_early_end_of_a_tensorflow_loop_is_no_warning(small_videos: Path, private: bool) -> None:
    with running_service(small_videos / "*.h5") as service:
        source = small_videos / "*.h5" if private else service.endpoint
        done = warm_python.run(_TENSORFLOW, source)
        assert (done.returncode, done.stdout, done.stderr) == (0, "done\n", "")
        log = service.log
    assert "WARNING" not in log
