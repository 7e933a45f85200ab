"""The demo's model takes the service's clips as they come, and tells time's direction."""

from __future__ import annotations

import os

import pytest

from tests.support import warm_python

PROGRAM = """
import numpy as np, keras
from loader_client.demo.model import motion_model
keras.utils.set_random_seed(0)
model = motion_model(frames=4, height=16, width=20)
assert model.count_params() < 50_000, model.count_params()
rng = np.random.default_rng(0)
still = np.repeat(rng.integers(0, 256, (1, 1, 16, 20, 1), np.uint8), 4, axis=1)
moving = np.stack([np.roll(still[:, 0], 2 * step, axis=2) for step in range(4)], axis=1)
out = model.predict_on_batch(np.concatenate([still, moving, moving[:, ::-1]]))
assert out.shape == (3, 4) and np.allclose(out.sum(axis=1), 1, atol=1e-5), out
assert np.allclose(out[0], 0.25), out  # what stands still says nothing before training
assert not np.allclose(out[1], out[2]), out
"""


@pytest.mark.tensorflow
def test_model_sees_motion_and_only_motion() -> None:
    done = warm_python.run(PROGRAM, env={**os.environ, "KERAS_BACKEND": "tensorflow"})
    assert done.returncode == 0, done.stderr
